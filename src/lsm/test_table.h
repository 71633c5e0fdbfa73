// A bucket in a memory store, random rows for it, and its rows as text: for the tests and benchmarks of this room alone.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/random.h"
#include "file/json_lines.h"
#include "file/random_rows.h"
#include "io/memory_store.h"
#include "lsm/bucket_files.h"
#include "lsm/gather.h"
#include "lsm/merge.h"

namespace headrace {

#define HEADRACE_EXPECT_OK(expr)                  \
  do {                                            \
    const ::arrow::Status status_here = (expr);   \
    EXPECT_TRUE(status_here.ok()) << status_here; \
  } while (false)

struct TestTable {
  TestTable(const std::string& columns, std::vector<std::string> keys) {
    auto made = std::make_shared<TableSchema>();
    made->fields = ParseColumns(columns).ValueOrDie();
    made->primary_keys = std::move(keys);
    schema = made;
    options.target_file_bytes = 128LL << 20;
    options.bucket = 1;
  }

  BucketFiles Files() {
    BucketFiles files;
    files.store = &store;
    files.directory = "/t/bucket-0";
    files.schema = schema;
    files.schema_by_id = [this](SchemaId) -> Result<std::shared_ptr<const TableSchema>> { return schema; };
    files.options = &options;
    files.clock = &clock;
    return files;
  }

  std::vector<std::string> ColumnNames() const {
    std::vector<std::string> names;
    for (const DataField& field : schema->fields) names.push_back(field.name);
    return names;
  }

  // The names of the files in the bucket's folder.
  std::vector<std::string> FileNamesOnDisk() {
    std::vector<std::string> names;
    for (const FileInfo& info : store.List("/t/bucket-0").ValueOrDie())
      names.push_back(info.path.substr(info.path.rfind('/') + 1));
    std::sort(names.begin(), names.end());
    return names;
  }

  std::shared_ptr<const TableSchema> schema;
  TableOptions options;
  MemoryStore store;
  ManualClock clock{1700000000000};
};

inline std::shared_ptr<arrow::Array> KindsOf(const std::vector<int8_t>& kinds) {
  arrow::Int8Builder builder;
  EXPECT_TRUE(builder.AppendValues(kinds).ok());
  return builder.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::Array> Int64s(const std::vector<int64_t>& values) {
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return builder.Finish().ValueOrDie();
}

// One JSON line a row of `fields`.
inline std::vector<std::string> LinesOf(const std::vector<DataField>& fields,
                                        const arrow::RecordBatch& batch) {
  std::string text;
  const arrow::Status status = JsonLines(fields).Append(batch, &text);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

inline std::vector<std::string> DrainLines(RowStream* stream, const std::vector<DataField>& fields) {
  std::vector<std::string> lines;
  while (true) {
    auto batch = stream->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || *batch == nullptr) return lines;
    EXPECT_TRUE((*batch)->ValidateFull().ok()) << (*batch)->ValidateFull();
    EXPECT_GT((*batch)->num_rows(), 0);
    for (std::string& line : LinesOf(fields, **batch)) lines.push_back(std::move(line));
  }
}

// Random rows whose keys come from a small pool, so that they meet again and again.
class RandomVersions {
 public:
  RandomVersions(std::shared_ptr<const TableSchema> schema, int64_t distinct_keys, uint64_t seed)
      : schema_(std::move(schema)), rows_(seed), random_(seed + 1) {
    pool_ = rows_.Batch(schema_->fields, distinct_keys).ValueOrDie();
  }

  std::shared_ptr<arrow::RecordBatch> Batch(int64_t rows) {
    std::shared_ptr<arrow::RecordBatch> batch = rows_.Batch(schema_->fields, rows).ValueOrDie();
    std::vector<RowRef> picks;
    for (int64_t row = 0; row < rows; ++row) {
      picks.push_back({0, static_cast<uint32_t>(random_.Below(static_cast<uint64_t>(pool_->num_rows())))});
    }
    const std::shared_ptr<arrow::RecordBatch> picked = GatherRows({pool_}, picks, nullptr).ValueOrDie();
    for (const std::string& key : schema_->primary_keys) {
      const int column = schema_->FieldIndex(key);
      batch = batch->SetColumn(column, picked->schema()->field(column), picked->column(column)).ValueOrDie();
    }
    return batch;
  }

  std::shared_ptr<arrow::Array> Kinds(int64_t rows, bool with_retractions) {
    std::vector<int8_t> kinds;
    for (int64_t row = 0; row < rows; ++row) {
      kinds.push_back(static_cast<int8_t>(with_retractions ? random_.Below(4) : random_.Below(2) * 2));
    }
    return KindsOf(kinds);
  }

  Random* random() { return &random_; }

 private:
  std::shared_ptr<const TableSchema> schema_;
  RandomRows rows_;
  Random random_;
  std::shared_ptr<arrow::RecordBatch> pool_;
};

// Key shapes that every plan of a merge must handle: dense and sparse integers, text, composites, every primitive type.
inline const std::vector<std::pair<std::string, std::vector<std::string>>>& KeyShapes() {
  static const auto* const kShapes = new std::vector<std::pair<std::string, std::vector<std::string>>>{
      {"k BIGINT NOT NULL", {"k"}},
      {"k TINYINT NOT NULL", {"k"}},
      {"k DATE NOT NULL", {"k"}},
      {"k TIMESTAMP(6) NOT NULL", {"k"}},
      {"k STRING NOT NULL", {"k"}},
      {"k VARBINARY(30) NOT NULL", {"k"}},
      {"k DECIMAL(20, 3) NOT NULL", {"k"}},
      {"k DOUBLE NOT NULL", {"k"}},
      {"k BOOLEAN NOT NULL, j SMALLINT NOT NULL", {"k", "j"}},
      {"k STRING NOT NULL, j INT NOT NULL, i BYTES NOT NULL", {"i", "k", "j"}},
      {"k FLOAT NOT NULL, j TIMESTAMP(9) NOT NULL", {"k", "j"}},
  };
  return *kShapes;
}

}  // namespace headrace
