#pragma once
// EXPECT_SENTENCE(statement, "part", "part", ...): the statement throws a stet::error whose text has all the
// parts and is one sentence (one line, no full stop inside).
#include <gtest/gtest.h>
#include <initializer_list>
#include <stet/error.hpp>
#include <string>

inline void expect_sentence(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
  }
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_EQ(text.find(". "), std::string::npos) << text;
  EXPECT_NE(text.find("; "), std::string::npos) << "no remedy in: " << text;
}

#define EXPECT_SENTENCE(statement, ...)                                                                      \
  do {                                                                                                       \
    try {                                                                                                    \
      statement;                                                                                             \
      ADD_FAILURE() << "nothing was thrown by " #statement;                                                  \
    } catch (const stet::error& thrown) { expect_sentence(thrown.what(), {__VA_ARGS__}); }                   \
  } while (false)
