#include "sql/watermark.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sql/names.h"
#include "sql/token_cursor.h"

namespace headrace {
namespace {

constexpr int64_t kLongestDelayMs = 366LL * 24 * 3600 * 1000;

class WatermarkParser : TokenCursor {
 public:
  WatermarkParser(std::string_view text, std::vector<Token> tokens)
      : TokenCursor("reading a watermark", text, std::move(tokens)) {}

  Result<int64_t> Delay(std::string_view rowtime) {
    const Token column = Next();
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, ParseName());
    if (!IsSameName(name, rowtime))
      return Unsupported("reading a watermark: ", column.text, " is not its column ", rowtime, "; ",
                         Allowed(rowtime));
    if (AtEnd()) return 0;
    if (!TakeMark("-") || !Take({"INTERVAL"})) return Refused(Allowed(rowtime));
    HEADRACE_ASSIGN_OR_RETURN(const std::string number, ParseString());
    const int64_t unit = UnitMs();
    // How many digits there may be: Flink wants it said of more than two.
    if (unit != 0 && TakeMark("(")) {
      HEADRACE_RETURN_NOT_OK(ParseName().status());
      if (TakeMark(",")) HEADRACE_RETURN_NOT_OK(ParseName().status());
      HEADRACE_RETURN_NOT_OK(ExpectMark(")"));
    }
    if (unit == 0) return Refused("the unit is SECOND, MINUTE, HOUR or DAY");
    HEADRACE_RETURN_NOT_OK(ExpectEnd());
    return Times(number, unit);
  }

 private:
  // Quoted, since `at` and `time` are words of Flink's SQL.
  static std::string Allowed(std::string_view rowtime) {
    return "a watermark is the column, or the column less an interval: " + Quoted(rowtime, '`') +
           " - INTERVAL '5' SECOND";
  }

  int64_t UnitMs() {
    static const std::vector<std::pair<const char*, int64_t>> units = {
        {"SECOND", 1000}, {"MINUTE", 60'000}, {"HOUR", 3'600'000}, {"DAY", 86'400'000}};
    for (const auto& [name, ms] : units) {
      if (Take({name}) || Take({std::string(name) + "S"})) return ms;
    }
    return 0;
  }

  // Three digits behind the point at most.
  static Result<int64_t> Times(const std::string& number, int64_t unit) {
    const size_t point = std::min(number.find('.'), number.size());
    const std::string whole = number.substr(0, point);
    std::string part = point == number.size() ? "" : number.substr(point + 1);
    const auto digits = [](const std::string& text) {
      return text.find_first_not_of("0123456789") == std::string::npos;
    };
    if (whole.empty() || whole.size() > 9 || part.size() > 3 || !digits(whole) || !digits(part))
      return Invalid("reading a watermark: the interval '", number, "' is not a number such as 5 or 0.001");
    part.resize(3, '0');
    const int64_t thousandths = std::stoll(whole) * 1000 + std::stoll(part);
    const int64_t ms =
        thousandths > kLongestDelayMs * 1000 / unit ? kLongestDelayMs + 1 : thousandths * unit / 1000;
    if (ms > kLongestDelayMs)
      return Invalid("reading a watermark: a delay of '", number, "' is more than a year");
    return ms;
  }
};

}  // namespace

Result<int64_t> WatermarkDelay(std::string_view expression, std::string_view rowtime) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(expression, "reading a watermark"));
  return WatermarkParser(expression, std::move(tokens)).Delay(rowtime);
}

Result<std::optional<Watermark>> WatermarkOf(const std::map<std::string, std::string>& options) {
  const auto rowtime = options.find(kWatermarkRowtime), expression = options.find(kWatermarkExpression);
  if (rowtime == options.end() && expression == options.end()) return std::nullopt;
  if (rowtime == options.end() || expression == options.end())
    return Invalid("a watermark needs both of the options ", kWatermarkRowtime, " and ",
                   kWatermarkExpression);
  Watermark watermark{rowtime->second, 0};
  HEADRACE_ASSIGN_OR_RETURN(watermark.delay_ms, WatermarkDelay(expression->second, watermark.rowtime));
  return watermark;
}

}  // namespace headrace
