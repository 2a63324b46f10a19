#pragma once
#include <stdexcept>
#include <string>

namespace stet {

/// The one exception of the library: a wrong argument or state, found at run time.
///
/// `what()` is one sentence: the argument, what is wrong with it, and what to do. Nothing has been changed
/// when it is thrown: the simulation can be used on.
class error : public std::runtime_error {
 public:
  /// \param argument the argument (or object) at fault, as the caller spells it
  /// \param problem  what is wrong, with the offending value
  /// \param remedy   what to do about it
  error(std::string argument, const std::string& problem, const std::string& remedy)
      : std::runtime_error(sentence(argument, problem, remedy)), argument_(std::move(argument)) {}

  /// The argument at fault.
  const std::string& argument() const noexcept { return argument_; }

 private:
  static std::string sentence(const std::string& argument, const std::string& problem,
                              const std::string& remedy) {
    std::string s = "stet: ";
    return s.append(argument).append(": ").append(problem).append("; ").append(remedy);
  }

  std::string argument_;
};

} // namespace stet
