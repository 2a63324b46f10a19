#pragma once
// Data form of a generated stencil, and an interpreter for it. Shares nothing with the library; the generator
// writes each stencil twice, as text in the library's language and as this.
#include "../support/oracle.hpp"
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace oracle {

enum class op {
  literal,
  param,
  field,
  coord,
  step_index, // leaves
  add,
  sub,
  mul,
  div,
  neg, // arithmetic
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  both,
  either,
  where, // logic
  min,
  max,
  abs,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tanh,
  pow,
  floor,
  mod,
  parity // functions
};
inline constexpr int op_count = static_cast<int>(op::parity) + 1;

/// One instruction of a stack machine.
struct token {
  op what;
  double value = 0;            // of a literal
  int index = 0;               // of a param, a field, an axis (0 is the grid's first axis)
  std::array<int, 3> offset{}; // of a field, (dz, dy, dx)
};
using code = std::vector<token>;

struct assignment {
  int field;
  code right;
};
using stage = std::vector<assignment>;

struct field_info {
  std::string name;
  bool integers = false; // starts as small integers, so that comparisons on it are exact
};

/// One grid on which a program runs.
struct setting {
  shape n;
  std::vector<sides> boundaries; // per field
  std::vector<int> runs;         // steps of each run()
};

struct program {
  std::string name;
  int rank;
  std::vector<field_info> fields; // the assigned ones first
  int assigned;
  std::vector<double> params;
  std::vector<stage> stages;
  std::vector<setting> settings;
};

template <class T> struct state {
  std::vector<grid<T>> fields;
  idx step = 0;
};

template <class T> state<T> start(const program& p, const setting& s) {
  state<T> out;
  for (std::size_t f = 0; f < p.fields.size(); ++f)
    out.fields.push_back(make_grid<T>(s.n, [&](idx z, idx y, idx x) {
      const double v = noise(z, y, x, f + 1);
      return p.fields[f].integers ? std::floor(1.5 * v + 1.5) : v; // 0, 1 or 2
    }));
  return out;
}

template <class T>
T evaluate(const program& p, const setting& s, const state<T>& old, const code& c, const shape& cell) {
  std::vector<T> stack;
  const auto pop = [&] {
    const T v = stack.back();
    stack.pop_back();
    return v;
  };
  for (const token& t : c) {
    T r = 0;
    switch (t.what) {
    case op::literal:
      r = T(t.value);
      break;
    case op::param:
      r = T(p.params[std::size_t(t.index)]);
      break;
    case op::step_index:
      r = T(old.step);
      break;
    case op::coord:
      r = T(cell[std::size_t(3 - p.rank + t.index)]);
      break;
    case op::field: {
      const auto f = std::size_t(t.index);
      r = read(old.fields[f], s.boundaries[f], cell[0] + t.offset[0], cell[1] + t.offset[1],
               cell[2] + t.offset[2]);
      break;
    }
    case op::neg:
      r = -pop();
      break;
    case op::abs:
      r = std::abs(pop());
      break;
    case op::sqrt:
      r = std::sqrt(pop());
      break;
    case op::exp:
      r = std::exp(pop());
      break;
    case op::log:
      r = std::log(pop());
      break;
    case op::sin:
      r = std::sin(pop());
      break;
    case op::cos:
      r = std::cos(pop());
      break;
    case op::tanh:
      r = std::tanh(pop());
      break;
    case op::floor:
      r = std::floor(pop());
      break;
    case op::parity:
      r = std::fmod(pop(), T(2)) == 0 ? T(0) : T(1);
      break;
    case op::where: {
      const T no = pop(), yes = pop(), condition = pop();
      r = condition != 0 ? yes : no;
      break;
    }
    default: {
      const T b = pop(), a = pop();
      switch (t.what) {
      case op::add:
        r = a + b;
        break;
      case op::sub:
        r = a - b;
        break;
      case op::mul:
        r = a * b;
        break;
      case op::div:
        r = a / b;
        break;
      case op::lt:
        r = a < b;
        break;
      case op::le:
        r = a <= b;
        break;
      case op::gt:
        r = a > b;
        break;
      case op::ge:
        r = a >= b;
        break;
      case op::eq:
        r = a == b;
        break;
      case op::ne:
        r = a != b;
        break;
      case op::both:
        r = a != 0 && b != 0;
        break;
      case op::either:
        r = a != 0 || b != 0;
        break;
      case op::min:
        r = std::fmin(a, b);
        break;
      case op::max:
        r = std::fmax(a, b);
        break;
      case op::pow:
        r = std::pow(a, b);
        break;
      case op::mod: // with the sign of b
        r = std::fmod(a, b);
        if (r != 0 && (r < 0) != (b < 0)) r += b;
        break;
      default:
        throw std::logic_error("not an operator of two values");
      }
    }
    }
    stack.push_back(r);
  }
  if (stack.size() != 1) throw std::logic_error("malformed code in " + p.name);
  return stack.back();
}

template <class T> void advance(const program& p, const setting& s, state<T>& now) {
  for (const stage& st : p.stages) {
    const state<T> old = now;
    for_each_cell(s.n, [&](idx z, idx y, idx x) {
      for (const assignment& a : st)
        for (const token& t : a.right)
          if (t.what == op::field &&
              crosses_fixed(s.n, s.boundaries[std::size_t(t.index)], {z, y, x}, t.offset))
            return;
      for (const assignment& a : st)
        now.fields[std::size_t(a.field)](z, y, x) = evaluate(p, s, old, a.right, {z, y, x});
    });
  }
  ++now.step;
}

} // namespace oracle
