#include "lsm/bucket_files.h"

#include <utility>

namespace headrace {

std::string BucketFiles::PathOf(const DataFileMeta& file) const {
  return file.external_path.has_value() ? *file.external_path : directory + "/" + file.name;
}

Result<std::unique_ptr<DataFileReader>> BucketFiles::Open(const DataFileMeta& file, ReadColumns columns,
                                                          int64_t batch_rows) const {
  FileReadOptions read;
  read.table_schema = schema;
  read.schema_by_id = schema_by_id;
  read.columns = std::move(columns);
  read.batch_rows = batch_rows;
  read.pool = pool;
  return OpenDataFile(store, PathOf(file), file, read);
}

FileWriteSpec BucketFiles::WriteSpec(FileNames* names, FileRole role, Level level, FileSource source) const {
  FileWriteSpec spec;
  spec.store = store;
  spec.directory = directory;
  spec.schema = schema;
  spec.options = options;
  spec.names = names;
  spec.clock = clock;
  spec.memory_bytes = memory_bytes;
  spec.pool = pool;
  spec.role = role;
  spec.level = level;
  spec.source = source;
  return spec;
}

Status BucketFiles::Delete(const std::vector<DataFileMeta>& files) const {
  Status first;
  for (const DataFileMeta& file : files) {
    Status deleted = store->Delete(PathOf(file));
    for (const std::string& extra : file.extra_files) {
      if (deleted.ok()) deleted = store->Delete(directory + "/" + extra);
    }
    if (first.ok()) first = std::move(deleted);
  }
  return first;
}

}  // namespace headrace
