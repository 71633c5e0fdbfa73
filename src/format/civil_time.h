// Days since 1970 and calendar dates of the proleptic Gregorian calendar, for every int32 day and beyond.
//
// Pure arithmetic without limits of std::chrono's year type. Months and days count from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct CivilDate {
  int64_t year = 1970;
  int32_t month = 1;
  int32_t day = 1;
};

CivilDate CivilFromDays(int64_t days);
int64_t DaysFromCivil(const CivilDate& date);

// ISO-8601: four digits of year, more with a sign in front ("+10000-01-01"), negative years with "-".
std::string DateText(int64_t days);
// "2024-02-29" with one or two digits of month and day; nothing if it is not a date.
std::optional<int64_t> ParseDateDays(std::string_view text);

inline constexpr int64_t kMillisPerDay = 86400000;

// Division that rounds down, so that instants before 1970 fall into the right day and millisecond.
constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
constexpr int64_t FloorMod(int64_t a, int64_t b) {
  return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}

}  // namespace headrace
