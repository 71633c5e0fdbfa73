#include "commit/manifest_merge.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "commit/test_changes.h"
#include "io/local_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using testing::EntryOf;
using ::testing::IsEmpty;
using testing::MakeTestTable;
using testing::Must;
namespace fs = std::filesystem;

std::vector<ManifestFileMeta> Sized(const std::vector<int64_t>& sizes) {
  std::vector<ManifestFileMeta> manifests;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ManifestFileMeta manifest;
    manifest.name = "m" + std::to_string(i);
    manifest.size_bytes = sizes[i];
    manifests.push_back(manifest);
  }
  return manifests;
}

std::string Shape(const std::vector<std::vector<ManifestFileMeta>>& groups) {
  std::string shape;
  for (const auto& group : groups) shape += (shape.empty() ? "" : " ") + std::to_string(group.size());
  return shape;
}

TEST(MinorMerge, TakesNeighboursTogetherWhenTheyReachTheTarget) {
  EXPECT_EQ(Shape(PlanMinorMerge(Sized({40, 40, 40, 100, 10}), 100, 30)), "3 1 1");
  EXPECT_EQ(Shape(PlanMinorMerge(Sized({60, 100, 10, 10}), 100, 30)), "2 1 1");
}

TEST(MinorMerge, TakesTheRestTogetherOnlyWhenItIsLong) {
  EXPECT_EQ(Shape(PlanMinorMerge(Sized({1, 1, 1, 1}), 100, 5)), "1 1 1 1");
  EXPECT_EQ(Shape(PlanMinorMerge(Sized({1, 1, 1, 1, 1}), 100, 5)), "5");
  EXPECT_EQ(Shape(PlanMinorMerge({}, 100, 5)), "");
}

TEST(EntryMerge, AddAndDeleteVanishTogetherAndTheRestKeepsItsOrder) {
  const auto merged = Must(MergeEntries(
      {EntryOf({.name = "a"}), EntryOf({.name = "z"}, 0, EntryKind::kDelete), EntryOf({.name = "b"}),
       EntryOf({.name = "a"}, 0, EntryKind::kDelete), EntryOf({.name = "c"})},
      "m"));
  std::vector<std::string> names;
  for (const ManifestEntry& entry : merged)
    names.push_back((entry.kind == EntryKind::kAdd ? "+" : "-") + entry.file.name);
  EXPECT_THAT(names, ElementsAre("-z", "+b", "+c"));
}

TEST(EntryMerge, AFileUnderAnotherLevelIsAnotherFile) {
  const auto merged =
      Must(MergeEntries({EntryOf({.name = "a"}), EntryOf({.name = "a"}, 0, EntryKind::kDelete),
                         EntryOf({.name = "a", .level = 5})},
                        "m"));
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].file.level, Level(5));
}

TEST(EntryMerge, AFileAddedOrDeletedTwiceIsCorruption) {
  EXPECT_TRUE(IsKind(MergeEntries({EntryOf({.name = "a"}), EntryOf({.name = "a"})}, "m").status(),
                     ErrorKind::kCorruption));
  EXPECT_TRUE(IsKind(
      MergeEntries(
          {EntryOf({.name = "a"}, 0, EntryKind::kDelete), EntryOf({.name = "a"}, 0, EntryKind::kDelete)}, "m")
          .status(),
      ErrorKind::kCorruption));
}

// Everything under a fixture table's folder, in a store that can be written.
std::shared_ptr<MemoryStore> CopyOf(const fs::path& folder, const std::string& as) {
  auto store = std::make_shared<MemoryStore>();
  LocalStore disk;
  for (const char* part : {"schema", "snapshot", "manifest"})
    for (const auto& file : fs::directory_iterator(folder / part)) {
      const std::string name = file.path().filename();
      const Status put =
          store->Replace(as + "/" + part + "/" + name, Must(disk.ReadAll(file.path().string())));
      if (!put.ok()) put.Abort();
    }
  return store;
}

// Whatever its options: they do not matter to manifests.
Table OpenCopy(const fs::path& folder) {
  Table table;
  table.store = CopyOf(folder, "/t");
  table.clock = std::make_shared<ManualClock>();
  table.path = table.name = "/t";
  table.schema = std::make_shared<const TableSchema>(Must(ReadSchema(table.store.get(), "/t", SchemaId(0))));
  table.options = ParseTableOptions(*table.schema, Access::kRead).ValueOr(TableOptions{});
  return table;
}

std::string Describe(const ManifestFileMeta& manifest) {
  const auto text = [](std::optional<int32_t> bound) {
    return bound.has_value() ? std::to_string(*bound) : "?";
  };
  return "+" + std::to_string(manifest.added_files) + " -" + std::to_string(manifest.deleted_files) +
         " schema " + std::to_string(manifest.schema_id.value) + " buckets " + text(manifest.min_bucket) +
         "-" + text(manifest.max_bucket) + " levels " + text(manifest.min_level) + "-" +
         text(manifest.max_level) + " partitions " + SerializeBinaryRow(manifest.partition_stats.min_values) +
         SerializeBinaryRow(manifest.partition_stats.max_values);
}

