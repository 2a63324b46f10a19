#include "options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace po = boost::program_options;

namespace app {
namespace {

constexpr const char* boundaries = "fixed, dirichlet, dirichlet:VALUE, neumann or periodic";

[[noreturn]] void refuse(const std::string& option, const std::string& value, const std::string& allowed) {
  throw bad_option("--" + option + ": '" + value + "' is not " + allowed);
}

/// The whole of `text` as a number: no blanks, no sign '+', nothing left over.
template <class Number> std::optional<Number> whole(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::string spell(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

int rank_of(const std::string& size) { return int(std::count(size.begin(), size.end(), 'x')) + 1; }

std::string sizes_allowed(const std::vector<std::string>& sizes) {
  std::string text;
  for (const std::string& size : sizes) {
    const int rank = rank_of(size);
    text += (text.empty() ? "" : " or ") + std::string(rank == 3 ? "ZxYxX" : rank == 2 ? "YxX" : "X");
  }
  return text + " with whole numbers from 1";
}

/// `sizes`: one example for each number of extents that is allowed.
std::vector<index> parse_size(const std::string& text, const std::vector<std::string>& sizes) {
  std::vector<index> extents;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('x', from), text.size());
    const std::string digits = text.substr(from, to - from);
    const bool number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
    const std::optional<index> extent = whole<index>(digits);
    if (number && !extent) refuse("size", text, sizes_allowed(sizes) + " below 2^63");
    if (!number || *extent < 1) refuse("size", text, sizes_allowed(sizes));
    extents.push_back(*extent);
    from = to + 1;
  }
  for (const std::string& size : sizes)
    if (rank_of(size) == int(extents.size())) return extents;
  refuse("size", text, sizes_allowed(sizes));
}

/// Refuses a grid whose fields (two copies of each) are beyond this machine's memory: better said now than
/// met as a killed process after a while.
void check_memory(const std::string& text, const options& options, const about& about) {
  index bytes = options.precision == precision::twice ? 8 : 4;
  bool beyond = __builtin_mul_overflow(bytes, index(2 * about.fields), &bytes);
  for (index extent : options.extents) beyond = beyond || __builtin_mul_overflow(bytes, extent, &bytes);
  const double machine = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE));
  if (beyond || double(bytes) > machine) {
    std::ostringstream allowed;
    allowed.precision(3);
    allowed << "a grid that fits in this machine's memory (" << machine / (1 << 30) << " GiB)";
    refuse("size", text, allowed.str());
  }
}

