#include "../typed_instance.hpp"

static const suite::register_entry here(suite::entry_of<suite::star_2ds9pt>());
