// What persistent_cuda would do with a stencil of the suite on a device, and why. Needs no GPU.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <stet/cuda/plan/devices.hpp>
#include <stet/cuda/plan/plan_text.hpp>

#include "../bench/suite/stencils.hpp"

namespace {

namespace po = boost::program_options;
using stet::index;

/// A bad option: one line, exit 2.
struct bad_option : std::runtime_error {
  bad_option(const std::string& option, const std::string& value, const std::string& allowed)
      : std::runtime_error("--" + option + ": '" + value + "' is not " + allowed) {}
};

template <class Names> std::string list(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// The position of `name` among `names`.
template <class Names> int find(const std::string& option, const std::string& name, const Names& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw bad_option(option, name, "one of " + list(names));
  return int(at - names.begin());
}

/// "8192x8192" as (z, y, x).
std::array<index, 3> parse_size(const std::string& text, int rank) {
  std::array<index, 3> extents{1, 1, 1};
  std::istringstream in(text);
  std::string part;
  int axis = 3 - rank;
  while (std::getline(in, part, 'x')) {
    if (axis > 2 || part.empty() || part.size() > 9 ||
        part.find_first_not_of("0123456789") != std::string::npos || std::stoll(part) < 1)
      axis = 4;
    else
      extents[std::size_t(axis)] = std::stoll(part);
    if (++axis > 4) break;
  }
  if (axis != 3 || text.empty() || text.back() == 'x')
    throw bad_option("size", text, std::to_string(rank) + " extents from 1 to 999999999, as in 64x64");
  return extents;
}

template <class Stencil, class Real>
stet::cuda::problem pose(const std::string& size, const stet::boundary& faces, index steps) {
  const auto extents = parse_size(!size.empty()        ? size
                                  : Stencil::rank == 2 ? "8192x8192"
                                                       : "512x512x512",
                                  Stencil::rank);
  double bytes = sizeof(Real);
  for (const index n : extents) bytes *= double(n);
  if (bytes > 0x1p60) throw bad_option("size", size, "a grid of at most 2^60 bytes");
  stet::conditions<Stencil, Real> given{};
  for (auto& kind : given.boundaries.kind[0]) kind = faces.kind;
  for (int side = 0; side < 2 * (3 - Stencil::rank); ++side)
    given.boundaries.kind[0][side] = stet::boundary_kind::fixed;
  return stet::cuda::problem_of<Stencil, Real>(extents, given, steps, false);
}

/// The problem of the stencil with this name; all names when there is none.
template <class... Stencils>
stet::cuda::problem pose_named(const std::string& name, bool twice, const std::string& size,
                               const stet::boundary& faces, index steps) {
  std::optional<stet::cuda::problem> found;
  ((name == Stencils::name ? void(found = twice ? pose<Stencils, double>(size, faces, steps)
                                                : pose<Stencils, float>(size, faces, steps))
                           : void()),
   ...);
  if (!found) find("stencil", name, std::array{Stencils::name...});
  return *found;
}

int run(int argc, char** argv) {
  std::string stencil, size, precision, boundary, device, strategy, cache;
  index steps = 0;
  const std::array<std::string_view, 4> kinds{"fixed", "dirichlet", "neumann", "periodic"};
  const std::array<std::string_view, 2> precisions{"float", "double"};
  const auto devices = stet::cuda::known_devices();
  std::vector<std::string_view> keys;
  for (const auto& d : devices) keys.push_back(d.key);

  po::options_description options("plan: how persistent_cuda would run a stencil of the suite, and why");
  const auto add = [&](const char* name, auto value, const std::string& meaning) {
    options.add_options()(name, value, meaning.c_str());
  };
  add("stencil", po::value(&stencil)->default_value("2d5pt"), "name in the suite");
  add("size", po::value(&size), "extents, slowest first; default 8192x8192 or 512x512x512");
  add("precision", po::value(&precision)->default_value("float"), list(precisions));
  add("boundary", po::value(&boundary)->default_value("fixed"), "every face: " + list(kinds));
  add("steps", po::value(&steps)->default_value(1000), "steps of the run");
  add("device", po::value(&device)->default_value("h200"), list(keys));
  add("strategy", po::value(&strategy)->default_value("auto"), list(stet::cuda::strategy_names));
  add("cache", po::value(&cache)->default_value("both"),
      "where fields stay between two steps: " + list(stet::cuda::cache_names));
  options.add_options()("help", "this text");
  po::variables_map given;
  po::store(po::command_line_parser(argc, argv).options(options).positional({}).run(), given);
  po::notify(given);
  if (given.count("help")) {
    std::cout << options;
    return 0;
  }
  if (steps < 0) throw bad_option("steps", std::to_string(steps), "0 or more");
  const stet::boundary faces{stet::boundary_kind(find("boundary", boundary, kinds))};
  const bool twice = find("precision", precision, precisions) == 1;
  const auto& facts = devices[std::size_t(find("device", device, keys))].facts;
  const stet::cuda::request asked{
      stet::cuda::strategy(find("strategy", strategy, stet::cuda::strategy_names)),
      stet::cuda::cache(find("cache", cache, stet::cuda::cache_names))};
  using namespace suite;
  const auto problem =
      pose_named<star_2d5pt, star_2ds9pt, star_2d13pt, star_2d17pt, star_2d21pt, star_2ds25pt, box_2d9pt,
                 box_2d25pt, star_3d7pt, star_3d13pt, corners_3d17pt, box_3d27pt, suite::poisson>(
          stencil, twice, size, faces, steps);
  std::cout << to_text(make_plan(problem, asked, facts));
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const stet::error& e) {
    std::fprintf(stderr, "plan: %s\n", e.what());
    return 1;
  } catch (const std::exception& e) { // options, by us or by Boost
    std::fprintf(stderr, "plan: %s\n", e.what());
    return 2;
  }
}