boundary parse_boundary(const std::string& text) {
  if (text == "fixed") return {face_rule::fixed};
  if (text == "neumann") return {face_rule::neumann};
  if (text == "periodic") return {face_rule::periodic};
  if (text == "dirichlet") return {face_rule::dirichlet, 0};
  const std::string prefix = "dirichlet:";
  if (text.rfind(prefix, 0) == 0) {
    const auto value = whole<double>(text.substr(prefix.size()));
    if (value && std::isfinite(*value)) return {face_rule::dirichlet, *value};
  }
  refuse("boundary", text, boundaries);
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

/// "off", "auto", or bytes with or without K, M or G for 2^10, 2^20 and 2^30.
index parse_l2_window(const std::string& text) {
  if (text == "off") return 0;
  if (text == "auto") return -1;
  const std::string units = "KMG";
  const auto unit = text.empty() ? std::string::npos : units.find(text.back());
  const bool has_unit = unit != std::string::npos;
  const auto number = whole<index>(text.substr(0, text.size() - has_unit));
  const index factor = has_unit ? index(1) << (10 * (unit + 1)) : 1;
  index bytes = 0;
  if (!number || *number < 1 || __builtin_mul_overflow(*number, factor, &bytes))
    refuse("l2-window", text, "off, auto or a number of bytes from 1, such as 25165824 or 24M");
  return bytes;
}

void check_picture(const std::string& path) {
  const auto dot = path.rfind('.');
  if (path.size() < 5 || dot == std::string::npos || path.substr(dot) != ".png")
    refuse("output", path, "the name of a .png file");
}

po::options_description describe(const about& about) {
  const auto text = [] { return po::value<std::string>(); };
  po::options_description all("options");
  auto add = all.add_options();
  add("size", text()->default_value(about.sizes.front()),
      ("extents, slowest first: " + sizes_allowed(about.sizes)).c_str());
  add("steps", text()->default_value(std::to_string(about.steps)), "time steps, exactly this many");
  for (const extra_choice& extra : about.choices)
    add(extra.name.c_str(), text()->default_value(extra.standard),
        (extra.meaning + ": " + list(extra.allowed)).c_str());
  if (!about.backend.strategies.empty()) {
    add("strategy", text()->default_value(about.backend.strategies.front()),
        ("how the steps are carried out: " + list(about.backend.strategies)).c_str());
    add("cache", text()->default_value(about.backend.caches.front()),
        ("where fields stay between two steps: " + list(about.backend.caches)).c_str());
    add("l2-window", text()->default_value("off"),
        "L2 access-policy window over a field: off, auto or BYTES, also with K, M or G");
    add("l2-hit-ratio", text(),
        "share of the window's lines that persist, from 0 to 1; default: what L2 holds");
    add("plan", "print what would run and why, and do not run");
  }
  for (const extra_number& extra : about.numbers)
    add(extra.name.c_str(), text()->default_value(spell(extra.standard)),
        (extra.meaning + ", above " + spell(extra.low) + " up to " + spell(extra.high)).c_str());
  add("precision", text()->default_value("double"), "float or double");
  add("boundary", text()->default_value("fixed"), (std::string("every face: ") + boundaries).c_str());
  add("init", text()->default_value("smooth"),
      "first state: smooth, random, or nan (smooth with one NaN in it)");
  add("seed", text()->default_value("1"), "of the first state, a whole number from 0");
  add("verify", "compare the whole grid with plain loops; exit status 1 where they differ");
  add("tolerance", text(),
      "of --verify: |a-b| <= tolerance*max(1,|b|); default 2e-5 (float), 1e-12 (double)");
  add("output", text(), "picture of the last state (of a 3D field, its middle plane), a .png file");
  add("report", text(), "measurements, a JSON file");
  add("quiet", "no progress, no summary");
  add("help,h", "this text");
  return all;
}

std::string help_text(const about& about, const po::options_description& all) {
  std::ostringstream out;
  out << about.name << ": " << about.purpose << "\n\n" << all;
  return out.str();
}

/// Options that another backend has.
constexpr const char* backend_options[] = {"strategy", "cache", "l2-window", "l2-hit-ratio", "plan"};

/// Boost's complaint as one line in our words.
[[noreturn]] void explain(const po::error& error, const po::options_description& all) {
  const auto allowed_for = [&](const std::string& name) {
    const auto* option =
        all.find_nothrow(name.substr(std::min(name.find_first_not_of('-'), name.size())), false);
    return option ? option->description() : std::string();
  };
  if (const auto* e = dynamic_cast<const po::unknown_option*>(&error)) {
    for (const std::string name : backend_options)
      if (e->get_option_name() == "--" + name && !all.find_nothrow(name, false))
        throw bad_option("--" + name +
                         ": belongs to the programs for persistent_cuda, this one is for another " +
                         "backend");
    std::string known;
    for (const auto& option : all.options()) known += " --" + option->long_name();
    throw bad_option(e->get_option_name() + ": no such option; there are" + known);
  }
  if (const auto* e = dynamic_cast<const po::multiple_occurrences*>(&error))
    throw bad_option(e->get_option_name() + ": given more than once, allowed once");
  if (const auto* e = dynamic_cast<const po::invalid_command_line_syntax*>(&error)) {
    if (e->kind() == po::invalid_syntax::extra_parameter)
      throw bad_option(e->get_option_name() + ": takes no value");
    throw bad_option(e->get_option_name() + ": needs a value (" + allowed_for(e->get_option_name()) + ")");
  }
  throw bad_option(error.what());
}

po::variables_map read(int argc, const char* const* argv, const po::options_description& all) {
  po::variables_map given;
  try {
    namespace style = po::command_line_style;
    // No guessing of abbreviations; "-h" is the only short option.
    po::command_line_parser parser(argc, argv);
    parser.options(all).positional({}).style(style::allow_long | style::long_allow_adjacent |
                                             style::long_allow_next);
    po::store(parser.run(), given);
  } catch (const po::too_many_positional_options_error&) {
    throw bad_option("arguments without an option in front of them are not allowed; try --help");
  } catch (const po::error& error) { explain(error, all); }
  return given;
}

/// The first word that belongs to no option, if any: Boost does not say which one it was.
std::optional<std::string> stray(int argc, const char* const* argv, const po::options_description& all) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) return word;
    if (word == "--") return i + 1 < argc ? std::optional<std::string>(argv[i + 1]) : std::nullopt;
    if (word.find('=') != std::string::npos) continue;
    const auto* option = all.find_nothrow(word.substr(2), false);
    if (!option) return {}; // unknown: that is what read() complains of
    if (option->semantic()->max_tokens() > 0) ++i;
  }
  return {};
}

} // namespace

std::string options::size() const {
  std::string text;
  for (index extent : extents) text.append(text.empty() ? "" : "x").append(std::to_string(extent));
  return text;
}