std::multiset<std::string> LiveNames(const Table& table, const std::vector<ManifestFileMeta>& manifests) {
  std::multiset<std::string> names;
  std::vector<ManifestEntry> all;
  for (const ManifestFileMeta& manifest : manifests) {
    auto entries = Must(ReadManifest(table, manifest));
    all.insert(all.end(), entries.begin(), entries.end());
  }
  for (const ManifestEntry& entry : Must(MergeEntries(all, "all"))) names.insert(IdentityOf(entry));
  return names;
}

// Java's base list of each snapshot is what it made of the lists of the one before.
TEST(MergingManifests, GivesTheListsThatJavaMade) {
  int merges = 0;
  for (const char* fixture :
       {"manifests/warehouse/peer.db/merging", "manifests/warehouse/peer.db/zstd",
        "lsm-partial/warehouse/peer.db/t", "lsm-many-runs/warehouse/peer.db/t",
        "partitioned/warehouse/peer.db/three_levels", "changelog-input-random/warehouse/peer.db/events",
        "changelog-lookup-random/warehouse/peer.db/events"}) {
    const Table table = OpenCopy(fs::path(HEADRACE_FIXTURES) / fixture);
    for (const SnapshotId id : Must(ListSnapshotIds(table))) {
      const auto before = Must(FindSnapshot(table, SnapshotId(id.value - 1)));
      if (!before.has_value()) continue;
      SCOPED_TRACE(std::string(fixture) + " snapshot " + std::to_string(id.value));
      auto manifests = Must(ReadManifestList(table, before->base_manifest_list));
      for (const ManifestFileMeta& manifest : Must(ReadManifestList(table, before->delta_manifest_list)))
        manifests.push_back(manifest);
      ManifestWriter writer(table);
      const auto merged = Must(MergeManifests(table, manifests, &writer));
      const auto javas = Must(ReadManifestList(table, Must(ReadSnapshot(table, id)).base_manifest_list));
      ASSERT_EQ(merged.size(), javas.size());
      for (size_t i = 0; i < merged.size(); ++i)
        EXPECT_EQ(Describe(merged[i]), Describe(javas[i])) << "manifest " << i;
      EXPECT_EQ(LiveNames(table, merged), LiveNames(table, manifests));
      if (merged != manifests) ++merges;
    }
  }
  EXPECT_EQ(merges, 1);  // thirty small manifests became one
}

TEST(MergingManifests, ARewriteOfEverythingLeavesNoDeletionAndRollsAtTheTarget) {
  auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}, {"manifest.compression", "null"}});
  made.table.options.manifest_target_bytes = 100'000;
  made.table.options.manifest_full_compaction_bytes = 10'000;
  ManifestWriter writer(made.table);
  std::vector<ManifestFileMeta> manifests;
  for (int i = 0; i < 40; ++i) {
    std::vector<ManifestEntry> entries;
    for (int j = 0; j < 100; ++j)
      entries.push_back(EntryOf({.name = "data-" + std::to_string(i) + "-" + std::to_string(j)}));
    if (i > 0)
      entries.push_back(EntryOf({.name = "data-" + std::to_string(i - 1) + "-7"}, 0, EntryKind::kDelete));
    for (ManifestFileMeta& manifest : Must(writer.WriteManifests(entries)))
      manifests.push_back(std::move(manifest));
  }
  const auto merged = Must(MergeManifests(made.table, manifests, &writer));
  ASSERT_GT(merged.size(), 2u);
  int64_t added = 0;
  for (size_t i = 0; i < merged.size(); ++i) {
    EXPECT_EQ(merged[i].deleted_files, 0);
    added += merged[i].added_files;
    if (i + 1 == merged.size()) continue;
    EXPECT_GE(merged[i].size_bytes, 100'000);
    EXPECT_LT(merged[i].size_bytes, 200'000);
  }
  EXPECT_EQ(added, 40 * 100 - 39);
  EXPECT_EQ(LiveNames(made.table, merged), LiveNames(made.table, manifests));
  // What was rolled is big enough to be left alone: only the small rest could change, and alone it does not.
  EXPECT_EQ(Must(MergeManifests(made.table, merged, &writer)).size(), merged.size());
}

TEST(ManifestFiles, WhatAnAttemptWroteCanBeTakenBack) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}});
  ManifestWriter writer(made.table);
  const auto manifests = Must(writer.WriteManifests({EntryOf({.name = "a"})}));
  Must(writer.WriteList(manifests));
  EXPECT_EQ(Must(made.store->List(made.table.path + "/manifest")).size(), 2u);
  EXPECT_EQ(
      manifests[0].size_bytes,
      static_cast<int64_t>(Must(made.store->ReadAll(ManifestPath(made.table, manifests[0].name))).size()));
  writer.DeleteWritten();
  EXPECT_THAT(Must(made.store->List(made.table.path + "/manifest")), IsEmpty());
}

}  // namespace
}  // namespace headrace
