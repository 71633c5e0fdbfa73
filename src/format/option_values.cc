// Text to numbers with units.
#include "format/option_values.h"

#include <array>
#include <charconv>
#include <limits>

namespace headrace {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;  // in the smallest unit of the table
};

constexpr std::array<Unit, 14> kSizeUnits = {{{"b", 1},
                                              {"bytes", 1},
                                              {"k", 1LL << 10},
                                              {"kb", 1LL << 10},
                                              {"kibibytes", 1LL << 10},
                                              {"m", 1LL << 20},
                                              {"mb", 1LL << 20},
                                              {"mebibytes", 1LL << 20},
                                              {"g", 1LL << 30},
                                              {"gb", 1LL << 30},
                                              {"gibibytes", 1LL << 30},
                                              {"t", 1LL << 40},
                                              {"tb", 1LL << 40},
                                              {"tebibytes", 1LL << 40}}};

// In nanoseconds. Plurals with s are taken for names of more than two letters.
constexpr std::array<Unit, 19> kTimeUnits = {{{"d", 86400000000000},
                                              {"day", 86400000000000},
                                              {"h", 3600000000000},
                                              {"hour", 3600000000000},
                                              {"min", 60000000000},
                                              {"m", 60000000000},
                                              {"minute", 60000000000},
                                              {"s", 1000000000},
                                              {"sec", 1000000000},
                                              {"second", 1000000000},
                                              {"ms", 1000000},
                                              {"milli", 1000000},
                                              {"millisecond", 1000000},
                                              {"µs", 1000},
                                              {"micro", 1000},
                                              {"microsecond", 1000},
                                              {"ns", 1},
                                              {"nano", 1},
                                              {"nanosecond", 1}}};

// The digits in front and what follows them, trimmed and in lower case.
bool SplitNumber(std::string_view text, int64_t* number, std::string* unit) {
  text = TrimAscii(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc() || *number < 0) return false;
  *unit = LowerAscii(TrimAscii(text.substr(static_cast<size_t>(end - text.data()))));
  return true;
}

// Takes "<number><letter>" from the front of an ISO-8601 duration; seconds may have a fraction.
bool TakeIsoPart(std::string_view* text, int64_t* number, int64_t* nanos, char* letter) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  *nanos = 0;
  if (!text->empty() && text->front() == '.') {
    text->remove_prefix(1);
    int64_t unit = 100000000;
    while (!text->empty() && text->front() >= '0' && text->front() <= '9') {
      *nanos += (text->front() - '0') * unit;
      unit /= 10;
      text->remove_prefix(1);
    }
  }
  if (text->empty()) return false;
  *letter = text->front();
  text->remove_prefix(1);
  return true;
}

