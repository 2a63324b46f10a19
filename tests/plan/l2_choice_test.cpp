// The L2 window of a run, without a GPU: how many bytes persist, and what is refused.
#include "../cuda/facts.hpp"
#include "../cuda/sentence.hpp"
#include <limits>
#include <stet/cuda/plan/l2_choice.hpp>
#include <stet/cuda/plan/plan_text.hpp>
#include <stet/helpers.hpp>

namespace {

using namespace stet::cuda;
constexpr std::int64_t MiB = 1 << 20; // big_device(): 32 MiB can persist, windows up to 128 MiB

struct window {
  std::int64_t bytes;
  float hit_ratio;
};
void expect_window(const l2_policy& found, const window& wanted) {
  EXPECT_EQ(found.bytes, wanted.bytes);
  EXPECT_FLOAT_EQ(found.hit_ratio, wanted.hit_ratio);
  EXPECT_EQ(found.hit, access_property::persisting);
  EXPECT_EQ(found.miss, access_property::streaming);
  EXPECT_LE(found.persisting_bytes(), 32 * MiB);
}

TEST(l2_choice, off_is_no_window_anywhere) {
  for (const auto& device : {big_device(), old_device()})
    EXPECT_EQ(choose_l2_window(l2_off, {}, 100 * MiB, device).bytes, 0);
}

TEST(l2_choice, automatic_takes_the_field_as_far_as_the_set_aside_holds_it) {
  expect_window(choose_l2_window(l2_auto, {}, 10 * MiB, big_device()), {10 * MiB, 1});
  expect_window(choose_l2_window(l2_auto, {}, 32 * MiB, big_device()), {32 * MiB, 1});
  expect_window(choose_l2_window(l2_auto, {}, 32 * MiB + 1, big_device()), {32 * MiB, 1});
  device_facts narrow = big_device();
  narrow.access_policy_window_max = 8 * MiB;
  expect_window(choose_l2_window(l2_auto, {}, 100 * MiB, narrow), {8 * MiB, 1});
}

TEST(l2_choice, automatic_widens_the_window_for_a_given_hit_ratio) {
  expect_window(choose_l2_window(l2_auto, 0.5, 1000 * MiB, big_device()), {64 * MiB, 0.5F});
  expect_window(choose_l2_window(l2_auto, 0.5, 50 * MiB, big_device()), {50 * MiB, 0.5F});
  expect_window(choose_l2_window(l2_auto, 0.1, 1000 * MiB, big_device()), {128 * MiB, 0.1F});
  expect_window(choose_l2_window(l2_auto, 0.0, 1000 * MiB, big_device()), {128 * MiB, 0});
  for (const double ratio :
       {0.3, 0.7, 0.99, 1.0 / 3}) { // does not fit a float: rounding must not claim too much
    const auto found = choose_l2_window(l2_auto, ratio, 1000 * MiB, big_device());
    EXPECT_LE(found.persisting_bytes(), 32 * MiB) << ratio;
    EXPECT_GE(found.persisting_bytes(), 32 * MiB - 8) << ratio;
  }
}

TEST(l2_choice, bytes_are_taken_as_given_but_not_beyond_the_field) {
  expect_window(choose_l2_window(5 * MiB, {}, 100 * MiB, big_device()), {5 * MiB, 1});
  expect_window(choose_l2_window(64 * MiB, {}, 100 * MiB, big_device()), {64 * MiB, 0.5F});
  expect_window(choose_l2_window(64 * MiB, 0.25, 100 * MiB, big_device()), {64 * MiB, 0.25F});
  expect_window(choose_l2_window(1000 * MiB, {}, 3 * MiB, big_device()), {3 * MiB, 1});
}

TEST(l2_choice, where_there_is_no_set_aside_automatic_is_off_and_bytes_are_a_sentence) {
  device_facts slice = big_device();
  slice.name = "big MIG";
  slice.mig = true;
  for (const auto& device : {old_device(), slice}) {
    EXPECT_EQ(choose_l2_window(l2_auto, {}, 100 * MiB, device).bytes, 0);
    EXPECT_SENTENCE(choose_l2_window(MiB, {}, 100 * MiB, device), "l2_window", device.name.c_str(),
                    "no part of L2");
  }
  device_facts shared = big_device();
  shared.mps = true; // another process decides, perhaps for us
  EXPECT_EQ(choose_l2_window(l2_auto, {}, 100 * MiB, shared).bytes, 0);
  EXPECT_EQ(choose_l2_window(MiB, {}, 100 * MiB, shared).bytes, MiB);
}

TEST(l2_choice, what_cannot_be_is_a_sentence) {
  EXPECT_SENTENCE(choose_l2_window(129 * MiB, {}, 1000 * MiB, big_device()), "l2_window", "135266304",
                  "134217728");
  EXPECT_SENTENCE(choose_l2_window(64 * MiB, 0.75, 1000 * MiB, big_device()), "50331648", "33554432",
                  "lower the hit ratio");
  EXPECT_SENTENCE(choose_l2_window(-2, {}, MiB, big_device()), "l2_window", "-2");
  for (const double ratio : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_SENTENCE(choose_l2_window(l2_auto, ratio, MiB, big_device()), "l2_hit_ratio", "0 to 1");
}

TEST(l2_choice, rows_begin_at_multiples_of_128_bytes) {
  EXPECT_EQ(row_pitch(1, 4), 32);
  EXPECT_EQ(row_pitch(32, 4), 32);
  EXPECT_EQ(row_pitch(33, 4), 64);
  EXPECT_EQ(row_pitch(33, 8), 48);
}

// --- in a plan ---------------------------------------------------------------------------------------------

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"c"> c;
struct weighted { // c comes first and is read alone; u is read and written
  static constexpr auto step() { return stet::update(u = c * u(0, 1) + u(0, -1)); }
};
inline constexpr stet::field<"w"> w;
struct twice_written { // u: read in one stage, written in one; w: in two
  static constexpr auto step() {
    return stet::stages(stet::update(w = w + u), stet::update(u = 0.5 * w(0, 1), w = w - 1));
  }
};
template <class S> plan plan_of(const request& asked) {
  return make_plan(problem_of<S, float>({1, 1000, 1000}, {}, 1000, false), asked, big_device());
}

TEST(plan, its_window_lies_over_the_field_that_is_read_and_written) {
  const plan p = plan_of<weighted>({.l2_window = l2_auto});
  EXPECT_EQ(p.field, "u");
  EXPECT_EQ(p.busiest, (stet::field_index<weighted, decltype(u)>));
  EXPECT_EQ(p.window.bytes, 1000 * 1024 * 4) << "rows are padded to 128 bytes";
  EXPECT_EQ(p.window.base, nullptr) << "that is the backend's";
  EXPECT_NE(to_text(p).find("window     L2 window 3.9 MiB, hit ratio 1.00, over a copy of field u\n"),
            std::string::npos)
      << to_text(p);
}

TEST(plan, its_window_lies_over_the_field_of_most_stages) {
  EXPECT_EQ(plan_of<twice_written>({.l2_window = l2_auto}).field, "w");
  EXPECT_EQ(busiest_field<twice_written>(), (stet::field_index<twice_written, decltype(w)>));
}

TEST(plan, without_a_window_its_text_has_none) {
  EXPECT_EQ(plan_of<weighted>({}).window.bytes, 0);
  EXPECT_EQ(to_text(plan_of<weighted>({})).find("window"), std::string::npos);
}

TEST(plan, its_text_says_of_every_other_strategy_why_it_is_not_taken) {
  const std::string text =
      to_text(plan_of<weighted>({.strategy = strategy::per_step, .cache = cache::shared}));
  const auto line_with = [&](const std::string& part) {
    const auto at = text.find(part);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(line_with("chosen     per_step ").find("us per step, limited by "), std::string::npos) << text;
  EXPECT_NE(line_with("otherwise  per_step_graph").find("not asked for"), std::string::npos) << text;
  EXPECT_NE(line_with("otherwise  resident (registers)")
                .find("not possible: the cache levels are limited to shared memory"),
            std::string::npos)
      << text;
  EXPECT_NE(line_with("otherwise  resident (shared)").find("not asked for"), std::string::npos) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST(plan, a_strategy_that_does_not_pay_for_few_steps_says_so) {
  const plan p = make_plan(problem_of<weighted, float>({1, 1000, 1000}, {}, 1, false), {}, big_device());
  EXPECT_EQ(p.chosen.how, strategy::per_step);
  for (const alternative& a : p.others)
    if (a.refusal.empty()) { EXPECT_EQ(a.aside, "does not pay for so few steps") << name_of(a.how); }
}

} // namespace
