#include "../typed_instance.hpp"

static const suite::register_entry here(suite::entry_of<suite::box_3d27pt>());
