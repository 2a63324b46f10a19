#include "output_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace app {

output_file::output_file(std::string option, const std::string& path)
    : option_(std::move(option)), path_(path) {
  std::error_code error;
  // /dev/stdout, too, may lead to a regular file, which must not be replaced under the shell's hands.
  const bool special = path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0;
  // Absolute first: a name that is not there yet would stay as it is, and differ from ./name.
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (!error && !special) path_ = real.string();
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) fail("is a directory, not a file");
  if (fs::exists(status) && access(path_.c_str(), W_OK) != 0) fail(std::strerror(errno));
  direct_ = fs::exists(status) && (special || !fs::is_regular_file(status));
  if (direct_) return;

  fs::path folder = fs::path(path_).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, error)) fail("there is no folder " + folder.string());
  temporary_ = path_ + ".part" + std::to_string(getpid());
  const int file = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail(std::strerror(errno));
  close(file);
  unlink(temporary_.c_str());
}

void output_file::replace_with(std::string_view bytes) const {
  const int file = direct_ ? open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)
                           : open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail(std::strerror(errno));
  const auto give_up = [&](int code) {
    if (!direct_) unlink(temporary_.c_str());
    fail(std::strerror(code));
  };
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      close(file);
      give_up(code);
    }
    bytes.remove_prefix(std::size_t(written));
  }
  struct stat old {};
  if (!direct_ && stat(path_.c_str(), &old) == 0) (void)!fchmod(file, old.st_mode & 07777);
  if (close(file) != 0) give_up(errno);
  if (!direct_ && rename(temporary_.c_str(), path_.c_str()) != 0) give_up(errno);
}

void output_file::fail(const std::string& why) const {
  throw bad_output(option_ + ": cannot write " + path_ + ": " + why);
}

} // namespace app
