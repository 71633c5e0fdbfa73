// A table that a test may damage: a copy of a fixture, or one that Headrace writes, with doors to forge what its files say.
//
// Forged metadata goes through the project's own encoders, and whatever names it by size or count follows, so that a test damages one
// thing alone. Every failure to forge aborts: it is the test that is wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "catalog/table.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

class ForgedTable {
 public:
  // "fixture/table", or one that Headrace writes:
  //   "keyed":  day STRING, id BIGINT, name STRING, n INT; primary key day, id; by day; two buckets; changelog-producer=input; two commits,
  //             two days, updates and a delete.
  //   "append": day STRING, id BIGINT, v DOUBLE; by day; bucket-key id, two buckets; two commits.
  explicit ForgedTable(const std::string& name);
  ~ForgedTable();
  ForgedTable(const ForgedTable&) = delete;
  ForgedTable& operator=(const ForgedTable&) = delete;

  const std::string& path() const { return path_; }
  Table Open() const;

  // Commits to a "keyed" table, with compactions, until it is told to stop.
  void WriteUntil(const std::atomic<bool>* stop) const;

  // Files, by their path below the table.
  std::string Read(const std::string& file) const;
  void Write(const std::string& file, const std::string& bytes) const;
  void Remove(const std::string& file) const;
  void MakeOld(const std::string& file) const;  // by a day
  void Truncate(const std::string& file, size_t by) const;
  void FlipBit(const std::string& file, size_t byte) const;

  Snapshot SnapshotOf(int64_t id) const;
  int64_t LatestId() const;
  void EditSnapshot(int64_t id, const std::function<void(Snapshot*)>& edit) const;

  // The entries of the one manifest of a snapshot's delta or changelog; sizes and counts that name the manifest follow.
  using EditEntriesFunction = std::function<void(std::vector<ManifestEntry>*)>;
  void EditDelta(int64_t id, const EditEntriesFunction& edit) const;
  void EditChangelog(int64_t id, const EditEntriesFunction& edit) const;
  // What a list says of its manifests; the snapshot's size of the list follows.
  using EditListFunction = std::function<void(std::vector<ManifestFileMeta>*)>;
  void EditDeltaList(int64_t id, const EditListFunction& edit) const;
  void EditBaseList(int64_t id, const EditListFunction& edit) const;
  void EditIndexManifest(int64_t id, const std::function<void(std::vector<IndexManifestEntry>*)>& edit) const;

  std::vector<ManifestEntry> Delta(int64_t id) const;
  std::vector<ManifestEntry> Live() const;
  // Below the table.
  std::string FileOf(const ManifestEntry& entry) const;

  // The rows of an entry of the latest delta as its file holds them (key columns, sequence, kind, values), changed and written again under
  // the same name; the manifest's size follows, and nothing else.
  using EditRowsFunction = std::function<std::shared_ptr<arrow::RecordBatch>(const arrow::RecordBatch&)>;
  void RewriteRows(size_t entry, const EditRowsFunction& edit) const;

 private:
  void WriteKeyed() const;
  void WriteAppend() const;
  void EditManifest(int64_t id, bool changelog, const EditEntriesFunction& edit) const;

  std::filesystem::path folder_;  // removed at the end
  std::string path_;
};

}  // namespace headrace
