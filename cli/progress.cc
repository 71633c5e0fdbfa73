// Drawing the progress line, and figures as people read them.
#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace headrace::cli {
namespace {
constexpr double kSecondsBeforeShown = 1.0;
constexpr double kSecondsBetween = 0.25;
}  // namespace

Progress::Progress(std::string unit, bool quiet)
    : unit_(std::move(unit)), shown_(!quiet && isatty(STDERR_FILENO)) {}

Progress::~Progress() { Clear(); }

void Progress::Clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

void Progress::Show(int64_t count, std::optional<double> share, const std::string& more) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double since = std::chrono::duration<double>(now - last_drawn_).count();
  if (seconds < kSecondsBeforeShown || since < kSecondsBetween) return;
  last_drawn_ = now;
  drawn_ = true;
  std::string line = CountText(count) + " " + unit_ + ", " +
                     CountText(static_cast<int64_t>(static_cast<double>(count) / seconds)) + "/s";
  if (share && *share > 0) {
    const double left = seconds / *share - seconds;
    line += ", " + std::to_string(static_cast<int>(*share * 100)) + "%, " + DurationText(left) + " left";
  }
  if (!more.empty()) line += ", " + more;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

std::string CountText(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string Counted(int64_t count, const std::string& one) {
  return CountText(count) + " " + one + (count == 1 ? "" : "s");
}

std::string BytesText(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double amount = static_cast<double>(bytes);
  int unit = 0;
  while (amount >= 1000 && unit < 5) {
    amount /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text;
}

std::string DurationText(double seconds) {
  const int64_t whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return std::to_string(whole) + " s";
  char text[32];
  if (whole < 3600) {
    std::snprintf(text, sizeof(text), "%d m %02d s", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof(text), "%lld h %02d m", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole % 3600 / 60));
  }
  return text;
}

}  // namespace headrace::cli
