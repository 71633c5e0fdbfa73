// A line of progress on stderr, when it is a terminal: amount, rate, time left.
//
// Redrawn at most a few times a second, wiped when the object ends. Nothing is shown for work under a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace headrace::cli {

class Progress {
 public:
  // `unit` is what is counted: "rows", "events". Silent when `quiet` or stderr is no terminal.
  Progress(std::string unit, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Wipes the line, so that something else can be written.
  void Clear();
  // `share` is the part done, between 0 and 1, where it is known.
  void Show(int64_t count, std::optional<double> share, const std::string& more = "");

 private:
  using Clock = std::chrono::steady_clock;

  std::string unit_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_drawn_ = started_;
};

std::string CountText(int64_t count);                        // 1,234,567
std::string Counted(int64_t count, const std::string& one);  // 1 row, 2 rows
std::string BytesText(int64_t bytes);                        // 1.8 kB
std::string DurationText(double seconds);                    // 2 m 05 s

}  // namespace headrace::cli