std::string options::boundary_name() const {
  switch (boundary.rule) {
  case face_rule::fixed:
    return "fixed";
  case face_rule::dirichlet:
    return "dirichlet:" + spell(boundary.outside);
  case face_rule::neumann:
    return "neumann";
  case face_rule::periodic:
    return "periodic";
  }
  return "?";
}

double options::number(const std::string& name) const {
  for (const auto& [known, value] : numbers)
    if (known == name) return value;
  throw std::logic_error("no extra number '" + name + "'");
}

const std::string& options::choice(const std::string& name) const {
  for (const auto& [known, value] : choices)
    if (known == name) return value;
  throw std::logic_error("no extra choice '" + name + "'");
}

options parse_options(int argc, const char* const* argv, const about& about) {
  const po::options_description all = describe(about);
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "-h") throw help_wanted(help_text(about, all));
  if (const auto word = stray(argc, argv, all))
    throw bad_option("'" + *word + "': no option takes this argument; options start with '--', see --help");
  const po::variables_map given = read(argc, argv, all);
  if (given.count("help")) throw help_wanted(help_text(about, all));

  const auto text = [&](const std::string& name) { return given[name].as<std::string>(); };
  const auto one_of = [&](const std::string& name, const std::vector<std::string>& allowed) {
    const auto at = std::find(allowed.begin(), allowed.end(), text(name));
    if (at == allowed.end()) refuse(name, text(name), list(allowed));
    return std::size_t(at - allowed.begin());
  };
  const auto whole_number = [&](const std::string& name, auto number) {
    const auto value = whole<decltype(number)>(text(name));
    if (!value || *value < 0)
      refuse(name, text(name),
             "a whole number from 0 to " + std::to_string(std::numeric_limits<decltype(number)>::max()));
    return *value;
  };

  options result;
  result.precision = one_of("precision", {"float", "double"}) == 0 ? precision::single : precision::twice;
  result.steps = whole_number("steps", index{});
  result.boundary = parse_boundary(text("boundary"));
  result.seed = whole_number("seed", std::uint64_t{});
  result.start = start(one_of("init", {"smooth", "random", "nan"}));
  result.verify = given.count("verify") > 0;
  result.quiet = given.count("quiet") > 0;
  result.tolerance = result.precision == precision::twice ? 1e-12 : 2e-5;
  if (given.count("tolerance")) {
    const auto value = whole<double>(text("tolerance"));
    if (!value || !std::isfinite(*value) || *value < 0)
      refuse("tolerance", text("tolerance"), "a finite number from 0");
    result.tolerance = *value;
  }
  if (given.count("output")) {
    result.picture = text("output");
    check_picture(result.picture);
  }
  if (given.count("report")) {
    result.report = text("report");
    if (result.report.empty()) refuse("report", result.report, "the name of a file");
  }
  for (const extra_choice& extra : about.choices) {
    one_of(extra.name, extra.allowed);
    result.choices.emplace_back(extra.name, text(extra.name));
  }
  if (!about.backend.strategies.empty()) {
    one_of("strategy", about.backend.strategies);
    one_of("cache", about.backend.caches);
    result.way = {text("strategy"), text("cache"), parse_l2_window(text("l2-window")), {}, false};
    if (given.count("l2-hit-ratio")) {
      result.way.l2_hit_ratio = whole<double>(text("l2-hit-ratio"));
      if (!result.way.l2_hit_ratio || !(*result.way.l2_hit_ratio >= 0 && *result.way.l2_hit_ratio <= 1))
        refuse("l2-hit-ratio", text("l2-hit-ratio"), "a number from 0 to 1");
      if (result.way.l2_window == 0) throw bad_option("--l2-hit-ratio: there is no window; give --l2-window");
    }
    result.way.plan_only = given.count("plan") > 0;
    for (const std::string name : {"verify", "output", "report"})
      if (result.way.plan_only && given.count(name))
        throw bad_option("--plan: nothing runs, so --" + name + " has no result; leave out one of them");
  }
  std::vector<std::string> sizes = about.sizes;
  if (about.rank) {
    const int rank = about.rank(result);
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [&](const auto& s) { return rank_of(s) != rank; }),
                sizes.end());
  }
  const std::string size = given["size"].defaulted() ? sizes.front() : text("size");
  result.extents = parse_size(size, sizes);
  check_memory(size, result, about);
  for (const extra_number& extra : about.numbers) {
    const auto value = whole<double>(text(extra.name));
    if (!value || !(*value > extra.low && *value <= extra.high)) // NaN fails here too
      refuse(extra.name, text(extra.name),
             "a number above " + spell(extra.low) + " up to " + spell(extra.high));
    result.numbers.emplace_back(extra.name, *value);
  }
  return result;
}

} // namespace app
