// Rows of a Parquet file or an Arrow IPC file or stream, in batches, cast to the table's columns exactly.
//
// Columns go by name; a missing one is null, an unknown one is refused. Types go into types that hold every value they may have, or
// every value they do have: what would be rounded, cut or out of range is refused, for the row it stands in. A position is a number of
// rows; a file is known again by its size and both its ends, an Arrow stream from standard input by the bytes read so far. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "ingest/event_format.h"
#include "ingest/position.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

class ColumnarSource {
 public:
  // `format` is kParquet or kArrow; "-" is an Arrow stream.
  static Result<std::unique_ptr<ColumnarSource>> Open(const std::string& path, EventFormat format);
  ~ColumnarSource();

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  // At most 16384 rows; nullptr at the end.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();
  const std::string& path() const { return path_; }
  int64_t size_bytes() const { return size_bytes_; }
  std::string hash() const;
  // Passes over the rows that were consumed. kInvalid when it is not the same file.
  Status SkipTo(const InputPosition& position);

 private:
  explicit ColumnarSource(std::string path) : path_(std::move(path)) {}
  Status OpenParquet();
  Status OpenArrow();
  Status OpenStream(const std::shared_ptr<arrow::io::InputStream>& stream);
  Status OpenStandardInput();
  Status HashEnds();
  class HashedInput;

  const std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;  // null for standard input
  std::shared_ptr<HashedInput> input_;                 // null for files
  std::function<Result<std::shared_ptr<arrow::RecordBatch>>()> read_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::RecordBatch> rest_;  // of a batch that was skipped into, or is too long
  int64_t size_bytes_ = 0;
  std::string hash_;
};

// The batch as the table's columns, and a row kind each (null for inserts alone); -U rows are left out where the table does not keep them.
struct CastRows {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::shared_ptr<arrow::Array> kinds;
};
// kInvalid names the column. Which row it is the caller finds out by asking row by row.
Result<CastRows> CastToTable(const std::shared_ptr<arrow::RecordBatch>& batch, const TableShape& table,
                             const std::string& kind_column);
// Can the table take columns of these names and types at all?
Status CheckColumns(const arrow::Schema& schema, const TableShape& table, const std::string& kind_column);

// A row for the dead letters: {"a":"1","b":null}, values as Arrow prints them.
std::string RowAsJson(const arrow::RecordBatch& batch, int64_t row);

}  // namespace headrace::ingest
