#include "ingest/temporal_values.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "ingest/exact_number.h"
#include "ingest/time_text.h"

namespace headrace::ingest {
namespace {

constexpr int kDigitsOfMicros = 6;

int64_t PowerOfTen(int digits) {
  int64_t power = 1;
  while (digits-- > 0) power *= 10;
  return power;
}

// The unit of a plain whole number: by the mode of the connector, else by the column's precision.
int PlainDigits(const Target& to) {
  switch (to.modes.time) {
    case TimeMode::kConnect: return 3;
    case TimeMode::kMicroseconds: return kDigitsOfMicros;
    case TimeMode::kNanoseconds: return 9;
    case TimeMode::kAdaptiveTimeMicroseconds:
      if (to.type().root == TypeRoot::kTime) return kDigitsOfMicros;
      break;
    case TimeMode::kAdaptive: break;
  }
  return to.type().precision <= 3 ? 3 : to.type().precision <= 6 ? kDigitsOfMicros : 9;
}

// How many digits of a second the column's storage has.
int StoredDigits(const DataType& type) {
  if (type.root == TypeRoot::kTime) return 3;
  return type.precision <= 3 ? 3 : type.precision <= 6 ? kDigitsOfMicros : 9;
}

// `count` units of 10^-from seconds as the column stores them, no digit lost.
bool Rescale(int64_t count, int from, const Target& to, int64_t* stored) {
  const int digits = StoredDigits(to.type());
  const int kept = std::min(digits, to.type().precision);
  if (from > kept && count % PowerOfTen(from - kept) != 0)
    return to.Refuse("has more digits of a second than " + ToSql(to.type()) + " holds");
  if (from >= digits) {
    *stored = count / PowerOfTen(from - digits);
    return true;
  }
  if (__builtin_mul_overflow(count, PowerOfTen(digits - from), stored))
    return to.Refuse("is outside the range of " + ToSql(to.type()));
  return true;
}

bool AppendDays(int64_t days, std::string_view text, const Target& to) {
  if (days != static_cast<int32_t>(days)) return to.Wrong(text, "outside the days that a DATE holds");
  to.column->AppendFixed(static_cast<int32_t>(days));
  return true;
}

bool AppendClockCount(int64_t count, int digits, std::string_view text, const Target& to) {
  int64_t millis = 0;
  if (!Rescale(count, digits, to, &millis))
    return to.Refuse("is " + std::string(text) + ", which " + *to.why);
  if (millis < 0 || millis >= kSecondsPerDay * 1000)
    return to.Wrong(text, "not a time between 00:00:00 and 23:59:59.999; a STRING column would hold it");
  to.column->AppendFixed(static_cast<int32_t>(millis));
  return true;
}

bool AppendInstantCount(int64_t count, int digits, std::string_view text, const Target& to) {
  int64_t stored = 0;
  if (!Rescale(count, digits, to, &stored))
    return to.Refuse("is " + std::string(text) + ", which " + *to.why);
  to.column->AppendFixed(stored);
  return true;
}

}  // namespace

bool AppendDateText(std::string_view text, const Target& to) {
  const std::optional<int64_t> days = ParseDate(text);
  if (!days) return to.Wrong(text, "not a date as YYYY-MM-DD");
  return AppendDays(*days, text, to);
}

bool AppendClockText(std::string_view text, const Target& to) {
  const std::optional<ParsedTime> time = ParseClock(text);
  if (!time || time->offset_seconds.value_or(0) != 0)
    return to.Wrong(text, "not a time as HH:MM:SS.fff without a zone or in UTC");
  const std::optional<int64_t> nanos = time->CountAt(9);
  return AppendClockCount(*nanos, 9, text, to);
}

bool AppendInstantText(std::string_view text, const Target& to) {
  const bool zoned = to.type().root == TypeRoot::kTimestampLtz;
  const std::optional<ParsedTime> time = ParseDateTime(text);
  if (text == "infinity" || text == "-infinity")
    return to.Wrong(text, "no instant; a STRING column would hold it");
  if (!time) return to.Wrong(text, "not an instant as YYYY-MM-DDTHH:MM:SS.ffffff");
  if (zoned && !time->offset_seconds) return to.Wrong(text, "its time zone is missing");
  if (!zoned && time->offset_seconds.value_or(0) != 0)
    return to.Wrong(text, "it has a time zone, the column has none");
  const int digits = std::min(StoredDigits(to.type()), to.type().precision);
  const std::optional<int64_t> kept = time->CountAt(digits);
  if (!kept) {
    return to.Wrong(text, time->nanos % PowerOfTen(9 - digits) != 0 ? "it has more digits of a second"
                                                                    : "outside the range of the type");
  }
  return AppendInstantCount(*kept, digits, text, to);
}

bool AppendTemporal(const JsonToken& value, const ValueShape& shape, const Target& to) {
  const TypeRoot root = to.type().root;
  if (value.kind == JsonKind::kString) {
    if (root == TypeRoot::kDate) return AppendDateText(value.view(), to);
    return root == TypeRoot::kTime ? AppendClockText(value.view(), to) : AppendInstantText(value.view(), to);
  }
  const ValueForm wanted = root == TypeRoot::kDate   ? ValueForm::kDays
                           : root == TypeRoot::kTime ? ValueForm::kClock
                                                     : ValueForm::kInstant;
  if (value.kind != JsonKind::kNumber || (shape.form != ValueForm::kPlain && shape.form != wanted)) {
    return to.Misfit(value, root == TypeRoot::kDate ? "days since 1970 or YYYY-MM-DD"
                                                    : "a count in its own unit or ISO text");
  }
  int64_t count = 0;
  std::string reason;
  if (!WholeNumber(value.view(), &count, &reason)) return to.Wrong(value.view(), reason);
  if (root == TypeRoot::kDate) return AppendDays(count, value.view(), to);
  const int digits = shape.form == ValueForm::kPlain ? PlainDigits(to) : shape.digits;
  return root == TypeRoot::kTime ? AppendClockCount(count, digits, value.view(), to)
                                 : AppendInstantCount(count, digits, value.view(), to);
}

}  // namespace headrace::ingest
