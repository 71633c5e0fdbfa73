// Any bytes as the statistics of a file's columns: a byte for the types, a byte for the columns listed, a byte for the widened types, a byte
// for the length of the first row; then both rows. Bounds that are read are of the column's type, and stay in order when truncated or widened.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "format/column_stats.h"

namespace {

using namespace headrace;

const std::vector<DataType>& Types() {
  static const std::vector<DataType> types = [] {
    std::vector<DataType> result;
    for (const char* text : {"STRING", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
                             "DECIMAL(9, 2)", "DECIMAL(38, 5)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)",
                             "TIMESTAMP(9)", "BOOLEAN", "CHAR(4)", "ARRAY<INT>"}) {
      result.push_back(ParseDataType(text).ValueOrDie());
    }
    return result;
  }();
  return types;
}

// The bounds a reader may use after the change still hold the values between the old ones.
void CheckStats(const ColumnStats& column, const DataType& type, const DataType& wider) {
  if (!FitsType(column.min, type) || !FitsType(column.max, type)) std::abort();
  const ColumnStats evolved = EvolveStats(column, type, wider);
  if (!FitsType(evolved.min, wider) || !FitsType(evolved.max, wider)) std::abort();
  const bool ordered =
      !IsNull(column.min) && !IsNull(column.max) && CompareValues(column.min, column.max) <= 0;
  if (!ordered) return;
  if (!IsNull(evolved.min) && !IsNull(evolved.max) && CompareValues(evolved.min, evolved.max) > 0)
    std::abort();
  const ColumnStats cut = ApplyStatsMode(column, {StatsMode::kTruncate, 3}, type);
  if (!IsNull(cut.min) && CompareValues(cut.min, column.min) > 0) std::abort();
  if (!IsNull(cut.max) && CompareValues(cut.max, column.max) < 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::string_view rows(reinterpret_cast<const char*>(data) + 4, size - 4);
  auto low = ParseBinaryRow(rows.substr(0, std::min<size_t>(data[3], rows.size())));
  auto high = ParseBinaryRow(rows.substr(std::min<size_t>(data[3], rows.size())));
  if (!low.ok() || !high.ok() || low->arity > 20) return 0;
  std::vector<DataField> fields;
  std::vector<std::string> listed;
  SimpleStats stats;
  for (int32_t i = 0; i < low->arity; ++i) {
    DataField& field = fields.emplace_back();
    field.name = "c" + std::to_string(i);
    field.type = Types()[static_cast<size_t>(data[0] + i) % Types().size()];
    listed.push_back("c" + std::to_string((i + data[1] / 2) % 24));
    if (i % 3 != 0) stats.null_counts.emplace_back(i % 3 == 1 ? std::nullopt : std::optional<int64_t>(i));
  }
  stats.min_values = *std::move(low);
  stats.max_values = *std::move(high);
  const auto columns =
      ReadStats(stats, data[1] & 1 ? std::optional(std::move(listed)) : std::nullopt, fields);
  if (!columns.ok()) return 0;
  if (columns->size() != fields.size()) std::abort();
  for (size_t i = 0; i < fields.size(); ++i)
    CheckStats((*columns)[i], fields[i].type, Types()[(data[2] + i) % Types().size()]);
  return 0;
}
