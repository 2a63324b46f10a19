// The options of a backend with a choice, and --plan, with a solver that stands in for the backend.
#include "common/app.hpp"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/report.hpp"
#include "process.hpp"

namespace apps {

const app::about chooser{.name = "stand_in",
                         .purpose = "nothing",
                         .sizes = {"8x8"},
                         .steps = 5,
                         .fields = 1,
                         .backend = {{"auto", "quick", "slow"}, {"both", "left"}}};
app::about plain() {
  app::about about = chooser;
  about.backend = {};
  return about;
}

app::options parsed(const std::string& line, const app::about& about = chooser) {
  std::vector<std::string> words = split(line);
  std::vector<const char*> argv{"stand_in"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return app::parse_options(int(argv.size()), argv.data(), about);
}
std::string refusal(const std::string& line, const app::about& about = chooser) {
  try {
    (void)parsed(line, about);
  } catch (const app::bad_option& error) { return error.what(); }
  return "accepted";
}

TEST(way, is_the_backend_s_own_unless_asked_for) {
  const app::way way = parsed("").way;
  EXPECT_EQ(way.strategy, "auto");
  EXPECT_EQ(way.cache, "both");
  EXPECT_EQ(way.l2_window, 0);
  EXPECT_FALSE(way.l2_hit_ratio);
  EXPECT_FALSE(way.plan_only);
  EXPECT_EQ(parsed("--strategy slow --cache left").way.strategy, "slow");
  EXPECT_EQ(parsed("--strategy slow --cache left").way.cache, "left");
}

TEST(way, windows_are_bytes_with_binary_units) {
  const std::pair<const char*, app::index> windows[] = {
      {"off", 0},     {"auto", -1},      {"1", 1},           {"25165824", 25165824},
      {"24K", 24576}, {"24M", 25165824}, {"3G", 3221225472}, {"8589934591G", 9223372035781033984}};
  for (const auto& [text, bytes] : windows)
    EXPECT_EQ(parsed(std::string("--l2-window ") + text).way.l2_window, bytes) << text;
}

TEST(way, nonsense_names_the_option_and_what_is_allowed) {
  for (const char* text :
       {"0", "-1", "on", "24m", "24MB", "M", "1.5M", "8589934592G", "9223372036854775808"}) {
    const std::string said = refusal(std::string("--l2-window ") + text);
    EXPECT_TRUE(has(said, "--l2-window") && has(said, "off, auto") && has(said, text)) << said;
  }
  for (const char* text : {"-0.1", "1.01", "nan", "half", "inf"}) {
    const std::string said = refusal(std::string("--l2-window auto --l2-hit-ratio ") + text);
    EXPECT_TRUE(has(said, "--l2-hit-ratio") && has(said, "from 0 to 1")) << said;
  }
  EXPECT_TRUE(has(refusal("--l2-hit-ratio 0.5"), "--l2-window")) << "a ratio of no window";
  EXPECT_TRUE(has(refusal("--l2-window off --l2-hit-ratio 0.5"), "no window"));
  EXPECT_TRUE(has(refusal("--strategy fast"), "auto, quick or slow"));
  EXPECT_TRUE(has(refusal("--cache right"), "both or left"));
}

TEST(way, hit_ratios_are_shares) {
  for (const double ratio : {0.0, 0.25, 1.0})
    EXPECT_EQ(parsed("--l2-window auto --l2-hit-ratio " + std::to_string(ratio)).way.l2_hit_ratio, ratio);
}

TEST(way, of_another_backend_is_refused_in_one_sentence) {
  for (const char* line :
       {"--strategy auto", "--cache both", "--l2-window auto", "--l2-hit-ratio 1", "--plan"}) {
    const std::string said = refusal(line, plain());
    EXPECT_TRUE(has(said, split(line)[0]) && has(said, "persistent_cuda")) << said;
    EXPECT_FALSE(has(said, "\n"));
  }
  EXPECT_TRUE(has(refusal("--plans", plain()), "no such option"));
}

/// app::main() with a solver, and what it printed.
result main_of(const std::string& line, const std::function<app::outcome(const app::options&)>& solve) {
  std::vector<std::string> words = split(line);
  std::vector<const char*> argv{"stand_in"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  result r;
  r.status = app::main(int(argv.size()), argv.data(), chooser, solve);
  r.out = ::testing::internal::GetCapturedStdout();
  r.err = ::testing::internal::GetCapturedStderr();
  return r;
}

TEST(plan_option, prints_the_plan_and_nothing_else) {
  const result r = main_of("--plan", [](const app::options& options) {
    EXPECT_TRUE(options.way.plan_only);
    app::outcome told;
    told.plan = "chosen     quick\n";
    return told;
  });
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "chosen     quick\n");
  EXPECT_EQ(r.err, "");
}

TEST(plan_option, goes_with_nothing_that_needs_a_run) {
  for (const char* other : {"verify", "output a.png", "report a.json"}) {
    const std::string said = refusal(std::string("--plan --") + other);
    EXPECT_TRUE(has(said, "--plan") && has(said, "--" + split(other)[0])) << said;
  }
}

TEST(plan_option, without_a_device_points_to_the_program_that_needs_none) {
  for (const char* status : {"cudaErrorNoDevice", "cudaErrorInsufficientDriver"}) {
    const auto fail = [&](const app::options&) -> app::outcome { throw std::runtime_error(status); };
    const result r = main_of("--plan", fail);
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r.err, "--plan: ") && has(r.err, "bin/plan")) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_FALSE(has(main_of("", fail).err, "bin/plan"));
  }
  const result r = main_of("--plan", [](const app::options&) -> app::outcome {
    throw std::runtime_error("strategy quick: too large");
  });
  EXPECT_TRUE(has(r.err, "strategy quick: too large")) << r.err;
}

TEST(report, tells_the_strategy_that_ran_not_the_one_asked_for) {
  app::outcome outcome;
  outcome.backend = "stand_in";
  outcome.strategy = "quick";
  outcome.notes = "L2 window 24.0 MiB, hit ratio 1.00";
  outcome.seconds = 1;
  const app::options options = parsed("--strategy auto --cache left");
  const auto json = nlohmann::json::parse(app::report_json(chooser, options, outcome));
  EXPECT_EQ(json.at("strategy"), "quick");
  EXPECT_EQ(json.at("asked_strategy"), "auto");
  EXPECT_EQ(json.at("asked_cache"), "left");
  EXPECT_EQ(json.at("notes"), outcome.notes);
  EXPECT_TRUE(has(app::summary(chooser, options, outcome),
                  "on stand_in (quick; L2 window 24.0 MiB, hit ratio 1.00):"))
      << app::summary(chooser, options, outcome);
}

} // namespace apps
