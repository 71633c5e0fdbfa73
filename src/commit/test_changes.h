// Made-up data files for tests of commits: metadata alone, keys of one INT column.
//
// Included by tests alone.
#pragma once

#include <string>
#include <vector>

#include "catalog/test_tables.h"
#include "commit/commit.h"

namespace headrace::testing {

inline BinaryRow IntRow(int32_t value) {
  DataType type;
  type.root = TypeRoot::kInt;
  return Must(EncodeBinaryRow(std::vector<Value>{value}, std::vector<DataType>{type}));
}

struct FileSpec {
  std::string name;
  int level = 0;
  int low = 0;
  int high = 9;
  int64_t first_sequence = 0;
  int64_t last_sequence = 9;
  int64_t rows = 10;
};

inline DataFileMeta FileOf(const FileSpec& spec) {
  DataFileMeta file;
  file.name = spec.name;
  file.size_bytes = 1000;
  file.row_count = spec.rows;
  file.min_key = IntRow(spec.low);
  file.max_key = IntRow(spec.high);
  file.min_sequence = spec.first_sequence;
  file.max_sequence = spec.last_sequence;
  file.level = Level(spec.level);
  file.delete_row_count = 0;
  file.source = spec.level == 0 ? FileSource::kAppend : FileSource::kCompact;
  file.creation_local_ms = 0;
  return file;
}

// One bucket of an unpartitioned table.
inline BucketChange ChangeOf(int bucket, std::vector<FileSpec> added,
                             std::vector<FileSpec> compact_removed = {},
                             std::vector<FileSpec> compact_added = {}, int total = 2) {
  BucketChange change;
  change.bucket = BucketId(bucket);
  change.total_buckets = total;
  for (const FileSpec& file : added) change.change.append.added.push_back(FileOf(file));
  for (const FileSpec& file : compact_removed) change.change.compact.removed.push_back(FileOf(file));
  for (const FileSpec& file : compact_added) change.change.compact.added.push_back(FileOf(file));
  return change;
}

inline PreparedCommit CommitOf(const std::string& user, int64_t identifier,
                               std::vector<BucketChange> changes) {
  PreparedCommit prepared;
  prepared.user = user;
  prepared.identifier = identifier;
  prepared.changes = std::move(changes);
  return prepared;
}

inline ManifestEntry EntryOf(const FileSpec& spec, int bucket = 0, EntryKind kind = EntryKind::kAdd,
                             int total = 2) {
  ManifestEntry entry;
  entry.kind = kind;
  entry.bucket = BucketId(bucket);
  entry.total_buckets = total;
  entry.file = FileOf(spec);
  return entry;
}

}  // namespace headrace::testing
