#pragma once
// A test that hangs on the GPU is a failure, soon: the process says which one it was and ends with status
// 124.
//
// STET_TEST_SECONDS   limit of one test, 60 unless set; 0: none
// STET_TOTAL_SECONDS  limit of the whole program, 120 unless set; 0: none
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

namespace watchdog {

inline char message[512] = "";

inline void on_alarm(int) {
  [[maybe_unused]] const auto written = ::write(1, message, std::strlen(message));
  ::_exit(124);
}

inline long limit_from(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atol(text) : otherwise;
}

class listener : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override { std::signal(SIGALRM, on_alarm); }
  void OnTestStart(const ::testing::TestInfo& test) override {
    long seconds = per_test_;
    if (total_ > 0) {
      const auto spent = std::chrono::steady_clock::now() - begin_;
      const long left =
          std::max(1L, total_ - long(std::chrono::duration_cast<std::chrono::seconds>(spent).count()));
      seconds = seconds > 0 ? std::min(seconds, left) : left;
    }
    std::snprintf(message, sizeof message, "[ WATCHDOG ] %s.%s did not end within %ld s\n",
                  test.test_suite_name(), test.name(), seconds);
    if (seconds > 0) ::alarm(unsigned(seconds));
  }
  void OnTestEnd(const ::testing::TestInfo&) override { ::alarm(0); }

 private:
  const long per_test_ = limit_from("STET_TEST_SECONDS", 60);
  const long total_ = limit_from("STET_TOTAL_SECONDS", 120);
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Call after InitGoogleTest.
inline void start() { ::testing::UnitTest::GetInstance()->listeners().Append(new listener); }

} // namespace watchdog
