// Time as a parameter: whoever needs the time is given a Clock, so that tests decide what time it is.
//
// NowMs is the wall clock in milliseconds since 1970 UTC; it may jump back when the system's clock is set.
// LocalNowMs is what a wall clock of the local time zone shows, counted as if it were UTC.
// Thread-safe, both clocks.
#pragma once

#include <atomic>
#include <cstdint>

namespace headrace {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowMs() = 0;
  virtual int64_t LocalNowMs() = 0;
  virtual void SleepMs(int64_t ms) = 0;
};

// The clock of the machine; the zone is that of TZ or /etc/localtime. Stateless: make one wherever one is needed.
class SystemClock final : public Clock {
 public:
  int64_t NowMs() override;
  int64_t LocalNowMs() override;
  void SleepMs(int64_t ms) override;
};

// Milliseconds of a clock that only goes forward, from an unknown beginning: for how long something has lasted. Thread-safe.
int64_t SteadyMs();

// Stands still until it is moved; sleeping moves it and returns at once.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_ms = 0, int64_t zone_offset_ms = 0)
      : now_ms_(now_ms), zone_offset_ms_(zone_offset_ms) {}

  int64_t NowMs() override { return now_ms_.load(); }
  int64_t LocalNowMs() override { return NowMs() + zone_offset_ms_; }
  void SleepMs(int64_t ms) override { Advance(ms); }

  void Advance(int64_t ms) { now_ms_ += ms; }
  void SetMs(int64_t now_ms) { now_ms_ = now_ms; }

 private:
  std::atomic<int64_t> now_ms_;
  const int64_t zone_offset_ms_;
};

}  // namespace headrace
