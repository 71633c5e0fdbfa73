// For tests of expiry: a table whose data files are made by name alone, and the comparison of the files that are there with those that are
// reachable.
//
// Included by tests alone.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/expiry.h"
#include "commit/reachability.h"
#include "commit/test_changes.h"

namespace headrace::testing {

constexpr int64_t kMinute = 60'000;
using Paths = std::set<std::string>;

inline Paths AllFiles(Store* store, const std::string& folder) {
  Paths paths;
  for (const FileInfo& file : Must(store->List(folder))) {
    if (!file.is_directory)
      paths.insert(file.path);
    else
      paths.merge(AllFiles(store, file.path));
  }
  return paths;
}

// Everything below the table's folder that expiry may delete.
inline Paths ExpirableFiles(const Table& table) {
  Paths paths;
  for (const std::string& path : AllFiles(table.store.get(), table.path)) {
    const std::string relative = path.substr(table.path.size() + 1);
    const bool expirable = relative.starts_with("bucket-") || relative.starts_with("manifest/") ||
                           relative.starts_with("index/") || relative.starts_with("statistics/") ||
                           relative.starts_with("dt=");
    if (expirable) paths.insert(path);
  }
  return paths;
}

inline Paths ReachablePaths(const Table& table) {
  const ReachableFiles files = Must(FindReachable(table, Must(ListAllRoots(table)), ReachDepth::kData));
  Paths paths(files.data.begin(), files.data.end());
  for (const std::string& name : files.manifest) paths.insert(ManifestPath(table, name));
  paths.insert(files.index.begin(), files.index.end());
  for (const std::string& name : files.statistics) paths.insert(table.path + "/statistics/" + name);
  return paths;
}

// With producer none a changelog's delta may take away files that only ended changelogs brought: they go when it goes.
inline Paths LeftToChangelogs(const Table& table) {
  Paths paths;
  if (!table.options.retention.changelogs_outlive()) return paths;
  std::vector<SnapshotId> ids = Must(ListChangelogIds(table));
  ids.push_back(Must(ListSnapshotIds(table)).front());  // whose changelog will take them away
  for (const SnapshotId id : ids) {
    const Snapshot changelog = *Must(FindSnapshotOrChangelog(table, id));
    const auto manifests = ReadManifestList(table, changelog.delta_manifest_list);
    if (!manifests.ok()) continue;
    for (const ManifestFileMeta& manifest : *manifests)
      for (const ManifestEntry& entry : Must(ReadManifest(table, manifest)))
        if (entry.kind == EntryKind::kDelete) paths.insert(Must(table.PathOf(entry)));
  }
  return paths;
}

inline void ExpectExactlyWhatIsReachable(const Table& table) {
  const Paths there = ExpirableFiles(table);
  const Paths reachable = ReachablePaths(table);
  Paths missing, beyond;
  std::set_difference(reachable.begin(), reachable.end(), there.begin(), there.end(),
                      std::inserter(missing, missing.end()));
  std::set_difference(there.begin(), there.end(), reachable.begin(), reachable.end(),
                      std::inserter(beyond, beyond.end()));
  EXPECT_THAT(missing, ::testing::IsEmpty()) << "reachable files are gone";
  EXPECT_THAT(beyond, ::testing::IsSubsetOf(LeftToChangelogs(table))) << "unreachable files are left";
}

inline void Put(const Table& table, const std::string& relative, const std::string& bytes = "x") {
  auto stream = Must(table.store->OpenForWrite(table.path + "/" + relative));
  ASSERT_TRUE(stream->Write(bytes).ok());
  ASSERT_TRUE(stream->Close().ok());
}

// As Java's createTag: the snapshot's own JSON under another name.
inline void SetTag(const Table& table, const std::string& name, int64_t id) {
  Put(table, "tag/tag-" + name, Must(table.store->ReadAll(SnapshotPath(table, SnapshotId(id)))));
}

inline void SetConsumer(const Table& table, const std::string& id, int64_t next) {
  ASSERT_TRUE(
      table.store->Replace(ConsumerPath(table, id), "{\"nextSnapshot\" : " + std::to_string(next) + "}")
          .ok());
}

// A table of metadata whose data files are made by name alone; its clock moves a minute a commit.
class Expiring : public ::testing::Test {
 protected:
  void Make(std::map<std::string, std::string> options, std::shared_ptr<Store> store = nullptr) {
    options.emplace("bucket", "2");
    made_ = MakeTestTable("id INT, v INT", {"id"}, std::move(options), {}, std::move(store));
  }
  const Table& table() const { return made_.table; }

