// What every reader of a listed data file does first: find the schema it was written with, open it, and hold its size against its entry.
//
// kUnsupported for a format that is not read, kCorruption for another size; both name the path. Any thread.
#pragma once

#include <memory>
#include <string>

#include <arrow/io/type_fwd.h>

#include "base/error.h"
#include "file/data_file_reader.h"

namespace headrace {

Result<std::shared_ptr<const TableSchema>> SchemaOfFile(const std::string& path, const DataFileMeta& file,
                                                        const FileReadOptions& options);

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenListedFile(Store* store, const std::string& path,
                                                                    const DataFileMeta& file);

}  // namespace headrace
