#pragma once

namespace strategies {

/// Makes the tests strategies_<precision>.<stencil>_<extents>, large_<precision>.<stencil>_<extents> and, for
/// compute-sanitizer, short_<precision>.<stencil>.
void add_conformance_tests();

} // namespace strategies
