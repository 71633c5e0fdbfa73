// Where the columns that a reader hands out lie in one Parquet file, and how they get today's shape.
//
// Columns are found by the names of the schema the file was written with, mapped to the table by field id. What the file does not have is
// null. Errors name the path; a cast that may lose something is refused here, before anything is read. Pure; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "file/data_file_reader.h"
#include "format/data_type.h"
#include "format/table_schema.h"

namespace parquet {
class SchemaDescriptor;
}

namespace headrace {

class Int96Values;

// Where one column that is handed out comes from.
struct ColumnSource {
  DataField wanted;
  DataType written;  // as the file's schema declares it
  int root = -1;     // top-level column of the Parquet file, -1: all null
};

// One source a column of `columns`, in the order of ReadColumns. `partial`: the manifest says that the file holds only some columns of
// its schema.
Result<std::vector<ColumnSource>> FindColumns(const std::string& path, const TableSchema& table,
                                              const TableSchema& written,
                                              const parquet::SchemaDescriptor& file, bool partial,
                                              const ReadColumns& columns);

// The top-level columns that the sources need, ascending, each once.
std::vector<int> RootsOf(const std::vector<ColumnSource>& sources);

// The leaf columns below each top-level column of the file, in order.
std::vector<std::vector<int>> LeavesByRoot(const parquet::SchemaDescriptor& file);

// The column of `root` as Arrow read it, with exact timestamps where it has INT96 ones (`int96` not null). May throw what Parquet throws.
Result<std::shared_ptr<arrow::Array>> ExactColumn(const std::vector<ColumnSource>& sources, int root,
                                                  std::shared_ptr<arrow::Array> raw, Int96Values* int96,
                                                  arrow::MemoryPool* pool);

// The columns wanted, in the table's types. `exact[i]` is the column of `roots[i]`; all have `rows` rows.
Result<std::shared_ptr<arrow::RecordBatch>> ShapeColumns(
    const std::vector<ColumnSource>& sources, const std::vector<int>& roots,
    const std::vector<std::shared_ptr<arrow::Array>>& exact, int64_t rows,
    const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool);

}  // namespace headrace
