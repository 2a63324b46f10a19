// bin/plan, on a machine without a GPU as on any.
#include "process.hpp"

namespace apps {

std::string line_with(const std::string& text, const std::string& start) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(start, 0) == 0) return line;
  return {};
}

TEST(plan_app, tells_strategy_time_levels_and_why_not_the_others) {
  const result r = run("plan", split("--stencil 2d5pt --size 8192x8192 --precision float --device h200"));
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(has(line_with(r.out, "device"), "H200")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "chosen"), "temporal (registers)")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "tiles"), "steps per pass")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "otherwise  per_step "), "limited by memory bandwidth")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "cells in"), "memory 100%")) << r.out;
  for (const char* other : {"resident (registers)", "resident (shared)"})
    EXPECT_TRUE(has(line_with(r.out, std::string("otherwise  ") + other), "not possible: the field"))
        << r.out;
}

TEST(plan_app, a_field_that_fits_stays_on_the_chip) {
  const result r = run("plan", split("--size 2048x2048"));
  EXPECT_TRUE(has(line_with(r.out, "chosen"), "resident")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "cells in"), "L2 0%, memory 0%")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "tiles"), "exchange every")) << r.out;
  EXPECT_TRUE(has(line_with(r.out, "otherwise  per_step "), "us per step, limited by")) << r.out;
}

TEST(plan_app, follows_the_choices_of_its_options) {
  const auto chosen = [](const std::string& words) {
    const result r = run("plan", split(words));
    EXPECT_EQ(r.status, 0) << words << ": " << r.err;
    return line_with(r.out, "chosen");
  };
  EXPECT_TRUE(has(chosen("--size 2048x2048 --strategy per_step"), "per_step "));
  EXPECT_TRUE(has(chosen("--size 2048x2048 --strategy resident --cache shared"), "resident (shared)"));
  EXPECT_TRUE(has(chosen("--size 2048x2048 --boundary neumann"), "resident (shared)")) << "no such registers";
  EXPECT_TRUE(has(chosen("--size 2048x2048 --steps 1"), "per_step "));
  EXPECT_TRUE(has(chosen("--stencil 3d7pt"), "temporal (registers)")) << "the default size goes by the rank";
  // Twice the bytes: twice the time, but for the launch.
  const auto time = [&](const std::string& words) {
    double us = -1;
    std::sscanf(chosen("--strategy per_step " + words).c_str(), "chosen per_step %lf", &us);
    return us;
  };
  EXPECT_NEAR(time("--precision double") - 4, 2 * (time("--precision float") - 4), 0.1);
  EXPECT_GT(time("--device a100"), time("--device h100"));
}

TEST(plan_app, knows_the_devices) {
  for (const char* device : {"a100", "h100", "h200", "l40s", "rtx4090", "b200"})
    EXPECT_EQ(run("plan", {"--device", device}).status, 0) << device;
}

TEST(plan_app, a_strategy_that_cannot_hold_the_problem_is_one_sentence) {
  const result r = run("plan", split("--strategy resident --size 8192x8192"));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(has(r.err, "strategy resident: the fields do not fit")) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST(plan_app, bad_options_are_one_sentence) {
  const std::pair<const char*, const char*> lines[] = {
      {"--device v100", "h200"},
      {"--stencil 2d7pt", "2d5pt"},
      {"--precision half", "double"},
      {"--boundary wall", "periodic"},
      {"--strategy fast", "resident"},
      {"--cache l3", "registers"},
      {"--steps -1", "--steps"},
      {"--steps many", "--steps"},
      {"--size 8x8x8", "2 extents"},
      {"--stencil 3d7pt --size 8x8", "3 extents"},
      {"--size 0x5", "--size"},
      {"--size 5x", "--size"},
      {"--nonsense", "--nonsense"},
      {"--size", "--size"},
      {"--stencil 3d7pt --size 999999999x999999999x999999999", "2^60"}};
  for (const auto& [words, part] : lines) {
    const result r = run("plan", split(words));
    EXPECT_EQ(r.status, 2) << words;
    EXPECT_EQ(r.out, "") << words;
    EXPECT_TRUE(has(r.err, part)) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST(plan_app, helps) {
  const result r = run("plan", {"--help"});
  EXPECT_EQ(r.status, 0);
  for (const char* option : {"--stencil", "--size", "--precision", "--boundary", "--steps", "--device",
                             "--strategy", "--cache", "--help", "per_step_graph", "rtx4090"})
    EXPECT_TRUE(has(r.out, option)) << option;
}

} // namespace apps
