// Looking into states: manifests, the files they fold to, buckets and levels, indexes; rows where they are asked for.
//
// One StateChecker looks into the states of one root, the newest snapshot first, and remembers what it has checked: what is wrong with a
// manifest or a file that many snapshots share is told once, for the newest of them, which does not expire meanwhile. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "file/data_file_writer.h"
#include "format/manifest.h"
#include "maintain/check_run.h"

namespace headrace {

// Data and changelog files, one by one.
class FileChecker {
 public:
  FileChecker(CheckRun* run, const Root* root) : run_(run), root_(root) {}

  // What the entry says, that the file is there, and its rows where they are asked for. Once for each file and what is said of it.
  void Check(const ManifestEntry& entry, FileRole role);

 private:
  // Nothing when the partition cannot be decoded, or the file lies outside the table.
  std::optional<std::string> PathOf(const ManifestEntry& entry);
  bool CheckFacts(const ManifestEntry& entry, const std::string& path);
  void CheckKeys(const ManifestEntry& entry, const std::string& path);
  void CheckKeyBucket(const ManifestEntry& entry, const std::string& path, const SchemaVersion& schema,
                      const BinaryRow& key);
  void CheckStats(const ManifestEntry& entry, const std::string& path);
  bool CheckSize(const ManifestEntry& entry, FileRole role, const std::string& path);
  void CheckExtraFiles(const ManifestEntry& entry, const std::string& path);

  CheckRun* run_;
  const Root* root_;
  std::unordered_set<size_t> checked_;  // hashes of entries
};

// The rows of one file against its manifest entry and its place. Precondition: the file's schema is among root.schemas.
void CheckRows(CheckRun* run, const Root& root, const ManifestEntry& entry, FileRole role,
               const std::string& path);

// What holds among the live files of one state: levels, bucket counts, names.
void CheckBuckets(CheckRun* run, const Root& root, const NamedState& state,
                  const std::vector<ManifestEntry>& live);

// The index manifest of a state and the files it names.
void CheckIndexes(CheckRun* run, const Root& root, const NamedState& state,
                  const std::vector<ManifestEntry>& live);

class StateChecker {
 public:
  StateChecker(CheckRun* run, const Root* root) : run_(run), root_(root), files_(run, root) {}

  void Check(const NamedState& state);

 private:
  struct Entries {
    bool complete = true;  // false: a list or manifest could not be read
    std::vector<ManifestEntry> entries;
  };
  struct Fold;

  void CheckData(const NamedState& state);
  void CheckChangelog(const NamedState& state);
  void CheckStatistics(const NamedState& state);
  Entries Read(const NamedState& state, const std::string& list, std::optional<int64_t> list_bytes);
  std::optional<std::vector<ManifestFileMeta>> ReadList(const NamedState& state, const std::string& list,
                                                        std::optional<int64_t> list_bytes);
  std::optional<std::vector<ManifestEntry>> ReadOne(const ManifestFileMeta& manifest,
                                                    const std::string& list_path);
  void CheckManifest(const ManifestFileMeta& manifest, const std::vector<ManifestEntry>& entries,
                     const std::string& path);
  void CheckPartitionStats(const ManifestFileMeta& manifest, const std::vector<ManifestEntry>& entries,
                           const std::string& path);
  void CheckFold(const NamedState& state, const Fold& fold, const Entries& delta);
  void ReferTo(const std::vector<ManifestEntry>& entries);
  void ReferToList(const std::string& list);

  CheckRun* run_;
  const Root* root_;
  FileChecker files_;
  std::unordered_set<size_t> checked_manifests_;  // hashes of a name and what a list says of it
  std::unordered_set<std::string> checked_lists_;
  // The snapshot looked at before this one: what it begins with must be what this one ends with.
  struct Next {
    SnapshotId id;
    std::string file;
    uint64_t base_live = 0;
  };
  std::optional<Next> next_;
};

}  // namespace headrace
