// Given the files that Java had, Headrace picks the compaction that Java made: the same files, and when Java made none, none.
//
// The picker is pure, so Java's own file sizes can be fed to it; close calls come out the same too.
#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "io/local_store.h"
#include "lsm/compaction_picker.h"

namespace headrace {
namespace {

using testing::Must;
namespace fs = std::filesystem;
using BucketFilesMap = std::map<std::pair<BinaryRow, BucketId>, std::map<std::string, DataFileMeta>>;

std::string FileKey(const DataFileMeta& file) { return file.name + " L" + std::to_string(file.level.value); }

void Apply(const std::vector<ManifestEntry>& delta, BucketFilesMap* live) {
  for (const ManifestEntry& entry : delta) {
    auto& files = (*live)[{entry.partition, entry.bucket}];
    if (entry.kind == EntryKind::kDelete) files.erase(FileKey(entry.file));
    if (entry.kind == EntryKind::kAdd) files.emplace(FileKey(entry.file), entry.file);
  }
}

std::set<std::string> Pick(const Table& table, const std::map<std::string, DataFileMeta>& files) {
  std::vector<DataFileMeta> metas;
  for (const auto& [key, file] : files) metas.push_back(file);
  const KeyOrder order = Must(KeyOrder::OfKey(table.schema->TypesOf(table.schema->TrimmedPrimaryKeys())));
  const auto plan = PickCompaction(Must(Levels::Make(order, metas, table.options.num_levels)),
                                   CompactionPolicyOf(table.options, 0));
  std::set<std::string> picked;
  if (plan.has_value())
    for (const TreeFilePtr& file : plan->files) picked.insert(FileKey(file->meta));
  return picked;
}

TEST(Picking, TakesTheFilesThatJavaTook) {
  int compactions = 0, none = 0;
  for (const char* name :
       {"changelog-input-random/events", "lsm-partial/t", "lsm-many-runs/t", "manifests/merging",
        "manifests/zstd", "dedup-sequence/ascending", "dedup-sequence/two_fields",
        "dedup-sequence/descending", "dedup-sequence/no_sequence", "customer-8821-none/customers",
        "customer-8821-input/customers"}) {
    SCOPED_TRACE(name);
    const std::string text = name;
    const fs::path folder = fs::path(HEADRACE_FIXTURES) / text.substr(0, text.find('/')) /
                            "warehouse/peer.db" / text.substr(text.find('/') + 1);
    const Table table = Must(OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<ManualClock>(),
                                         folder.string(), text, Access::kRead));
    BucketFilesMap live;
    for (const SnapshotId id : Must(ListSnapshotIds(table))) {
      const Snapshot snapshot = Must(ReadSnapshot(table, id));
      SCOPED_TRACE("snapshot " + std::to_string(id.value));
      const auto delta = Must(DeltaEntries(table, snapshot));
      Apply(delta, &live);
      if (snapshot.commit_kind != CommitKind::kAppend || table.options.write_only) continue;
      // Each bucket that got files was looked at; what was taken is in the COMPACT snapshot of the same commit, if there is one.
      const auto next = Must(FindSnapshot(table, SnapshotId(id.value + 1)));
      std::map<std::pair<BinaryRow, BucketId>, std::set<std::string>> taken;
      if (next.has_value() && next->commit_kind == CommitKind::kCompact &&
          next->commit_identifier == snapshot.commit_identifier)
        for (const ManifestEntry& entry : Must(DeltaEntries(table, *next)))
          if (entry.kind == EntryKind::kDelete)
            taken[{entry.partition, entry.bucket}].insert(FileKey(entry.file));
      std::set<std::pair<BinaryRow, BucketId>> changed;
      for (const ManifestEntry& entry : delta) changed.insert({entry.partition, entry.bucket});
      for (const auto& bucket : changed) {
        const std::set<std::string> picked = Pick(table, live[bucket]);
        EXPECT_EQ(picked, taken[bucket]) << "bucket " << bucket.second.value;
        ++(picked.empty() ? none : compactions);
      }
    }
  }
  EXPECT_GT(compactions, 15);
  EXPECT_GT(none, 60);
}

}  // namespace
}  // namespace headrace
