// The facts about one data file that its manifest entry holds, gathered while the file is written.
//
// Per batch only what the footer will not tell: null counts, NaN, the first and last key, deletes, the sequence range. Minimum and
// maximum come from the footer. Work is per column, never per row and virtual. One object a file.
// Source: KeyValueDataFileWriter, RowDataFileWriter, StatsCollectorFactories, SimpleStatsConverter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/column_stats.h"
#include "format/data_file_meta.h"
#include "format/data_type.h"
#include "format/table_options.h"
#include "format/table_schema.h"

namespace parquet {
class FileMetaData;
}

namespace headrace {

// What is the same for all files of one writer.
struct FactsPlan {
  std::shared_ptr<const TableSchema> schema;
  std::vector<DataField> fields;  // the physical columns of the file
  int dropped_columns = 0;       // leading columns of a batch that the file does not store: keys in thin mode
  std::vector<int> key_columns;  // which of `fields` hold the key; empty for row files
  std::vector<DataType> key_types;
  int sequence_column = -1;  // -1: a row file, rows are numbered
  int kind_column = -1;
  int first_value_column = 0;                // values: from here to the end
  std::vector<ColumnStatsMode> value_modes;  // a mode for each value column
};

FactsPlan PlanKeyValueFacts(std::shared_ptr<const TableSchema> schema, const TableOptions& options,
                            Level level);
FactsPlan PlanRowFacts(std::shared_ptr<const TableSchema> schema, const TableOptions& options, Level level);

class FileFacts {
 public:
  // `first_sequence`: of a row file's first row.
  FileFacts(const FactsPlan* plan, int64_t first_sequence);

  Status Add(const arrow::RecordBatch& batch);
  // Fills row count, keys, statistics, sequences and delete count.
  Status Finish(const parquet::FileMetaData& footer, bool dense, DataFileMeta* file) const;

  int64_t row_count() const { return row_count_; }

 private:
  Status AddKeys(const arrow::RecordBatch& batch);
  Result<std::vector<ColumnStats>> ExactStats(const parquet::FileMetaData& footer) const;
  void AddSequencesAndKinds(const arrow::RecordBatch& batch);

  const FactsPlan* plan_;
  int64_t row_count_ = 0;
  int64_t delete_count_ = 0;
  int64_t min_sequence_;
  int64_t max_sequence_;
  BinaryRow min_key_;
  BinaryRow max_key_;
  std::vector<int64_t> null_counts_;  // by physical column
  std::vector<bool> saw_nan_;
};

}  // namespace headrace
