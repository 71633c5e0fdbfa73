// Dates, times of day and instants as ISO-8601 text, read strictly and exactly, and written.
//
// Pure. Reading takes one spelling: YYYY-MM-DD (years beyond four digits with a sign, negative ones with '-'), 'T' or a blank,
// HH:MM[:SS[.f…]] with at most nine digits of fraction, then nothing, 'Z' or an offset. Nothing is clipped: 25:00 or 30 February is not a date.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::ingest {

inline constexpr int64_t kSecondsPerDay = 86400;
inline constexpr int64_t kNanosPerSecond = 1000000000;

struct ParsedTime {
  int64_t seconds = 0;  // since 1970 as the wall clock shows it, or of the day
  int32_t nanos = 0;
  std::optional<int32_t> offset_seconds;  // of the zone, if one was given; 'Z' is 0

  // Whole units of 10^-digits seconds in UTC (an offset applied), or nothing when digits would be lost or the count does not fit.
  std::optional<int64_t> CountAt(int digits) const;
};

std::optional<int64_t> ParseDate(std::string_view text);      // days; a final 'Z' is taken
std::optional<ParsedTime> ParseClock(std::string_view text);  // 00:00 … 24:00:00
std::optional<ParsedTime> ParseDateTime(std::string_view text);

// `count` units of 10^-digits seconds: "13:14:15.123456", "-838:59:59", with just the fraction digits that are not zero at the end.
std::string ClockText(int64_t count, int digits);
// "2024-05-17T13:14:15.5"
std::string DateTimeText(int64_t count, int digits);

}  // namespace headrace::ingest