Result<int64_t> ParseIsoDurationMs(std::string_view original) {
  const std::string lower = LowerAscii(original);
  std::string_view text = lower;
  text.remove_prefix(1);  // p
  bool in_time = false;
  int64_t total = 0;
  bool any = false;
  while (!text.empty()) {
    if (text.front() == 't' && !in_time) {
      in_time = true;
      text.remove_prefix(1);
      continue;
    }
    int64_t number = 0;
    int64_t nanos = 0;
    char letter = 0;
    if (!TakeIsoPart(&text, &number, &nanos, &letter)) break;
    int64_t factor = 0;
    if (letter == 'd' && !in_time) factor = 86400000;
    if (letter == 'h' && in_time) factor = 3600000;
    if (letter == 'm' && in_time) factor = 60000;
    if (letter == 's' && in_time) factor = 1000;
    int64_t millis = 0;
    if (factor == 0 || number < 0 || (nanos != 0 && letter != 's') ||
        __builtin_mul_overflow(number, factor, &millis) || __builtin_add_overflow(total, millis, &total) ||
        __builtin_add_overflow(total, nanos / 1000000, &total)) {
      return Invalid("'", original, "' is not a duration");
    }
    any = true;
  }
  if (!any || !text.empty()) return Invalid("'", original, "' is not a duration like PT10S or P1DT2H");
  return total;
}

}  // namespace

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view TrimAscii(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = TrimAscii(text.substr(0, comma));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Result<bool> ParseBool(std::string_view text) {
  const std::string lower = LowerAscii(TrimAscii(text));
  if (lower == "true") return true;
  if (lower == "false") return false;
  return Invalid("'", text, "' is neither true nor false");
}

Result<int64_t> ParseInt(std::string_view text, int64_t least, int64_t most) {
  const std::string_view digits = TrimAscii(text);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    return Invalid("'", text, "' is not an integer");
  if (number < least || number > most) return Invalid(number, " is not between ", least, " and ", most);
  return number;
}

Result<int64_t> ParseMemorySize(std::string_view text) {
  int64_t number = 0;
  std::string unit;
  if (!SplitNumber(text, &number, &unit))
    return Invalid("'", text, "' is not a size like 128 mb, 500 bytes or 1024");
  if (unit.empty()) return number;
  for (const Unit& known : kSizeUnits) {
    if (known.name != unit) continue;
    int64_t bytes = 0;
    if (__builtin_mul_overflow(number, known.factor, &bytes))
      return Invalid("'", text, "' is beyond 64 bits");
    return bytes;
  }
  return Invalid("'", text, "': unknown unit '", unit, "'; sizes have b, kb, mb, gb or tb");
}

Result<int64_t> ParseDurationMs(std::string_view text) {
  const std::string_view trimmed = TrimAscii(text);
  if (!trimmed.empty() && (trimmed.front() == 'P' || trimmed.front() == 'p'))
    return ParseIsoDurationMs(trimmed);
  int64_t number = 0;
  std::string unit;
  if (!SplitNumber(text, &number, &unit))
    return Invalid("'", text, "' is not a duration like 1 h, 10 s, 500 ms or PT10S");
  if (unit.empty()) return number;
  std::string_view singular = unit;
  if (singular.size() > 3 && singular.ends_with('s')) singular.remove_suffix(1);
  for (const Unit& known : kTimeUnits) {
    if (known.name != unit && known.name != singular) continue;
    int64_t millis = 0;
    if (known.factor < 1000000) return number / (1000000 / known.factor);
    if (__builtin_mul_overflow(number, known.factor / 1000000, &millis))
      return Invalid("'", text, "' is beyond 64 bits");
    return millis;
  }
  return Invalid("'", text, "': unknown unit '", unit, "'; durations have d, h, min, s, ms, micro or nano");
}

Result<ColumnStatsMode> ParseStatsMode(std::string_view text) {
  const std::string lower = LowerAscii(TrimAscii(text));
  if (lower == "none") return ColumnStatsMode{StatsMode::kNone, 0};
  if (lower == "counts") return ColumnStatsMode{StatsMode::kCounts, 0};
  if (lower == "full") return ColumnStatsMode{StatsMode::kFull, 0};
  constexpr std::string_view kTruncate = "truncate(";
  if (lower.starts_with(kTruncate) && lower.ends_with(')')) {
    const auto length =
        ParseInt(std::string_view(lower).substr(kTruncate.size(), lower.size() - kTruncate.size() - 1), 1,
                 std::numeric_limits<int32_t>::max());
    if (length.ok()) return ColumnStatsMode{StatsMode::kTruncate, static_cast<int32_t>(*length)};
  }
  return Invalid("'", text,
                 "' is not a statistics mode; those are none, counts, full and truncate(n) with n above 0");
}

Result<std::map<int32_t, ColumnStatsMode>> ParseStatsModeByLevel(std::string_view text) {
  std::map<int32_t, ColumnStatsMode> modes;
  for (const std::string& part : SplitList(text)) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos) return Invalid("'", part, "' is not of the form level:mode");
    HEADRACE_ASSIGN_OR_RETURN(int64_t level, ParseInt(std::string_view(part).substr(0, colon), 0, 1000));
    HEADRACE_ASSIGN_OR_RETURN(modes[static_cast<int32_t>(level)],
                              ParseStatsMode(std::string_view(part).substr(colon + 1)));
  }
  return modes;
}

}  // namespace headrace
