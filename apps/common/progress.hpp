#pragma once
// A progress bar on stderr, with rate and remaining time; nothing at all unless stderr is a terminal.
//
//   app::progress bar("heat", total_steps, cells, quiet);
//   while (...) { sim.run(bar.next_chunk()); bar.advance(chunk); }
//
#include <chrono>
#include <cstdint>
#include <string>

namespace app {

class progress {
 public:
  /// `cells`: updated per step, for the rate.
  progress(std::string what, std::int64_t total, std::int64_t cells, bool quiet);
  ~progress(); ///< wipes the bar, so that what follows starts on a clean line

  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// How many steps to run before the next advance(): everything at once without a terminal, so that the run
  /// is then a single call; else about a fifth of a second's worth.
  [[nodiscard]] std::int64_t next_chunk() const { return chunk_; }
  void advance(std::int64_t steps);

 private:
  using clock = std::chrono::steady_clock;
  void draw(double elapsed) const;

  std::string what_;
  std::int64_t total_, cells_, done_ = 0, chunk_;
  bool visible_;
  clock::time_point begin_ = clock::now(), last_ = begin_;
};

} // namespace app
