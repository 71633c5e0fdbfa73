// Minimum, maximum and null count of a column: from exact values to what a manifest stores, and back to bounds a reader may use.
//
// Stored strings and bytes are truncated: a minimum is cut off, a maximum is cut off and raised, so both are still bounds but
// not values: they answer "can a row be in here", never "what is MIN(column)". A column without bounds is unknown, unless its null count
// equals the file's rows. Statistics are in the types of the file's own schema (_SCHEMA_ID). Pure.
// Source: SimpleColStatsCollector family, SimpleStatsConverter, StatsCollectorFactories, SimpleStatsEvolution.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/data_file_meta.h"
#include "format/data_type.h"
#include "format/table_options.h"
#include "format/value.h"

namespace headrace {

struct ColumnStats {
  Value min;
  Value max;
  std::optional<int64_t> null_count;  // nothing: unknown

  bool is_none() const { return IsNull(min) && IsNull(max) && !null_count.has_value(); }
  // True only when it is certain: a row count and a null count that agree.
  bool all_null(int64_t row_count) const { return null_count.has_value() && *null_count == row_count; }
  bool operator==(const ColumnStats&) const = default;
};

inline constexpr ColumnStatsMode kKeyStatsMode = {StatsMode::kTruncate,
                                                  128};  // of key columns, whatever the options say

// The mode of each column of a file at a level: fields.<f>.stats-mode first, then metadata.stats-keep-first-n-columns, then
// the level's mode, then metadata.stats-mode. `thin_keys`: key columns of a file without _KEY_ columns.
std::vector<ColumnStatsMode> StatsModesFor(const TableOptions& options, Level level,
                                           std::span<const std::string> columns,
                                           std::span<const std::string> thin_keys = {});

// What is stored for exact statistics. Nested types have none. NaN as a bound makes the bounds unknown; zeros are widened to
// [-0.0, 0.0], for engines that take them as equal.
ColumnStats ApplyStatsMode(ColumnStats exact, const ColumnStatsMode& mode, const DataType& type);

// Bounds of a string in code points, of bytes in bytes. Nothing: no upper bound of that length exists.
std::string TruncateMin(std::string_view value, int32_t length, bool utf8);
std::optional<std::string> TruncateMax(std::string_view value, int32_t length, bool utf8);

struct StoredStats {
  SimpleStats stats;
  std::optional<std::vector<std::string>>
      columns;  // _VALUE_STATS_COLS: the columns that are listed; nothing: all
};

// One ColumnStats a field. Dense: columns without any statistics are left out and the others named.
Result<StoredStats> BuildStats(std::span<const ColumnStats> columns, std::span<const DataField> fields,
                               bool dense);

// One ColumnStats for each of `fields`, the file's own schema, in that order; `columns` as stored. Rows or counts shorter than the
// columns, and columns that are not listed, are unknown.
Result<std::vector<ColumnStats>> ReadStats(const SimpleStats& stats,
                                           const std::optional<std::vector<std::string>>& columns,
                                           std::span<const DataField> fields);

// The statistics of a column after its type was changed; unknown where the cast does not keep the order or may make nulls.
ColumnStats EvolveStats(const ColumnStats& stats, const DataType& from, const DataType& to);

}  // namespace headrace
