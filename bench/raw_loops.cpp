#include "raw_loops.hpp"

#include "tables.hpp"

namespace raw {
namespace {

// Weights in (dz, dy, dx) order, known to the compiler as the library's literals are.
constexpr auto w5 = suite::weights(suite::normalised(suite::published::star_2d<1>()));
constexpr auto w7 = suite::weights(suite::normalised(suite::published::star_3d_7));

template <class Real> void step_2d5pt(const Real* __restrict in, Real* __restrict out, index ny, index nx) {
  for (index y = 1; y < ny - 1; ++y) {
    const Real* __restrict c = in + y * nx;
    Real* __restrict o = out + y * nx;
    for (index x = 1; x < nx - 1; ++x)
      o[x] = Real(w5[0]) * c[x - nx] + Real(w5[1]) * c[x - 1] + Real(w5[2]) * c[x] + Real(w5[3]) * c[x + 1] +
             Real(w5[4]) * c[x + nx];
  }
}

template <class Real>
void step_3d7pt(const Real* __restrict in, Real* __restrict out, index nz, index ny, index nx) {
  const index plane = ny * nx;
  for (index z = 1; z < nz - 1; ++z)
    for (index y = 1; y < ny - 1; ++y) {
      const Real* __restrict c = in + z * plane + y * nx;
      Real* __restrict o = out + z * plane + y * nx;
      for (index x = 1; x < nx - 1; ++x)
        o[x] = Real(w7[0]) * c[x - plane] + Real(w7[1]) * c[x - nx] + Real(w7[2]) * c[x - 1] +
               Real(w7[3]) * c[x] + Real(w7[4]) * c[x + 1] + Real(w7[5]) * c[x + nx] +
               Real(w7[6]) * c[x + plane];
    }
}

} // namespace

template <class Real> void run_2d5pt(buffers<Real>& field, const std::vector<index>& extents, index steps) {
  for (index s = 0; s < steps; ++s) {
    step_2d5pt(field.now.data(), field.next.data(), extents[0], extents[1]);
    field.now.swap(field.next);
  }
}

template <class Real> void run_3d7pt(buffers<Real>& field, const std::vector<index>& extents, index steps) {
  for (index s = 0; s < steps; ++s) {
    step_3d7pt(field.now.data(), field.next.data(), extents[0], extents[1], extents[2]);
    field.now.swap(field.next);
  }
}

template void run_2d5pt(buffers<float>&, const std::vector<index>&, index);
template void run_2d5pt(buffers<double>&, const std::vector<index>&, index);
template void run_3d7pt(buffers<float>&, const std::vector<index>&, index);
template void run_3d7pt(buffers<double>&, const std::vector<index>&, index);

} // namespace raw
