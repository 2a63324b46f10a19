#pragma once
// A file that is either written as a whole or left as it was.
//
//   app::output_file report("--report", path);   // before computing: throws bad_output if it could not be
//   written
//   ...
//   report.replace_with(text);                   // a temporary beside it, then a rename
//
#include <stdexcept>
#include <string>
#include <string_view>

namespace app {

/// One line for stderr, naming the option and the file; exit status 2 before the run, 1 after it.
struct bad_output : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class output_file {
 public:
  /// Tries the place out with an empty temporary, which it removes: an interrupted run leaves nothing behind.
  /// A symbolic link to an existing file stays one.
  output_file(std::string option, const std::string& path);

  /// Writes all bytes beside the file and renames, keeping an existing file's mode. What is no regular file,
  /// or below /dev, is appended to instead. Throws bad_output; the old file is then untouched.
  void replace_with(std::string_view bytes) const;

  /// With links resolved.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail(const std::string& why) const;
  std::string option_, path_, temporary_;
  bool direct_ = false;
};

} // namespace app
