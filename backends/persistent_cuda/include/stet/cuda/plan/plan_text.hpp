#pragma once
#include <cstdio>
#include <stet/cuda/plan/plan.hpp>
#include <string>

namespace stet::cuda {

namespace detail {

template <class... Values> void print_to(std::string& text, const char* format, const Values&... values) {
  const int size = std::snprintf(nullptr, 0, format, values...);
  std::string line(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(line.data(), line.size(), format, values...);
  line.back() = '\n';
  text += line;
}

inline void print_to(std::string& text, const char* mark, const alternative& a) {
  std::string how(name_of(a.how));
  if (a.where != cache::both) how.append(" (").append(name_of(a.where)).append(")");
  if (a.refusal.empty())
    print_to(text, "%s %-28s %10.2f us per step, limited by %s%s%s", mark, how.c_str(),
             a.seconds_per_step * 1e6, a.limit.c_str(), a.aside.empty() ? "" : "; ", a.aside.c_str());
  else
    print_to(text, "%s %-28s not possible: %s", mark, how.c_str(), a.refusal.c_str());
}

} // namespace detail

/// A plan for people: the strategy with its predicted time and what limits it, tiles, where the cells are
/// between two steps, the L2 window, and for every other strategy its time or why it cannot run. Lines that
/// end in a newline.
inline std::string to_text(const plan& p) {
  std::string text;
  detail::print_to(text, "device     %s", p.device.c_str());
  detail::print_to(text, "chosen    ", p.chosen);
  detail::print_to(text, "predicted  %.4g GCells/s", p.cells() / p.chosen.seconds_per_step * 1e-9);
  if (p.chosen.how == strategy::temporal && p.planes.y.held > 0) {
    const plane_tiling& t = p.planes;
    detail::print_to(
        text,
        "tiles      %d x %d x %d, of %d x %d cells with rings in each plane, %d blocks, %d steps per pass",
        t.cuts, t.y.count, t.x.count, t.y.held, t.x.held, t.blocks, t.depth);
  } else if (p.chosen.where == cache::registers) {
    const register_tiling& t = p.strips;
    const std::string side = t.side.held > 0 ? std::to_string(t.side.count) + " x " : "";
    const std::string high = t.side.held > 0 ? std::to_string(t.side.held) + " x " : "";
    const std::string streamed = t.in_memory > 0 ? " and " + std::to_string(t.in_memory) + " streamed" : "";
    const std::string depth = std::to_string(t.depth) + " steps";
    detail::print_to(
        text,
        "tiles      %d x %s%d of %d x %s%d cells with rings, %d rows per warp, %d of them in registers%s, %s",
        t.y.count, side.c_str(), t.x.count, t.y.held, high.c_str(), t.x.held, t.rows(), t.registers,
        streamed.c_str(),
        (p.chosen.how == strategy::temporal ? depth + " per pass" : "exchange every " + depth).c_str());
  }
  if (p.chosen.where == cache::shared)
    detail::print_to(
        text, "tiles      %d x %d x %d %s of %d x %d x %d cells, %s", p.tiles.count[0], p.tiles.count[1],
        p.tiles.count[2], p.chosen.how == strategy::temporal ? "tiles" : "blocks", p.tiles.size[0],
        p.tiles.size[1], p.tiles.size[2],
        p.chosen.how == strategy::temporal ? (std::to_string(p.tiles.depth) + " steps per pass").c_str()
        : p.tiles.depth == 0               ? "exchange after every stage"
                             : ("exchange every " + std::to_string(p.tiles.depth) + " steps").c_str());
  detail::print_to(text, "cells in   registers %.0f%%, shared memory %.0f%%, L2 %.0f%%, memory %.0f%%",
                   100 * p.in_registers, 100 * p.in_shared, 100 * p.in_l2, 100 * p.in_memory);
  if (p.window.bytes > 0)
    detail::print_to(text, "window     %s, over %s", to_text(p.window).c_str(),
                     p.strips.in_memory > 0 ? "the rows that stream"
                                            : ("a copy of field " + p.field).c_str());
  for (const alternative& a : p.others) detail::print_to(text, "otherwise ", a);
  return text;
}

} // namespace stet::cuda
