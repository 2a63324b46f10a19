#include "conformance.hpp"
#include "watchdog.hpp"

int main(int argc, char** argv) {
  strategies::add_conformance_tests(); // before, so that --gtest_list_tests knows them
  ::testing::InitGoogleTest(&argc, argv);
  watchdog::start();
  return RUN_ALL_TESTS();
}
