// Statistics of a file's columns in the form a manifest entry stores: cut by the column's mode, packed into rows.
//
// Pure; any thread. Source: TruncateSimpleColStatsCollector, SimpleStatsConverter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/data_file_meta.h"
#include "format/data_type.h"
#include "format/table_options.h"
#include "format/value.h"

namespace headrace {

// Of one column; all empty: nothing is known of it.
struct ColumnFacts {
  Value min;
  Value max;
  std::optional<int64_t> null_count;
};

// Strings are cut to the mode's length in characters, bytes to as many bytes; the cut maximum is raised so that it still bounds. When
// no shorter bound exists both are dropped.
ColumnFacts CutToMode(ColumnFacts facts, const ColumnStatsMode& mode, bool text);

// One entry for every column.
Result<SimpleStats> PackStats(const std::vector<ColumnFacts>& facts, const std::vector<DataField>& fields);

struct DenseStats {
  SimpleStats stats;
  std::optional<std::vector<std::string>> columns;  // nothing: all of them
};
// Columns of which nothing is known are left out.
Result<DenseStats> PackDenseStats(const std::vector<ColumnFacts>& facts, const std::vector<DataField>& fields);

}  // namespace headrace
