// The system's clock by std::chrono; the local zone by localtime_r, because the library has no time zones yet.
#include "base/clock.h"

#include <chrono>
#include <ctime>
#include <thread>

namespace headrace {

int64_t SystemClock::NowMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

int64_t SystemClock::LocalNowMs() {
  const int64_t now_ms = NowMs();
  const std::time_t seconds = static_cast<std::time_t>(now_ms / 1000);
  std::tm local{};
  if (localtime_r(&seconds, &local) == nullptr) return now_ms;
  return now_ms + static_cast<int64_t>(local.tm_gmtoff) * 1000;
}

void SystemClock::SleepMs(int64_t ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

int64_t SteadyMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace headrace