  // One new level-0 file, and its changelog file where the table has a producer.
  void Append(const std::string& name) {
    BucketChange change =
        ChangeOf(0, {{.name = name, .first_sequence = 10 * sequence_, .last_sequence = 10 * sequence_ + 9}});
    change.change.append.added[0].source = FileSource::kAppend;
    Put(table(), "bucket-0/" + name);
    if (table().options.changelog_producer != ChangelogProducer::kNone) {
      change.change.append.changelog = change.change.append.added;
      change.change.append.changelog[0].name = "changelog-" + name;
      Put(table(), "bucket-0/changelog-" + name);
    }
    levels_[name] = change.change.append.added[0];
    CommitChange(std::move(change));
  }

  // All files into one.
  void CompactInto(const std::string& name) {
    BucketChange change = ChangeOf(0, {}, {}, {{.name = name, .level = 5}});
    change.change.compact.added[0].source = FileSource::kCompact;
    for (const auto& [old, file] : levels_) change.change.compact.removed.push_back(file);
    levels_ = {{name, change.change.compact.added[0]}};
    Put(table(), "bucket-0/" + name);
    CommitChange(std::move(change));
  }

  // The one file moves to the deepest level under its own name.
  void Upgrade(const std::string& name) {
    BucketChange change = ChangeOf(0, {});
    change.change.compact.removed = {levels_.at(name)};
    levels_.at(name).level = Level(5);
    change.change.compact.added = {levels_.at(name)};
    CommitChange(std::move(change));
  }

  bool CanUpgrade() const {
    return !levels_.empty() && std::all_of(levels_.begin(), levels_.end(),
                                           [](const auto& file) { return file.second.level == Level(0); });
  }

  void CommitChange(BucketChange change) {
    made_.clock->Advance(kMinute);
    PreparedCommit prepared = CommitOf("u", ++identifier_, {std::move(change)});
    Must(Commit(table(), prepared));
    ++sequence_;
  }

  ExpiryPlan ExpireNow() { return Must(Expire(table(), {.retention = table().options.retention})); }
  Status TryExpire() { return Expire(table(), {.retention = table().options.retention}).status(); }

  std::vector<int64_t> Snapshots() const {
    std::vector<int64_t> ids;
    for (const SnapshotId id : Must(ListSnapshotIds(table()))) ids.push_back(id.value);
    return ids;
  }
  std::vector<int64_t> Changelogs() const {
    std::vector<int64_t> ids;
    for (const SnapshotId id : Must(ListChangelogIds(table()))) ids.push_back(id.value);
    return ids;
  }
  bool Has(const std::string& relative) const {
    return Must(table().store->Stat(table().path + "/" + relative)).has_value();
  }

  testing::TestTable made_;
  std::map<std::string, DataFileMeta> levels_;
  int64_t identifier_ = 0;
  int64_t sequence_ = 0;
};

inline const std::map<std::string, std::string> kKeepTwo = {{"snapshot.num-retained.min", "2"},
                                                            {"snapshot.num-retained.max", "2"}};

inline std::map<std::string, std::string> With(std::map<std::string, std::string> options,
                                               const std::map<std::string, std::string>& more) {
  for (const auto& [key, value] : more) options[key] = value;
  return options;
}

// The same files below `folder`, in memory.
inline std::shared_ptr<MemoryStore> CopyOf(Store* store, const std::string& folder = "/") {
  auto copy = std::make_shared<MemoryStore>();
  for (const std::string& path : AllFiles(store, folder)) {
    auto stream = Must(copy->OpenForWrite(path));
    EXPECT_TRUE(stream->Write(Must(store->ReadAll(path))).ok() && stream->Close().ok());
  }
  return copy;
}

}  // namespace headrace::testing
