// Writes random stencils: each one as text in the library's language and as data for the interpreter
// (program.hpp). Use: generator SEED COUNT FILES PREFIX   writes PREFIX0.cpp ... with COUNT stencils spread
// over FILES files.
//
// Values stay in [-1, 1]: the generator tracks an interval and a Lipschitz bound of each sub-expression and
// scales a right-hand side by what they say, so rounding cannot grow from step to step. Conditions and the
// other functions that jump (floor, mod, parity, ==) see only integers that both sides hold exactly:
// coordinates, the step index, and coefficient fields filled with 0, 1, 2.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct expr {
  std::string text; // in the library's language
  std::string code; // tokens, comma separated
  double lo, hi;    // bounds of the value
  double slope;     // bound of |change| per unit change of all fields together
  double size() const { return std::max(std::abs(lo), std::abs(hi)); }
};

std::string number(double v) {
  std::ostringstream s;
  s.precision(17);
  s << v;
  return s.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class writer {
 public:
  writer(std::uint64_t seed, int number) : random_(seed * 1000003 + std::uint64_t(number)), id_(number) {
    rank_ = number % 3 + 1;
    single_ = number / 3 % 2 == 0;
    reach_ = rank_ == 1 ? 4 : rank_ == 2 ? 3 : 2;
    assigned_ = pick(1, 3);
    coefficients_ = pick(0, 2);
    integers_ = 1;
    params_ = pick(1, 2);
    for (int p = 0; p < params_; ++p) param_values_.push_back(pick(-8, 8) / 8.0 + 0.0625);
  }

  std::string write() {
    std::string stages_text, stages_code;
    const int stages = pick(1, 3);
    // Each stage writes some of the fields; every field is written at least once.
    std::vector<std::vector<int>> written(static_cast<std::size_t>(stages));
    for (int f = 0; f < assigned_; ++f) written[std::size_t(pick(0, stages - 1))].push_back(f);
    for (auto& w : written)
      if (w.empty()) w.push_back(pick(0, assigned_ - 1));
    std::vector<std::string> texts;
    for (const auto& fields : written) {
      std::string text, code;
      for (const int f : fields) {
        const expr right = right_hand_side(f);
        if (!text.empty()) text += ",\n        ";
        text += name(f) + " = " + right.text;
        code += "{" + std::to_string(f) + ", {" + right.code + "}}, ";
      }
      texts.push_back("stet::update(" + text + ")");
      stages_code += "    {" + code + "},\n";
    }
    for (std::size_t i = 0; i < texts.size(); ++i) stages_text += (i ? ",\n      " : "") + texts[i];
    if (texts.size() > 1) stages_text = "stet::stages(\n      " + stages_text + ")";

    const std::string ns = "r" + std::to_string(id_);
    std::ostringstream out;
    out << "namespace " << ns << " {\n";
    std::string field_list, field_info, numbers, param_list, param_data;
    for (int f = 0; f < field_count(); ++f) {
      field_info += "{\"" + name(f) + "\", " + (is_integer(f) ? "true" : "false") + "}, ";
      if (f >= assigned_ && !contains(stages_code, "{op::field, 0, " + std::to_string(f) + ",")) continue;
      out << "inline constexpr stet::field<\"" << name(f) << "\"> " << name(f) << ";\n";
      field_list += (field_list.empty() ? "" : ", ") + name(f);
      numbers += std::to_string(f) + ", ";
    }
    for (int p = 0; p < params_; ++p) {
      param_data += number(param_values_[std::size_t(p)]) + ", ";
      if (!contains(stages_code, "{op::param, 0, " + std::to_string(p) + "}")) continue;
      out << "inline constexpr stet::param<\"p" << p << "\"> p" << p << ";\n";
      param_list += (param_list.empty() ? "" : ", ") + ("std::pair{p" + std::to_string(p) + ", ") +
                    number(param_values_[std::size_t(p)]) + "}";
    }
    bool offsets_given = false; // they tell the library the rank
    for (int f = 0; f < field_count(); ++f)
      offsets_given = offsets_given || contains(stages_text, name(f) + "(");
    out << "struct stencil {\n"
        << (offsets_given ? "" : "  static constexpr int rank = " + std::to_string(rank_) + ";\n")
        << "  static constexpr auto step() {\n    return " << stages_text << ";\n  }\n};\n";
    out << "const oracle::program data{\"" << ns << "\", " << rank_ << ",\n  {" << field_info << "}, "
        << assigned_ << ",\n  {" << param_data << "},\n  {\n"
        << stages_code << "  },\n  {\n";
    for (int i = 0; i < 4; ++i) out << setting(i);
    out << "  }};\n";
    const std::string type = single_ ? "float" : "double";
    out << "const random_stencils::entry listed{data, \"" << type << "\"};\n";
    out << "TEST(random_stencils, " << ns << "_rank" << rank_ << "_" << type << ") {\n"
        << "  random_stencils::check<" << rank_ << ", stencil, " << type << ">(data, std::make_tuple("
        << field_list << "), {" << numbers << "}, std::make_tuple(" << param_list << "));\n}\n";
    out << "} // namespace " << ns << "\n\n";
    return out.str();
  }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  int field_count() const { return assigned_ + coefficients_ + integers_; }
  bool is_integer(int f) const { return f >= assigned_ + coefficients_; }
  std::string name(int f) const {
    return (f < assigned_   ? "u"
            : is_integer(f) ? "mask"
                            : "c") +
           std::to_string(f < assigned_ ? f : f - assigned_);
  }

  expr leaf_literal(double v) { return {number(v), "{op::literal, " + number(v) + "}", v, v, 0}; }

  expr access(int f) {
    int d[3] = {0, 0, 0};
    std::string args;
    bool centre = true;
    const bool star = chance(0.4);
    const int along = pick(0, rank_ - 1);
    for (int a = 0; a < rank_; ++a) {
      const int here =
          star && a != along ? 0 : pick(-reach_, std::max(1, reach_ - 1)); // lop-sided on purpose
      d[3 - rank_ + a] = here;
      centre = centre && here == 0;
      args += (a ? ", " : "") + std::to_string(here);
    }
    const std::string text = centre && chance(0.7) ? name(f) : name(f) + "(" + args + ")";
    const std::string code = "{op::field, 0, " + std::to_string(f) + ", {" + std::to_string(d[0]) + ", " +
                             std::to_string(d[1]) + ", " + std::to_string(d[2]) + "}}";
    if (is_integer(f)) return {text, code, 0, 2, 0};
    return {text, code, -1, 1, 1};
  }

  expr param() {
    const int p = pick(0, params_ - 1);
    const double v = param_values_[std::size_t(p)];
    return {"p" + std::to_string(p), "{op::param, 0, " + std::to_string(p) + "}", v, v, 0};
  }

  /// Calls and operators; `slope` and bounds are given by the caller.
  static expr unary(const std::string& open, const char* code, const expr& a, double lo, double hi,
                    double slope) {
    return {open + a.text + ")", a.code + ", {op::" + code + "}", lo, hi, slope};
  }
  static expr call(const char* f, const expr& a, const expr& b, double lo, double hi, double slope) {
    return {std::string("stet::") + f + "(" + a.text + ", " + b.text + ")",
            a.code + ", " + b.code + ", {op::" + f + "}", lo, hi, slope};
  }
  static expr infix(const char* sign, const char* code, const expr& a, const expr& b, double lo, double hi,
                    double slope) {
    return {"(" + a.text + " " + sign + " " + b.text + ")", a.code + ", " + b.code + ", {op::" + code + "}",
            lo, hi, slope};
  }
  static expr times(const expr& a, const expr& b) {
    const double c[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    return infix("*", "mul", a, b, *std::min_element(c, c + 4), *std::max_element(c, c + 4),
                 a.slope * b.size() + b.slope * a.size());
  }
  static expr plus(const expr& a, const expr& b) {
    return infix("+", "add", a, b, a.lo + b.lo, a.hi + b.hi, a.slope + b.slope);
  }
  static expr magnitude(const expr& a) {
    return unary("stet::abs(", "abs", a, a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, a.size(), a.slope);
  }

  /// An integer that both sides hold exactly.
  expr integer() {
    expr e;
    switch (pick(0, 5)) {
    case 0:
      e = {"stet::step_index", "{op::step_index}", 0, 64, 0};
      break;
    case 1:
      e = access(field_count() - 1);
      break;
    case 2:
    case 3: {
      const int a = pick(0, rank_ - 1);
      e = {"stet::coord<" + std::to_string(a) + ">", "{op::coord, 0, " + std::to_string(a) + "}", 0, 512, 0};
      break;
    }
    case 4: {
      expr sum = coordinate_sum();
      return chance(0.5) ? unary("stet::parity(", "parity", sum, 0, 1, 0)
                         : call("mod", sum, leaf_literal(pick(2, 5)), 0, 4, 0);
    }
    default:
      return unary("stet::floor(", "floor", times(coordinate_sum(), leaf_literal(chance(0.5) ? 0.25 : 0.5)),
                   -5, 512, 0);
    }
    return e;
  }

  expr coordinate_sum() {
    const int a = pick(0, rank_ - 1);
    const expr first{"stet::coord<" + std::to_string(a) + ">", "{op::coord, 0, " + std::to_string(a) + "}", 0,
                     512, 0};
    if (chance(0.2)) return first;
    if (chance(0.3))
      return infix("-", "sub", first, leaf_literal(pick(1, 9)), -9, 512, 0); // negative near the low face
    if (chance(0.5)) return plus(first, {"stet::step_index", "{op::step_index}", 0, 64, 0});
    const int b = pick(0, rank_ - 1);
    return plus(first, {"stet::coord<" + std::to_string(b) + ">", "{op::coord, 0, " + std::to_string(b) + "}",
                        0, 512, 0});
  }

  expr condition(int depth) {
    if (depth > 0 && chance(0.5)) {
      const expr a = condition(depth - 1), b = condition(depth - 1);
      return chance(0.5) ? infix("&&", "both", a, b, 0, 1, 0) : infix("||", "either", a, b, 0, 1, 0);
    }
    static const char* const signs[][2] = {{"<", "lt"},  {"<=", "le"}, {">", "gt"},
                                           {">=", "ge"}, {"==", "eq"}, {"!=", "ne"}};
    const auto& sign = signs[(id_ + next_sign_++) % 6]; // dealt, too
    return infix(sign[0], sign[1], integer(), leaf_literal(pick(0, 3)), 0, 1, 0);
  }

  expr leaf() {
    const int which = pick(0, 19);
    if (which == 0) return param();
    if (which == 1) { // a small slope along an axis
      const int a = pick(0, rank_ - 1);
      return times(
          leaf_literal(pick(1, 7) / 512.0),
          {"stet::coord<" + std::to_string(a) + ">", "{op::coord, 0, " + std::to_string(a) + "}", 0, 512, 0});
    }
    if (which == 2)
      return times(leaf_literal(pick(1, 7) / 64.0), {"stet::step_index", "{op::step_index}", 0, 64, 0});
    return access(pick(0, assigned_ + coefficients_ - 1));
  }

  /// A function by number; the numbers are dealt round robin so that few stencils cover them all.
  expr function(int which, const expr& a, const expr& b, int depth) {
    const expr half = leaf_literal(0.5);
    switch (which) {
    case 0:
      return call("min", a, b, std::min(a.lo, b.lo), std::min(a.hi, b.hi), std::max(a.slope, b.slope));
    case 1:
      return call("max", a, b, std::max(a.lo, b.lo), std::max(a.hi, b.hi), std::max(a.slope, b.slope));
    case 2:
      return magnitude(a);
    case 3: { // of at least 1/2
      const expr in = plus(magnitude(a), half);
      return unary("stet::sqrt(", "sqrt", in, 0, std::sqrt(in.hi), in.slope);
    }
    case 4: { // of at most 1
      const expr in = shrink(a, 1);
      return unary("stet::exp(", "exp", in, std::exp(in.lo), std::exp(in.hi), in.slope * 2.72);
    }
    case 5: {
      const expr in = plus(magnitude(a), half);
      return unary("stet::log(", "log", in, -0.7, std::log(in.hi), in.slope * 2);
    }
    case 6:
      return unary("stet::sin(", "sin", a, -1, 1, a.slope);
    case 7:
      return unary("stet::cos(", "cos", a, -1, 1, a.slope);
    case 8:
      return unary("stet::tanh(", "tanh", a, -1, 1, a.slope);
    case 9: {
      static const double exponents[] = {1.5, 2, 0.75, 3};
      const expr in = plus(magnitude(shrink(a, 1)), half);
      const double e = exponents[pick(0, 3)];
      return call("pow", in, leaf_literal(e), 0, std::pow(in.hi, e),
                  in.slope * e * std::pow(in.hi, std::max(0.0, e - 1)) * 1.2);
    }
    case 10:
      return times(half,
                   unary("stet::floor(", "floor", times(coordinate_sum(), leaf_literal(0.25)), -3, 512, 0));
    case 11:
      return times(half, call("mod", coordinate_sum(), leaf_literal(pick(2, 5)), 0, 4, 0));
    case 12:
      return unary("stet::parity(", "parity", coordinate_sum(), 0, 1, 0);
    case 13:
      return unary("(-", "neg", a, -a.hi, -a.lo, a.slope);
    case 14: { // division by at least 1/2
      const expr in = plus(magnitude(b), half);
      const double m = a.size() / 0.5;
      return infix("/", "div", a, in, -m, m, a.slope / 0.5 + b.slope * a.size() * 4);
    }
    case 15:
    case 16: { // a jump between two expressions, on integers
      const expr c = condition(2);
      return {"stet::where(" + c.text + ", " + a.text + ", " + b.text + ")",
              c.code + ", " + a.code + ", " + b.code + ", {op::where}", std::min(a.lo, b.lo),
              std::max(a.hi, b.hi), std::max(a.slope, b.slope)};
    }
    case 17: { // no jump where the field-dependent condition flips
      const expr f = access(pick(0, assigned_ - 1));
      return {"stet::where(" + f.text + " > 0, " + f.text + ", 0)",
              f.code + ", {op::literal, 0}, {op::gt}, " + f.code + ", {op::literal, 0}, {op::where}", 0, 1,
              1};
    }
    case 18:
      return times(condition(1), a);
    case 19:
      return infix("-", "sub", a, b, a.lo - b.hi, a.hi - b.lo, a.slope + b.slope);
    case 20:
      return times(param(), a);
    case 21:
      return plus(leaf_literal(pick(-3, 3) / 4.0 + 0.125), a);
    default:
      return depth > 0 && chance(0.5) ? plus(a, b) : times(a, b);
    }
  }
  static constexpr int functions = 23;

  /// Keeps |e| and its slope below a limit.
  expr shrink(const expr& e, double limit) {
    const double by = std::max(e.size(), e.slope);
    if (by <= limit) return e;
    const double f = std::ldexp(1.0, -int(std::ceil(std::log2(by / limit)))); // a power of two: exact
    return times(leaf_literal(f), e);
  }

  expr tree(int depth) {
    if (depth == 0) return leaf();
    const expr a = shrink(tree(depth - 1), 4), b = shrink(tree(pick(0, depth - 1)), 4);
    return function(chance(0.5) ? dealt() : pick(0, functions - 1), a, b, depth);
  }
  int dealt() { return (id_ * 7 + next_++) % functions; }

  expr right_hand_side(int f) {
    const expr first = shrink(tree(3), 0.5), second = shrink(tree(2), 0.25);
    return plus(plus(first, times(leaf_literal(0.25), access(f))), second);
  }

  std::string side(int kind) {
    static const char* const names[] = {"fixed", "", "neumann", "periodic"};
    return kind == 1 ? "dirichlet(" + number(pick(-4, 4) / 4.0) + ")" : names[kind];
  }

  std::string setting(int i) {
    // 0 and 1: roomy; 2: thin along one axis; 3: thin everywhere.
    int n[3] = {1, 1, 1};
    const int roomy = rank_ == 1 ? 300 : rank_ == 2 ? 37 : 13, thin_axis = pick(3 - rank_, 2);
    for (int a = 3 - rank_; a < 3; ++a) {
      n[a] = pick(2 * reach_ + 1, roomy);
      if (i == 3 || (i == 2 && a == thin_axis)) n[a] = pick(1, reach_);
    }
    std::string boundaries;
    for (int f = 0; f < field_count(); ++f) {
      boundaries += "\n      sides{{";
      for (int a = 0; a < 3; ++a) {
        int low = pick(0, 3), high = low;
        if (low != 3) high = pick(0, 2);
        const bool mixed = (low == 0) != (high == 0);
        if (mixed && n[a] < reach_) low = high = pick(1, 3); // fixed opposite another kind needs room
        if (a < 3 - rank_) low = high = 0;
        boundaries += "{{" + side(low) + ", " + side(high) + "}}, ";
      }
      boundaries += "}},";
    }
    std::ostringstream out;
    out << "    {{" << n[0] << ", " << n[1] << ", " << n[2] << "}, {" << boundaries << "}, {" << pick(1, 4)
        << ", " << pick(1, 3) << "}},\n";
    return out.str();
  }

  std::mt19937_64 random_;
  int id_, rank_, reach_, assigned_, coefficients_, integers_, params_, next_ = 0, next_sign_ = 0;
  bool single_;
  std::vector<double> param_values_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "use: generator SEED COUNT FILES PREFIX\n");
    return 2;
  }
  const auto seed = std::strtoull(argv[1], nullptr, 10);
  const int count = std::atoi(argv[2]), files = std::atoi(argv[3]);
  for (int file = 0; file < files; ++file) {
    std::ofstream out(argv[4] + std::to_string(file) + ".cpp");
    out << "// Generated by tests/random/generator.cpp, seed " << seed
        << ".\n#include \"check.hpp\"\nusing namespace oracle;\n\n";
    for (int i = file; i < count; i += files) out << writer(seed, i).write();
    if (!out) {
      std::fprintf(stderr, "cannot write %s%d.cpp\n", argv[4], file);
      return 1;
    }
  }
}
