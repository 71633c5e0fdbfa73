// Calendar arithmetic: years begin in March, so that the leap day is the last of its year.
#include "format/civil_time.h"

#include <charconv>
#include <cstdio>

namespace headrace {
namespace {

constexpr int64_t kDaysPerEra = 146097;   // 400 years
constexpr int64_t kDaysToEpoch = 719468;  // from 0000-03-01 to 1970-01-01

int32_t DaysInMonth(int64_t year, int32_t month) {
  static constexpr int32_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// A number up to `end` or the next '-'.
std::optional<int64_t> TakeNumber(std::string_view* text, char terminator) {
  const size_t stop = terminator == '\0' ? text->size() : text->find(terminator);
  if (stop == std::string_view::npos || stop == 0 || stop > 9) return std::nullopt;
  for (const char c : text->substr(0, stop)) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  int64_t number = 0;
  std::from_chars(text->data(), text->data() + stop, number);
  text->remove_prefix(terminator == '\0' ? stop : stop + 1);
  return number;
}

}  // namespace

CivilDate CivilFromDays(int64_t days) {
  const int64_t shifted = days + kDaysToEpoch;
  const int64_t era = FloorDiv(shifted, kDaysPerEra);
  const int64_t day_of_era = shifted - era * kDaysPerEra;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * day_of_year + 2) / 153;  // 0 is March
  CivilDate date;
  date.day = static_cast<int32_t>(day_of_year - (153 * month + 2) / 5 + 1);
  date.month = static_cast<int32_t>(month < 10 ? month + 3 : month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

int64_t DaysFromCivil(const CivilDate& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = FloorDiv(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
  const int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  return era * kDaysPerEra + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         kDaysToEpoch;
}

std::string DateText(int64_t days) {
  const CivilDate date = CivilFromDays(days);
  char text[48];
  const char* sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : "";
  std::snprintf(text, sizeof(text), "%s%04lld-%02d-%02d", sign,
                static_cast<long long>(date.year < 0 ? -date.year : date.year), date.month, date.day);
  return text;
}

std::optional<int64_t> ParseDateDays(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const std::optional<int64_t> year = TakeNumber(&text, '-');
  const std::optional<int64_t> month = year ? TakeNumber(&text, '-') : std::nullopt;
  const std::optional<int64_t> day = month ? TakeNumber(&text, '\0') : std::nullopt;
  if (!day || *month < 1 || *month > 12) return std::nullopt;
  CivilDate date;
  date.year = negative ? -*year : *year;
  date.month = static_cast<int32_t>(*month);
  if (*day < 1 || *day > DaysInMonth(date.year, date.month)) return std::nullopt;
  date.day = static_cast<int32_t>(*day);
  return DaysFromCivil(date);
}

}  // namespace headrace
