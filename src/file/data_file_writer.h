// Writing the data files of one bucket: Parquet with the field ids, logical types and statistics that the peers expect.
//
// A writer rolls to a new file at the target size. It makes the manifest's facts on the way: exact first and last key, statistics,
// sequence range, delete count. Files are closed and durable when Close() returns, and listed nowhere. Abort() (or
// destruction without Close()) deletes what was written. One thread at a time. Source: KeyValueDataFileWriter,
// RowDataFileWriter, RollingFileWriter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/clock.h"
#include "base/error.h"
#include "format/data_file_meta.h"
#include "format/table_options.h"
#include "format/table_schema.h"
#include "io/store.h"

namespace headrace {

// Names for the files of one writer of one bucket: <prefix><uuid>-<n>.parquet, one counter for data and changelog.
class FileNames {
 public:
  FileNames(std::string uuid, const TableOptions& options);
  std::string NextData();
  std::string NextChangelog();

 private:
  std::string uuid_;
  std::string data_prefix_;
  std::string changelog_prefix_;
  int64_t next_ = 0;
};

enum class FileRole { kData, kChangelog };

struct FileWriteSpec {
  Store* store = nullptr;
  std::string directory;  // the bucket's folder
  std::shared_ptr<const TableSchema> schema;
  const TableOptions* options = nullptr;  // outlives the writer
  FileNames* names = nullptr;             // outlives the writer
  Clock* clock = nullptr;
  arrow::MemoryPool* pool = nullptr;  // null: Arrow's default
  int64_t memory_bytes = 64LL << 20;  // about what the open file may hold before it goes to the disk
  FileRole role = FileRole::kData;
  Level level{0};
  FileSource source = FileSource::kAppend;
};

class DataFileWriter {
 public:
  virtual ~DataFileWriter() = default;
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  virtual Result<std::vector<DataFileMeta>> Close() = 0;
  virtual void Abort() = 0;
  // Rows written so far, all files.
  virtual int64_t row_count() const = 0;
};

// Batches have the columns of KeyValueFields(schema), also where thin mode leaves the keys out of the file; rows in key order
// (a changelog: key, then sequence). Unique keys for FileRole::kData.
Result<std::unique_ptr<DataFileWriter>> OpenKeyValueWriter(const FileWriteSpec& spec);

// Batches have the table's columns. `first_sequence` numbers the rows of the bucket from there on.
Result<std::unique_ptr<DataFileWriter>> OpenRowWriter(const FileWriteSpec& spec, int64_t first_sequence);

}  // namespace headrace
