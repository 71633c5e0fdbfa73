// Writing the manifest files of one commit attempt, and taking them back when the attempt is not published.
//
// Names are <kind>-<uuid>-<n>, one uuid an attempt, one counter a kind. Manifests roll at `manifest.target-file-size`: all but the last
// of one call reach it, so that they are left alone by later merges. One thread. Source: ManifestFile, ManifestList, CommitCleaner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/manifest.h"

namespace headrace {

struct WrittenFile {
  std::string name;
  int64_t size_bytes = 0;
};

class ManifestWriter {
 public:
  // The table outlives the writer.
  explicit ManifestWriter(const Table& table);

  Result<WrittenFile> WriteList(const std::vector<ManifestFileMeta>& manifests);
  Result<std::vector<ManifestFileMeta>> WriteManifests(const std::vector<ManifestEntry>& entries);
  Result<WrittenFile> WriteIndexManifest(const std::vector<IndexManifestEntry>& entries);

  // Deletes all files written so far. Only when no snapshot can name them. Failures leave garbage, which orphan cleaning takes.
  void DeleteWritten();

 private:
  friend class RollingManifests;
  Result<WrittenFile> WriteFile(std::string name, const std::string& bytes);

  const Table& table_;
  std::string uuid_;
  int64_t next_list_ = 0;
  int64_t next_manifest_ = 0;
  int64_t next_index_ = 0;
  std::vector<std::string> written_;  // paths
};

// A sequence of entries that becomes manifests as it grows, so that no more than about two of them are in memory.
class RollingManifests {
 public:
  explicit RollingManifests(ManifestWriter* writer) : writer_(writer) {}

  static constexpr size_t kFirstCheck = 1000;  // entries after which the size is looked at, as Java does

  Status Add(ManifestEntry entry);
  Result<std::vector<ManifestFileMeta>> Finish();

 private:
  Status WritePending(const std::string& bytes);

  ManifestWriter* writer_;
  std::vector<ManifestEntry> pending_;
  size_t check_at_ = kFirstCheck;  // the number of pending entries at which they are encoded next
  std::vector<ManifestFileMeta> done_;
};

// The facts a manifest list tells of a manifest with these entries.
Result<ManifestFileMeta> DescribeManifest(const Table& table, const std::vector<ManifestEntry>& entries);

}  // namespace headrace
