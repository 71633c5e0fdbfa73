// The watermark that a table declares, as Flink's DDL says it and as Flink's catalog keeps it among a Paimon table's options.
//
// `WATERMARK FOR made AS made - INTERVAL '5' SECOND`: rows come at most five seconds later than others with a later time. Options:
// schema.watermark.0.rowtime, .strategy.expr and .strategy.data-type. Understood are the column itself and the column less an interval. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headrace {

inline constexpr char kWatermarkRowtime[] = "schema.watermark.0.rowtime";
inline constexpr char kWatermarkExpression[] = "schema.watermark.0.strategy.expr";
inline constexpr char kWatermarkType[] = "schema.watermark.0.strategy.data-type";

struct Watermark {
  std::string rowtime;  // a column
  int64_t delay_ms = 0;
};

// The delay of "made - INTERVAL '5' SECOND". kUnsupported for other expressions.
Result<int64_t> WatermarkDelay(std::string_view expression, std::string_view rowtime);

// Nothing: the table declares none.
Result<std::optional<Watermark>> WatermarkOf(const std::map<std::string, std::string>& options);

}  // namespace headrace
