#include "progress.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace app {
namespace {

constexpr double seconds_per_chunk = 0.2;
constexpr int bar_width = 30;

std::string clock_text(double seconds) {
  const auto whole = std::int64_t(std::min(seconds + 0.5, 3.6e8));
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", (long long)(whole / 3600), int(whole / 60 % 60),
                  int(whole % 60));
  else
    std::snprintf(text, sizeof text, "%d:%02d", int(whole / 60), int(whole % 60));
  return text;
}

} // namespace

progress::progress(std::string what, std::int64_t total, std::int64_t cells, bool quiet)
    : what_(std::move(what)), total_(total), cells_(cells), chunk_(total),
      visible_(!quiet && total > 0 && isatty(STDERR_FILENO)) {
  if (visible_) {
    chunk_ = std::max<std::int64_t>(1, total / 1000);
    draw(0);
  }
}

progress::~progress() {
  if (visible_) std::fputs("\r\033[K", stderr);
}

void progress::advance(std::int64_t steps) {
  done_ += steps;
  const auto now = clock::now();
  const double took = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  if (!visible_) {
    chunk_ = total_ - done_;
    return;
  }
  // At most eightfold from one chunk to the next: the first may have been too short to measure.
  const double wish = double(steps) * std::min(8.0, seconds_per_chunk / std::max(took, 1e-9));
  chunk_ =
      std::min<std::int64_t>(total_ - done_, std::max<std::int64_t>(1, std::int64_t(std::min(wish, 1e15))));
  draw(std::chrono::duration<double>(now - begin_).count());
}

void progress::draw(double elapsed) const {
  const double part = double(done_) / double(total_);
  std::string bar(std::size_t(part * bar_width), '#');
  bar.resize(bar_width, '.');
  const double rate = elapsed > 0 ? double(done_) * double(cells_) / elapsed * 1e-9 : 0;
  const std::string left = done_ > 0 ? clock_text(elapsed * (1 - part) / part) : "-:--";
  std::fprintf(stderr, "\r\033[K%s [%s] %3.0f%%  %.3g GCells/s  %s left", what_.c_str(), bar.c_str(),
               100 * part, rate, left.c_str());
  std::fflush(stderr);
}

} // namespace app
