#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/test_changes.h"
#include "io/local_store.h"

namespace headrace {
namespace {

using testing::ChangeOf;
using testing::CommitOf;
using testing::FileOf;
using testing::MakeTestTable;
using testing::Must;

int64_t LargestSequence(const std::vector<ManifestEntry>& live) {
  int64_t largest = -1;
  for (const ManifestEntry& entry : live) largest = std::max(largest, entry.file.max_sequence);
  return largest;
}

int64_t LargestSequence(const Table& table, SnapshotId id) {
  return id.value == 0 ? -1 : LargestSequence(Must(LiveFiles(table, Must(ReadSnapshot(table, id)))));
}

// Eight writers append to one bucket and renumber when they lose, as sessions do. Every acknowledged file is there once.
void RaceOn(std::shared_ptr<Store> store, const std::string& warehouse, int commits) {
  constexpr int kThreads = 8;
  Table table = MakeTestTable("id INT, v INT", {"id"},
                              {{"bucket", "2"},
                               {"commit.max-retries", "1000"},
                               {"commit.max-retry-wait", "4 ms"},
                               {"manifest.merge-min-count", "5"}},
                              {}, store, warehouse)
                    .table;
  table.clock = std::make_shared<SystemClock>();
  std::atomic<int> acknowledged = 0, renumbered = 0;
  const auto write = [&](int t) {
    CommitHooks hooks;
    hooks.resequence = [&](std::vector<BucketChange> changes,
                           const std::vector<ManifestEntry>& live) -> Result<std::vector<BucketChange>> {
      ++renumbered;
      const int64_t largest = LargestSequence(live);
      for (DataFileMeta& file : changes[0].change.append.added) {
        file.min_sequence = largest + 1;
        file.max_sequence = largest + 10;
      }
      return changes;
    };
    SnapshotId base(0);
    for (int i = 0; i < commits; ++i) {
      const std::string name = "f-" + std::to_string(t) + "-" + std::to_string(i);
      const int64_t next = LargestSequence(table, base) + 1;
      PreparedCommit prepared =
          CommitOf("user-" + std::to_string(t), i,
                   {ChangeOf(0, {{.name = name, .first_sequence = next, .last_sequence = next + 9}})});
      prepared.base_snapshot = base;
      const auto made = Commit(table, prepared, hooks);
      ASSERT_TRUE(made.ok()) << made.status();
      base = made->back().id;
      ++acknowledged;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(write, t);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(acknowledged, kThreads * commits);
  EXPECT_GT(renumbered, 0);
  const auto ids = Must(ListSnapshotIds(table));
  ASSERT_EQ(ids.size(), static_cast<size_t>(kThreads * commits));
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i].value, static_cast<int64_t>(i + 1));
  const auto live = Must(LiveFiles(table, *Must(ReadLatestSnapshot(table))));
  std::set<std::string> names;
  std::set<int64_t> sequences;
  for (const ManifestEntry& entry : live) {
    names.insert(entry.file.name);
    sequences.insert(entry.file.min_sequence);
  }
  EXPECT_EQ(live.size(), static_cast<size_t>(kThreads * commits));
  EXPECT_EQ(names.size(), live.size());
  EXPECT_EQ(sequences.size(), live.size()) << "two files share sequence numbers";
}

TEST(RacingWriters, LoseNothingInMemory) { RaceOn(std::make_shared<MemoryStore>(), "/w", 20); }

TEST(RacingWriters, LoseNothingOnTheLocalDisk) {
  const auto folder = std::filesystem::temp_directory_path() / ("headrace-race-" + NewUuid());
  RaceOn(std::make_shared<LocalStore>(LocalStoreOptions{.sync = false}), folder.string(), 5);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace headrace
