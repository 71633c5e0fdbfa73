#include "lsm/bucket_files.h"

#include <utility>

#include "file/avro_data_file.h"
#include "file/data_file_path.h"
#include "file/live_rows.h"
#include "lsm/key_ranges.h"

namespace headrace {

Result<std::unique_ptr<DataFileReader>> BucketFiles::Open(const DataFileMeta& file, ReadColumns columns,
                                                          int64_t batch_rows) const {
  FileReadOptions read;
  read.table_schema = schema;
  read.schema_by_id = schema_by_id;
  read.columns = std::move(columns);
  read.batch_rows = batch_rows;
  read.check_key_range = key_ordered;
  read.pool = pool;
  HEADRACE_ASSIGN_OR_RETURN(const std::string path, DataFilePath(directory, file));
  std::shared_ptr<const DeletionVector> deleted = DeletedOf(file);
  std::unique_ptr<DataFileReader> reader;
  if (only != nullptr && deleted == nullptr && key_ordered && !path.ends_with(kAvroExtension)) {
    HEADRACE_ASSIGN_OR_RETURN(reader, OpenKeyRanges(store, path, file, read, only));
    if (reader != nullptr) return reader;
  }
  HEADRACE_ASSIGN_OR_RETURN(reader, OpenDataFile(store, path, file, read));
  if (deleted == nullptr) return reader;
  return HideDeleted(std::move(reader), file, std::move(deleted), pool);
}

std::shared_ptr<const DeletionVector> BucketFiles::DeletedOf(const DataFileMeta& file) const {
  if (deletions == nullptr) return nullptr;
  const auto found = deletions->find(file.name);
  return found == deletions->end() ? nullptr : found->second;
}

int64_t BucketFiles::PositionInFile(const DataFileMeta& file, int64_t row) const {
  const std::shared_ptr<const DeletionVector> deleted = DeletedOf(file);
  return deleted == nullptr ? row : deleted->PositionOfLive(row);
}

FileWriteSpec BucketFiles::WriteSpec(FileNames* names, FileRole role, Level level, FileSource source) const {
  FileWriteSpec spec;
  spec.store = store;
  spec.directory = directory;
  spec.schema = schema;
  spec.options = options;
  spec.names = names;
  spec.clock = clock;
  spec.pool = pool;
  spec.memory_bytes = memory_bytes;
  spec.role = role;
  spec.level = level;
  spec.source = source;
  return spec;
}

Status BucketFiles::Delete(const std::vector<DataFileMeta>& files) const {
  Status first;
  for (const DataFileMeta& file : files) {
    // Whatever an entry says: what lies outside the bucket's folder was not made here and is not deleted.
    if (file.external_path.has_value()) continue;
    Status deleted = store->Delete(directory + "/" + file.name);
    for (const std::string& extra : file.extra_files) {
      if (deleted.ok()) deleted = store->Delete(directory + "/" + extra);
    }
    if (first.ok()) first = std::move(deleted);
  }
  return first;
}

}  // namespace headrace
