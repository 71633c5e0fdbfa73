// One bucket's folder, and how its data files are opened and written.
//
// A plain value, cheap to copy; it does not own the store, the clock or the options, which outlive it. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "base/clock.h"
#include "base/error.h"
#include "file/data_file_reader.h"
#include "file/data_file_writer.h"
#include "format/deletion_vector.h"
#include "format/table_options.h"
#include "format/table_schema.h"
#include "io/store.h"

namespace headrace {

struct KeyRanges;

struct BucketFiles {
  Store* store = nullptr;
  std::string directory;                      // the bucket's folder
  std::shared_ptr<const TableSchema> schema;  // rows are read and written in this shape
  SchemaLookup schema_by_id;                  // the shapes files were written in
  const TableOptions* options = nullptr;
  Clock* clock = nullptr;             // needed for writing only
  arrow::MemoryPool* pool = nullptr;  // null: Arrow's default
  std::string index_directory = {};   // the table's folder of index files
  bool key_ordered = true;            // false: staged rows, which lie in files as they came
  // Rows that Open leaves out; null: none are deleted.
  std::shared_ptr<const DeletionVectors> deletions = nullptr;
  // Rows whose key lies outside may be left out by Open, all versions of a key or none; null: none are. Where rows stand in their file is not
  // known then.
  std::shared_ptr<const KeyRanges> only = nullptr;
  // About what writing a file, and what merging into one, may hold.
  int64_t memory_bytes = 64LL << 20;

  Result<std::unique_ptr<DataFileReader>> Open(const DataFileMeta& file, ReadColumns columns,
                                               int64_t batch_rows) const;
  // The rows of a file that are deleted; null: none.
  std::shared_ptr<const DeletionVector> DeletedOf(const DataFileMeta& file) const;
  // Where in the file a row stands that is number `row` of those that Open's reader gives.
  int64_t PositionInFile(const DataFileMeta& file, int64_t row) const;
  FileWriteSpec WriteSpec(FileNames* names, FileRole role, Level level, FileSource source) const;
  // Deletes files of this folder that nothing lists, never one at an external path; the first failure is returned, the others are tried
  // all the same.
  Status Delete(const std::vector<DataFileMeta>& files) const;
};

}  // namespace headrace
