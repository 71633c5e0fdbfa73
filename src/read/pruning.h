// Which live files can hold rows that meet conditions: by partition, by bucket, and by the statistics of keys and values.
//
// Never wrongly false: whoever asks filters the rows again. Of a table with a primary key a file may be left out by itself
// only by what all versions of a key share, its key and its place; statistics of values decide where rows are read as they are, or of what is merged together (split_pruning.h).
// Pure, but for reading the schemas of older files; any thread. Source: KeyValueFileStoreScan, BucketSelectConverter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/column_stats.h"
#include "format/comparison.h"
#include "format/manifest.h"
#include "read/key_bucket.h"

namespace headrace {

// What a column of all wanted rows is. Values have the column's type and are not null; a row whose column is null meets only kNull.
struct RowCondition {
  using Is = Comparison;
  std::string column;  // of the table
  Is is = Is::kEqual;
  std::vector<Value> values = {};  // one; several for kIn; none for kNull and kNotNull
};

// Whether conditions on columns of a type are looked at: values compare as statistics and keys do. NaN and the two zeros have an order of
// their own; bytes and truth values are not worth it.
bool HasPlainOrder(TypeRoot root);

// Whether a value meets a condition.
bool Meets(const Value& value, const RowCondition& condition);

// Whether one of `rows` rows with these statistics may.
bool MayMeet(const ColumnStats& stats, int64_t rows, const RowCondition& condition);

class FilePruner {
 public:
  // Conditions on columns that the table does not have, or of types whose order is not that of statistics, are left out.
  FilePruner(const Table& table, std::vector<RowCondition> conditions);

  bool prunes() const { return !conditions_.empty(); }
  // Before merging.
  Result<bool> MayHold(const ManifestEntry& entry) const;
  // Of a file whose rows are read as they are.
  Result<bool> MayHoldAsItIs(const DataFileMeta& file) const;

 private:
  Result<bool> MayHoldByStats(const DataFileMeta& file, const SimpleStats& stats,
                              const std::optional<std::vector<std::string>>& listed, bool of_keys) const;
  Result<bool> IsInPartition(const BinaryRow& partition) const;
  Result<bool> IsInBucket(const ManifestEntry& entry) const;

  const Table& table_;
  std::vector<RowCondition> conditions_;
  NamedValues equal_;  // columns that are one value
};

}  // namespace headrace
