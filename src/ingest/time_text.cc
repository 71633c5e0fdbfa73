#include "ingest/time_text.h"

#include <cstdio>

#include "format/civil_time.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

// Exactly `digits` digits.
bool TakeDigits(std::string_view* text, size_t digits, int64_t* value) {
  if (text->size() < digits) return false;
  *value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return false;
    *value = *value * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return true;
}

bool Take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeDate(std::string_view* text) {
  const bool plus = Take(text, '+');
  const bool minus = !plus && Take(text, '-');
  size_t year_digits = 0;
  while (year_digits < text->size() && (*text)[year_digits] >= '0' && (*text)[year_digits] <= '9')
    ++year_digits;
  if (year_digits < 4 || year_digits > 9 || (year_digits > 4 && !plus && !minus)) return std::nullopt;
  CivilDate date;
  int64_t month = 0;
  int64_t day = 0;
  if (!TakeDigits(text, year_digits, &date.year) || !Take(text, '-') || !TakeDigits(text, 2, &month) ||
      !Take(text, '-') || !TakeDigits(text, 2, &day) || month < 1 || month > 12 || day < 1 || day > 31) {
    return std::nullopt;
  }
  if (minus) date.year = -date.year;
  date.month = static_cast<int32_t>(month);
  date.day = static_cast<int32_t>(day);
  const int64_t days = DaysFromCivil(date);
  if (CivilFromDays(days).day != date.day) return std::nullopt;  // 30 February
  return days;
}

bool TakeClock(std::string_view* text, ParsedTime* time) {
  int64_t hours = 0;
  int64_t minutes = 0;
  int64_t seconds = 0;
  if (!TakeDigits(text, 2, &hours) || !Take(text, ':') || !TakeDigits(text, 2, &minutes)) return false;
  if (Take(text, ':')) {
    if (!TakeDigits(text, 2, &seconds)) return false;
    if (Take(text, '.')) {
      size_t digits = 0;
      while (digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9') ++digits;
      int64_t fraction = 0;
      if (digits < 1 || digits > 9 || !TakeDigits(text, digits, &fraction)) return false;
      time->nanos = static_cast<int32_t>(fraction * kPowers[9 - digits]);
    }
  }
  if (hours > 24 || minutes > 59 || seconds > 59) return false;
  time->seconds = hours * 3600 + minutes * 60 + seconds;
  return time->seconds < kSecondsPerDay || (time->seconds == kSecondsPerDay && time->nanos == 0);
}

// "", "Z", "+02", "+02:00", "+0200", "+02:00:30".
bool TakeZone(std::string_view* text, ParsedTime* time) {
  if (text->empty()) return true;
  if (Take(text, 'Z')) {
    time->offset_seconds = 0;
    return text->empty();
  }
  const bool minus = text->front() == '-';
  if (!minus && text->front() != '+') return false;
  text->remove_prefix(1);
  int64_t parts[3] = {0, 0, 0};
  if (!TakeDigits(text, 2, &parts[0])) return false;
  for (int i = 1; i < 3 && !text->empty(); ++i) {
    Take(text, ':');
    if (!TakeDigits(text, 2, &parts[i])) return false;
  }
  if (!text->empty() || parts[0] > 18 || parts[1] > 59 || parts[2] > 59) return false;
  const auto offset = static_cast<int32_t>(parts[0] * 3600 + parts[1] * 60 + parts[2]);
  time->offset_seconds = minus ? -offset : offset;
  return true;
}

void AppendFraction(int64_t fraction, int digits, std::string* text) {
  if (fraction == 0) return;
  while (fraction % 10 == 0) {
    fraction /= 10;
    --digits;
  }
  char buffer[16];
  std::snprintf(buffer, sizeof(buffer), ".%0*lld", digits, static_cast<long long>(fraction));
  text->append(buffer);
}

}  // namespace

std::optional<int64_t> ParsedTime::CountAt(int digits) const {
  const int64_t unit = kPowers[9 - digits];
  if (nanos % unit != 0) return std::nullopt;
  int64_t count = 0;
  if (__builtin_mul_overflow(seconds - offset_seconds.value_or(0), kPowers[digits], &count) ||
      __builtin_add_overflow(count, nanos / unit, &count)) {
    return std::nullopt;
  }
  return count;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  const std::optional<int64_t> days = TakeDate(&text);
  if (!days || !(text.empty() || text == "Z")) return std::nullopt;
  return days;
}

std::optional<ParsedTime> ParseClock(std::string_view text) {
  ParsedTime time;
  if (!TakeClock(&text, &time) || !TakeZone(&text, &time)) return std::nullopt;
  return time;
}

std::optional<ParsedTime> ParseDateTime(std::string_view text) {
  const std::optional<int64_t> days = TakeDate(&text);
  if (!days || !(Take(&text, 'T') || Take(&text, ' '))) return std::nullopt;
  ParsedTime time;
  if (!TakeClock(&text, &time) || !TakeZone(&text, &time)) return std::nullopt;
  time.seconds += *days * kSecondsPerDay;
  return time;
}

std::string ClockText(int64_t count, int digits) {
  const bool minus = count < 0;
  const uint64_t magnitude = minus ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  const uint64_t seconds = magnitude / kPowers[digits];
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%s%02llu:%02llu:%02llu", minus ? "-" : "",
                static_cast<unsigned long long>(seconds / 3600),
                static_cast<unsigned long long>(seconds / 60 % 60),
                static_cast<unsigned long long>(seconds % 60));
  std::string text = buffer;
  AppendFraction(static_cast<int64_t>(magnitude % kPowers[digits]), digits, &text);
  return text;
}

std::string DateTimeText(int64_t count, int digits) {
  const int64_t per_day = kSecondsPerDay * kPowers[digits];
  const int64_t days = FloorDiv(count, per_day);
  return DateText(days) + "T" + ClockText(FloorMod(count, per_day), digits);
}

}  // namespace headrace::ingest
