#include "file/listed_file.h"

#include <string_view>
#include <utility>

#include <arrow/io/interfaces.h>

#include "file/reading_guard.h"

namespace headrace {
namespace {

constexpr std::string_view kExtension = ".parquet";

}  // namespace

Result<std::shared_ptr<const TableSchema>> SchemaOfFile(const std::string& path, const DataFileMeta& file,
                                                        const FileReadOptions& options) {
  if (options.table_schema->id == file.schema_id) return options.table_schema;
  if (!options.schema_by_id)
    return Invalid("reading ", path, ": no way to find schema ", file.schema_id, " was given");
  auto found = options.schema_by_id(file.schema_id);
  if (!found.ok()) return WithContext("reading " + path, found.status());
  return found;
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenListedFile(Store* store, const std::string& path,
                                                                    const DataFileMeta& file) {
  if (!path.ends_with(kExtension)) {
    return Unsupported("reading ", path,
                       ": option file.format: only parquet data files are read (name ending ", kExtension,
                       "); rewrite the table with file.format=parquet");
  }
  auto opened = store->OpenForRead(path);
  if (!opened.ok()) return NamedOnce(path, opened.status());
  const auto size = (*opened)->GetSize();
  if (!size.ok()) return WithContext("reading " + path, size.status());
  if (file.size_bytes != 0 && *size != file.size_bytes) {
    return Corruption("reading ", path, ": the file has ", *size, " bytes, its manifest entry says ",
                      file.size_bytes);
  }
  return opened;
}

}  // namespace headrace
