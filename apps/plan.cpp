// What persistent_cuda would do with a stencil of the suite on a device, and why. Needs no GPU.
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <stet/cuda/plan/devices.hpp>
#include <stet/cuda/plan/plan.hpp>

#include "../bench/suite/stencils.hpp"

namespace {

namespace po = boost::program_options;
using stet::index;

/// A bad option: one line, exit 2.
struct bad_option : std::runtime_error {
  bad_option(const std::string& option, const std::string& value, const std::string& allowed)
      : std::runtime_error("--" + option + ": '" + value + "' is not " + allowed) {}
};

/// The position of `name` among `names`.
template <class Names> int find(const std::string& option, const std::string& name, const Names& names) {
  std::string allowed;
  int i = 0;
  for (const auto& known : names) {
    if (name == known) return i;
    allowed.append(i++ == 0 ? "one of " : ", ").append(known);
  }
  throw bad_option(option, name, allowed);
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
  const auto extents = parse_size(size, Stencil::rank);
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

void print(const char* mark, const stet::cuda::alternative& a) {
  std::string how(name_of(a.how));
  if (a.how == stet::cuda::strategy::resident || a.how == stet::cuda::strategy::resident_partial)
    how.append(" (").append(name_of(a.where)).append(")");
  if (a.refusal.empty())
    std::printf("%s %-22s %10.2f us per step, limited by %s\n", mark, how.c_str(), a.seconds_per_step * 1e6,
                a.limit.c_str());
  else
    std::printf("%s %-22s not possible: %s\n", mark, how.c_str(), a.refusal.c_str());
}

void print(const stet::cuda::plan& plan, const stet::cuda::problem& p,
           const stet::cuda::device_facts& device) {
  const double cells = double(p.extents[0]) * double(p.extents[1]) * double(p.extents[2]);
  std::printf("device     %s\n", device.name.c_str());
  print("chosen    ", plan.chosen);
  std::printf("predicted  %.0f GCells/s\n", cells / plan.chosen.seconds_per_step * 1e-9);
  if (plan.chosen.how >= stet::cuda::strategy::resident) {
    if (plan.chosen.where == stet::cuda::cache::registers)
      std::printf("tiles      %d x %d blocks of %d x %d cells, %d rows per warp, exchange every %d steps\n",
                  plan.strips.count_y, plan.strips.count_x, plan.strips.owned_y, plan.strips.owned_x,
                  plan.strips.rows, plan.strips.depth);
    else
      std::printf("tiles      %d x %d x %d blocks of %d x %d x %d cells, exchange %s\n", plan.tiles.count[0],
                  plan.tiles.count[1], plan.tiles.count[2], plan.tiles.size[0], plan.tiles.size[1],
                  plan.tiles.size[2],
                  plan.tiles.depth == 0 ? "after every stage"
                                        : ("every " + std::to_string(plan.tiles.depth) + " steps").c_str());
  }
  std::printf("cells in   registers %.0f%%, shared memory %.0f%%, L2 %.0f%%, memory %.0f%%\n",
              100 * plan.in_registers, 100 * plan.in_shared, 100 * plan.in_l2, 100 * plan.in_memory);
  for (const auto& a : plan.others) print("otherwise ", a);
}

int run(int argc, char** argv) {
  std::string stencil, size, precision, boundary, device, strategy, cache;
  index steps = 0;
  po::options_description options("plan: how persistent_cuda would run a stencil of the suite, and why");
  options.add_options()("help", "this text")                                                              //
      ("stencil", po::value(&stencil)->default_value("2d5pt"), "name in the suite")                       //
      ("size", po::value(&size)->default_value("8192x8192"), "extents, z x y x x order")                  //
      ("precision", po::value(&precision)->default_value("float"), "float or double")                     //
      ("boundary", po::value(&boundary)->default_value("fixed"), "fixed, dirichlet, neumann or periodic") //
      ("steps", po::value(&steps)->default_value(1000), "steps of the run")                               //
      ("device", po::value(&device)->default_value("h200"), "a100, h100, h200, l40s, rtx4090 or b200")    //
      ("strategy", po::value(&strategy)->default_value("auto"),
       "auto, per_step, per_step_graph, resident or resident_partial") //
      ("cache", po::value(&cache)->default_value("both"),
       "cache levels of resident and resident_partial: both, registers or shared");
  po::variables_map given;
  po::store(po::command_line_parser(argc, argv).options(options).positional({}).run(), given);
  po::notify(given);
  if (given.count("help")) {
    std::cout << options;
    return 0;
  }
  if (steps < 0) throw bad_option("steps", std::to_string(steps), "0 or more");
  const std::array<std::string_view, 4> kinds{"fixed", "dirichlet", "neumann", "periodic"};
  const stet::boundary faces{stet::boundary_kind(find("boundary", boundary, kinds))};
  const bool twice = find("precision", precision, std::array<std::string_view, 2>{"float", "double"}) == 1;
  const auto devices = stet::cuda::known_devices();
  std::vector<std::string_view> keys;
  for (const auto& d : devices) keys.push_back(d.key);
  const auto& facts = devices[std::size_t(find("device", device, keys))].facts;
  const stet::cuda::request asked{
      stet::cuda::strategy(find("strategy", strategy, stet::cuda::strategy_names)),
      stet::cuda::cache(find("cache", cache, stet::cuda::cache_names))};
  using namespace suite;
  const auto problem =
      pose_named<star_2d5pt, star_2ds9pt, star_2d13pt, star_2d17pt, star_2d21pt, star_2ds25pt, box_2d9pt,
                 box_2d25pt, star_3d7pt, star_3d13pt, corners_3d17pt, box_3d27pt, suite::poisson>(
          stencil, twice, size, faces, steps);
  print(make_plan(problem, asked, facts), problem, facts);
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
