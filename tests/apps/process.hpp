#pragma once
// Runs an app and keeps what it said.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace apps {

/// An empty folder of its own for each test, removed afterwards.
class folder {
 public:
  folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stet_apps_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct result {
  int status = -1; ///< exit status; 128 + signal when killed
  std::string out, err;
};

/// Runs APP_PREFIX<app>APP_SUFFIX with these words. `memory` limits its address space in bytes.
inline result run(const std::string& app, const std::vector<std::string>& words,
                  rlim_t memory = RLIM_INFINITY) {
  const folder here;
  const std::string program = APP_PREFIX + app + APP_SUFFIX, out = here / "out", err = here / "err";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int o = open(out.c_str(), O_WRONLY | O_CREAT, 0600),
              e = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0), dup2(o, 1), dup2(e, 2);
    if (memory != RLIM_INFINITY) {
      const rlimit limit{memory, memory};
      setrlimit(RLIMIT_AS, &limit);
    }
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("cannot run " + program);
  result r;
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.out = read_file(out);
  r.err = read_file(err);
  return r;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::vector<std::string> split(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

} // namespace apps
