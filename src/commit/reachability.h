// Which files a table still needs: everything that can be reached from a set of roots. Whatever deletes files asks here first.
//
// A root is a snapshot file and what is kept of it: its rows (base and delta), its changes, or both. Live snapshots keep both, tags their
// rows, long-lived changelogs their changes; branches have roots of all three kinds. Consumers keep no files of their own: they keep
// snapshots and changelogs from ending (expiry.h). If anything that a root needs cannot be read, there is an error and no answer: a set
// that lacks something must never be taken for the whole. Functions of the store, thread-safe.
// Source: SnapshotDeletion, TagDeletion, ChangelogDeletion, OrphanFilesClean.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "catalog/tags.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

struct ReachRoot {
  std::string what;  // "snapshot 7", "tag v1", "tag v1 of branch dev", for messages
  Snapshot snapshot;
  bool rows = false;     // its live files can be read
  bool changes = false;  // what it changed can be read
};

struct ReachableFiles {
  std::unordered_set<std::string> data;        // full paths of data and changelog files, extra files included
  std::unordered_set<std::string> manifest;    // names in manifest/: manifests, their lists, index manifests
  std::unordered_set<std::string> index;       // full paths
  std::unordered_set<std::string> statistics;  // names in statistics/
};

enum class ReachDepth {
  kMetadata,  // `data` stays empty: manifests are named, not opened
  kData,
};

// Each manifest is read once, however many roots name it.
Result<ReachableFiles> FindReachable(const Table& table, const std::vector<ReachRoot>& roots,
                                     ReachDepth depth);

// Every root of the table: all of its snapshots, long-lived changelogs and tags, and those of its branches.
Result<std::vector<ReachRoot>> ListAllRoots(const Table& table);

// The roots that tags and branches are.
std::vector<ReachRoot> RootsOf(const std::vector<NamedTag>& tags, const std::string& of_branch = "");
std::vector<ReachRoot> RootsOf(const std::vector<BranchHistory>& branches);

// A data file and what lies beside it.
Result<std::vector<std::string>> PathsOf(const Table& table, const ManifestEntry& entry);
Result<std::string> IndexPath(const Table& table, const IndexManifestEntry& entry);

}  // namespace headrace
