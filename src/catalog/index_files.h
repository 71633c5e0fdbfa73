// The index files of a snapshot, by bucket, and the deletion vectors in them.
//
// A snapshot names one index manifest, or none; it is read whole. A vector is read when its data file is wanted. kCorruption when a
// manifest says that a file is deleted: it lists what is there. Immutable once read; thread-safe.
// Source: IndexFileHandler.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/deletion_vector.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

class IndexFiles {
 public:
  IndexFiles() = default;  // none
  static Result<IndexFiles> Read(const Table& table, const Snapshot& snapshot);

  // Of every type.
  const std::vector<IndexManifestEntry>& Of(const BucketPlace& bucket) const;
  // Of deletion vectors for the data files named, with the ranges of these alone.
  std::vector<IndexManifestEntry> DeletionsOf(const BucketPlace& bucket,
                                              std::span<const std::string> data_files) const;
  bool empty() const { return files_.empty(); }
  const std::map<BucketPlace, std::vector<IndexManifestEntry>>& all() const { return files_; }

 private:
  std::map<BucketPlace, std::vector<IndexManifestEntry>> files_;
};

// The vectors that entries of a bucket name; null when they name none.
Result<std::shared_ptr<const DeletionVectors>> ReadDeletions(const Table& table, const BucketPlace& bucket,
                                                             std::span<const IndexManifestEntry> entries);

// As of the table's own schema (file/deletion_file.h).
Result<SchemaId> LastSchemaWithoutDeletionVectors(const Table& table, SchemaId oldest);

}  // namespace headrace
