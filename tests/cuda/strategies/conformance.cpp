// Every strategy, forced in turn, against the per-step one, bit for bit; that one against plain loops.
#include "conformance.hpp"
#include "settings.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <stet/error.hpp>
#if defined(STET_WITH_PERSISTENT_CUDA)
#include <stet/cuda/runtime/query_device.hpp>
#endif

namespace strategies {

bool lacks_device() {
#if defined(STET_WITH_PERSISTENT_CUDA)
  return stet::cuda::device_count() == 0;
#else
  return false;
#endif
}

namespace {

const std::vector<idx> marks{0, 1, 2, 3, 7, 33};

std::vector<way> forced_ways() {
  if (!has_strategies) return {};
  return {{"per_step"},
          {"per_step_graph"},
          {"resident", "both"},
          {"resident", "registers"},
          {"resident", "shared"},
          {"resident_partial", "both"},
          {"resident_partial", "registers"},
          {"resident_partial", "shared"},
          {"temporal", "both"},
          {"temporal", "registers"},
          {"temporal", "shared"},
          {"auto"}};
}

/// Whether the strategy may say that it cannot hold such a problem: small ones must be held where nothing
/// else forbids it.
template <class T> bool may_refuse(const subject<T>& s, const setting<T>& given, const way& how) {
  if (how.strategy == "per_step_graph") return s.reads_step;
  const shape n = given.start[0].n;
  if (how.strategy == "temporal") {
    if (how.cache != "registers") return given.name == "differing"; // shared memory takes the others
    const bool faces = given.name == "fixed" || given.name == "nan" ||
                       (given.name.starts_with("periodic") && (n[2] % 4 == 0 || given.name == "periodic_y"));
    const idx rows = sizeof(T) == 8 ? 400 : 800; // about those of two tiles: between one and two not all fit
    const bool planes = s.name.starts_with("s3d") || s.name == "wave";
    return !faces || s.recipe.stages.size() > 1 || (s.recipe.rank == 2 ? n[1] < rows : !planes);
  }
  const bool partial = how.strategy == "resident_partial";
  if (partial && how.cache != "registers") { // a row or plane to keep and one to stream, 16 bytes in rank 1
    const idx slowest = n[std::size_t(3 - s.recipe.rank)], least = s.recipe.rank == 1 ? 16 / sizeof(T) : 1;
    return given.name == "differing" || slowest <= least;
  }
  if (!partial && how.strategy != "resident") return false;
  const idx cells = n[0] * n[1] * n[2], bytes = cells * s.recipe.field_count * idx(sizeof(T));
  if (given.name == "differing" || (!partial && (cells > 1'000'000 || bytes > 15'000'000))) return true;
  if (how.cache != "registers") return false;
  if (s.name == "s3d7pt") return given.name != "fixed" && given.name != "nan"; // periodic: whole patches
  const bool plain = s.recipe.rank == 2 && s.recipe.field_count == 1 && s.recipe.stages.size() == 1;
  const bool tiles = n[1] >= (partial ? 512 : 256) && n[2] >= 256; // a block has more rows than small grids
  const bool faces =
      given.name == "fixed" || given.name == "nan" || (n[2] % 4 == 0 && given.name.starts_with("periodic"));
  return !plain || !tiles || !faces || (!partial && cells > 100'000); // of partial the rest streams
}

/// The fields after each of `marks` steps, a launch per step.
template <class T> using history = std::map<idx, std::vector<grid<T>>>;

template <class T>
history<T> by_single_steps(const subject<T>& s, const setting<T>& given, const std::vector<idx>& at) {
  const shape n = given.start[0].n;
  const auto m = prepared(s, given, {has_strategies ? "per_step" : ""});
  history<T> result;
  for (const idx mark : at) {
    while (m->step() < mark) { EXPECT_EQ(m->run(1).steps, 1); }
    result[mark] = fields_of(s, *m, n);
  }
  return result;
}

template <class T>
void follows_the_oracle(const subject<T>& s, const setting<T>& given, const history<T>& got) {
  const shape n = given.start[0].n;
  const idx cells = n[0] * n[1] * n[2];
  auto want = given.start;
  idx step = 0;
  for (const auto& [mark, fields] : got) {
    const idx work = cells * s.recipe.field_count; // plain loops are slow
    if ((mark > 7 && work > 60'000) || (mark > 1 && work > 300'000) || work > 2'000'000) break;
    for (; step < mark; ++step) oracle::take_step(s.recipe, want, given.boundaries, step);
    ASSERT_TRUE(close(fields, want)) << "after " << mark << " steps, against plain loops";
  }
}

/// Runs `stretches` one after another; after each the fields must be those of `want`.
template <class T>
void agrees(const subject<T>& s, const setting<T>& given, const way& how, const history<T>& want,
            const std::vector<idx>& stretches) {
  const shape n = given.start[0].n;
  const auto m = prepared(s, given, how);
  for (const idx steps : stretches) {
    stet::run_report report;
    try {
      report = m->run(steps);
    } catch (const stet::error& refusal) {
      const std::string said = refusal.what();
      ASSERT_EQ(refusal.argument(), "strategy " + how.strategy) << said;
      ASSERT_GT(said.size(), std::string("stet: strategy resident: ; ").size() + 20) << "no reason: " << said;
      ASSERT_TRUE(may_refuse(s, given, how)) << "refused: " << said;
      ASSERT_EQ(m->step(), 0);
      ASSERT_TRUE(same(fields_of(s, *m, n), given.start)) << "a refusal changed the fields";
      return;
    }
    ASSERT_EQ(report.steps, steps);
    if (has_strategies && how.strategy != "auto") { ASSERT_EQ(report.strategy, how.strategy); }
    ASSERT_TRUE(same(fields_of(s, *m, n), want.at(m->step())))
        << "after " << m->step() << " steps, the last " << steps << " of them in one run";
  }
}

template <class T>
void conforms(const subject<T>& s, const shape& n, const std::vector<std::string>& names,
              const std::vector<idx>& at) {
  for (const setting<T>& given : settings_of(s, n, names)) {
    SCOPED_TRACE(given.name);
    const history<T> want = by_single_steps(s, given, at);
    follows_the_oracle(s, given, want);
    if (::testing::Test::HasFatalFailure()) return;
    std::vector<idx> stretches;
    for (std::size_t i = 0; i < at.size(); ++i) stretches.push_back(at[i] - (i > 0 ? at[i - 1] : 0));
    for (const way& how : forced_ways()) {
      SCOPED_TRACE(how.name());
      agrees(s, given, how, want, stretches);
      if (::testing::Test::HasFatalFailure()) return; // the others would tell the same
      const bool each = given.name == "fixed" || given.name == "periodic";
      for (const idx steps : at)
        if (at.size() > 1 && (steps == at.back() || (each && steps > 1)))
          agrees(s, given, how, want, {steps});
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (!has_strategies) { // one run after another is one run
      agrees(s, given, {""}, want, {at.back()});
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

struct conformance : public ::testing::Test {
  void SetUp() override {
    if (lacks_device()) GTEST_SKIP() << "no CUDA device is visible (cudaErrorNoDevice)";
  }
};
template <class Body> struct with_body final : conformance {
  explicit with_body(Body body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }
  Body body_;
};
template <class Body> void add_test(const std::string& suite, const std::string& name, Body body) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [=]() -> conformance* { return new with_body<Body>(body); });
}

/// Sizes with one cell, prime numbers, rows that are no whole number of 16-byte pieces, and several tiles.
const std::vector<std::vector<idx>>& extents_of(int rank) {
  static const std::vector<std::vector<idx>> all[3] = {
      {{1}, {2}, {9}, {1003}, {65537}},
      {{1, 1}, {1, 9}, {2, 2}, {3, 1003}, {131, 129}, {256, 264}, {257, 263}, {602, 1101}},
      {{1, 1, 1}, {2, 1, 3}, {9, 9, 9}, {31, 33, 67}, {64, 20, 36}}};
  return all[rank - 1];
}
/// About as much as registers and shared memory hold: other kernels, more exchanges.
const std::vector<std::vector<idx>>& large_extents_of(int rank) {
  static const std::vector<std::vector<idx>> all[3] = {
      {{2'000'003}},
      {{700, 1204}, {1500, 1504}, {2048, 2052}, {2990, 3004}},
      {{61, 100, 132}, {128, 120, 124}}};
  return all[rank - 1];
}
const std::vector<idx>& short_extents_of(int rank) {
  static const std::vector<idx> all[3] = {{5000}, {61, 150}, {13, 12, 22}};
  return all[rank - 1];
}
std::string name_of(const std::vector<idx>& extents) {
  std::string text;
  for (const idx n : extents) text.append(text.empty() ? "" : "x").append(std::to_string(n));
  return text;
}

template <class T> void add_tests(const std::string& precision) {
  const std::vector<std::string> names{"fixed",      "periodic",   "neumann", "dirichlet", "mixed",
                                       "periodic_x", "periodic_y", "torus_x", "differing", "nan"};
  for (const subject<T>& s : subjects<T>()) {
    for (const auto& extents : extents_of(s.recipe.rank)) {
      const shape n = oracle::as_shape(extents);
      const bool big = n[0] * n[1] * n[2] > 300'000;
      const auto some = big ? std::vector<std::string>{"fixed", "periodic_y", "neumann", "mixed"} : names;
      add_test("strategies_" + precision, s.name + "_" + name_of(extents),
               [&s, n, some] { conforms(s, n, some, marks); });
    }
    static const std::set<std::string> large{"s2d5pt", "s2d9pt", "s2d25pt", "clock", "gray_scott",
                                             "fdtd",   "s3d7pt", "wave",    "shift"};
    if (has_strategies && large.contains(s.name))
      for (const auto& extents : large_extents_of(s.recipe.rank))
        add_test("large_" + precision, s.name + "_" + name_of(extents), [&s, n = oracle::as_shape(extents)] {
          conforms(s, n, {"fixed", "periodic"}, {33});
        });
    add_test("short_" + precision, s.name, [&s, n = oracle::as_shape(short_extents_of(s.recipe.rank))] {
      conforms(s, n, {"fixed", "periodic", "mixed"}, {0, 1, 3});
    });
  }
}

} // namespace

void add_conformance_tests() {
  add_tests<float>("float");
  add_tests<double>("double");
}

} // namespace strategies
