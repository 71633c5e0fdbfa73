// Reading one data file as record batches in file order, in the shape of the table's current schema.
//
// Columns are found by the names of the schema the file was written with, mapped to the table by field id, and cast where a
// type was widened; a column the file does not know reads as null, whatever the table says of nulls. Key columns come from _KEY_…
// or, in thin files and where the value column is read as well, from the values. Not thread-safe; readers of different files are
// independent. Parquet, and Avro for rows that wait in
// a postponed bucket; a file of another format is kUnsupported naming `file.format`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_file_meta.h"
#include "format/table_schema.h"
#include "io/store.h"

namespace headrace {

// Which columns a reader hands out, in this order: keys (named _KEY_<k>), sequence, kind, then `values` as listed.
struct ReadColumns {
  bool keys = false;
  bool sequence = false;
  bool kind = false;
  std::vector<std::string> values;
};

// Finds a schema version of the table the file belongs to.
using SchemaLookup = std::function<Result<std::shared_ptr<const TableSchema>>(SchemaId)>;

struct FileReadOptions {
  std::shared_ptr<const TableSchema> table_schema;  // the shape wanted
  SchemaLookup schema_by_id;                        // the shape written
  ReadColumns columns;
  int64_t batch_rows = 32768;
  bool check_key_range = true;        // file/key_range.h; false: the caller compares every key itself
  arrow::MemoryPool* pool = nullptr;  // null: Arrow's default
};

class DataFileReader {
 public:
  virtual ~DataFileReader() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  // The next rows, or null at the end. kCorruption when the file's row count contradicts its manifest entry.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

Result<std::unique_ptr<DataFileReader>> OpenDataFile(Store* store, const std::string& path,
                                                     const DataFileMeta& file,
                                                     const FileReadOptions& options);

}  // namespace headrace
