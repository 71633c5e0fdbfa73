// Another engine's writer that publishes as Java Paimon does on a local disk: by a temporary file, a look, and a rename that replaces.
#include "commit/settle.h"

#include <cstdlib>
#include <iostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/manifest_writer.h"
#include "commit/test_changes.h"
#include "io/fault_store.h"

namespace headrace {
namespace {

using testing::ChangeOf;
using testing::CommitOf;
using testing::EntryOf;
using testing::MakeTestTable;
using testing::Must;
using testing::Reopened;

using Names = std::multiset<std::string>;

Names NamesOf(const std::vector<ManifestEntry>& entries) {
  Names names;
  for (const ManifestEntry& entry : entries) names.insert(entry.file.name);
  return names;
}

// One commit in its steps, as the other engine takes them. It tries once and gives up when it loses.
class Renamer {
 public:
  explicit Renamer(const Table& table) : table_(table) {}

  // Reads the newest snapshot, writes manifests, looks for the first time, writes the temporary file, and looks for the last time.
  void LookAndPrepare() {
    const auto latest = Must(ReadLatestSnapshot(table_));
    ManifestWriter writer(table_);
    std::vector<ManifestFileMeta> base;
    if (latest.has_value()) {
      base = Must(ReadManifestList(table_, latest->base_manifest_list));
      const auto delta = Must(ReadManifestList(table_, latest->delta_manifest_list));
      base.insert(base.end(), delta.begin(), delta.end());
    }
    Snapshot snapshot;
    snapshot.id = SnapshotId(latest.has_value() ? latest->id.value + 1 : 1);
    snapshot.base_manifest_list = Must(writer.WriteList(base)).name;
    const auto delta = Must(writer.WriteManifests({EntryOf({.name = "javas"}, 1)}));
    snapshot.delta_manifest_list = Must(writer.WriteList(delta)).name;
    snapshot.commit_user = "java";
    snapshot.commit_identifier = 1;
    snapshot.total_record_count = 10 + (latest.has_value() ? *latest->total_record_count : 0);
    path_ = SnapshotPath(table_, snapshot.id);
    temporary_ = table_.path + "/snapshot/.snapshot-" + std::to_string(snapshot.id.value) + ".0-0-0.tmp";
    ASSERT_TRUE(table_.store->Replace(temporary_, SerializeSnapshot(snapshot)).ok());
    lost_ = Must(table_.store->Stat(path_)).has_value();
    if (lost_) (void)table_.store->Delete(temporary_);
  }

  void Rename() {
    if (lost_ || path_.empty() || committed_) return;
    ASSERT_TRUE(table_.store->Replace(path_, Must(table_.store->ReadAll(temporary_))).ok());
    ASSERT_TRUE(table_.store->Delete(temporary_).ok());
    committed_ = true;
  }

  bool committed() const { return committed_; }

 private:
  const Table& table_;
  std::string path_;
  std::string temporary_;
  bool lost_ = false;
  bool committed_ = false;
};

// Each snapshot is what the one before it was, and what it says that it added.
void CheckChain(const Table& table) {
  Names before;
  for (const SnapshotId id : Must(ListSnapshotIds(table))) {
    const Snapshot snapshot = Must(ReadSnapshot(table, id));
    Names expected = before;
    expected.merge(NamesOf(Must(DeltaEntries(table, snapshot))));
    before = NamesOf(Must(LiveFiles(table, snapshot)));
    ASSERT_EQ(before, expected) << "snapshot " << id;
  }
}

// Two headrace writers commit in turn; the other engine looks before operation `look` of theirs and renames `pause` operations later.
// False when there is no such operation.
bool RunOnce(int64_t look, int64_t pause) {
  auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}, {"manifest.merge-min-count", "3"}});
  const auto faults = std::make_shared<FaultStore>(made.store);
  const Table table = Reopened(made.table, faults);
  Renamer java(made.table);
  int64_t operations = 0;
  faults->SetHook([&](StoreOperation, const std::string&) {
    const int64_t number = operations++;
    if (number == look) java.LookAndPrepare();
    if (number == look + pause) java.Rename();
  });
  Names expected;
  const auto commit = [&](const std::string& user, int64_t identifier) {
    const std::string name = user + std::to_string(identifier);
    const int64_t first = 100 * static_cast<int64_t>(expected.size());
    PreparedCommit prepared =
        CommitOf(user, identifier,
                 {ChangeOf(0, {{.name = name, .first_sequence = first, .last_sequence = first + 9}})});
    prepared.properties = {{"headrace.position." + user, std::to_string(identifier)}};
    const auto done = Commit(table, prepared);
    ASSERT_TRUE(done.ok()) << done.status();
    expected.insert(name);
  };
  commit("one", 1);
  commit("two", 1);
  commit("one", 2);
  const bool met = operations > look + pause;
  if (met) {
    if (java.committed()) expected.insert("javas");
    CheckChain(made.table);
    EXPECT_EQ(NamesOf(Must(LiveFiles(made.table, *Must(ReadLatestSnapshot(made.table))))), expected);
    const auto carried = Must(CarriedProperties(made.table));
    EXPECT_EQ(carried.at("headrace.position.one"), "2");
    EXPECT_EQ(carried.at("headrace.position.two"), "1");
  }
  return met;
}

TEST(RenamingWriters, LoseNothingAndNothingIsLostToThemAtAnyInterleaving) {
  int64_t runs = 0;
  std::vector<int64_t> pauses = {0, 1, 3, 9, 40};
  if (std::getenv("HEADRACE_CRASH_ALL") != nullptr)
    pauses = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 20, 40, 80};
  for (const int64_t pause : pauses) {
    int64_t look = 0;
    for (; RunOnce(look, pause); ++look, ++runs) {
      if (::testing::Test::HasFailure()) FAIL() << "look at operation " << look << ", pause " << pause;
    }
  }
  std::cout << runs << " interleavings" << std::endl;
  EXPECT_GT(runs, 300);
}

class Settling : public ::testing::Test {
 protected:
  int64_t WaitedMs() const { return made_.clock->NowMs() - 1'700'000'000'000; }
  Status PutTemporary(const std::string& name) {
    return made_.store->Replace(made_.table.path + "/snapshot/" + name, "{}");
  }

  testing::TestTable made_ =
      MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}, {},
                    std::make_shared<MemoryStore>(std::make_shared<ManualClock>(1'700'000'000'000)));
};

TEST_F(Settling, WaitsForNothingWhereNobodyIsAboutToRename) {
  ASSERT_TRUE(PutTemporary(".snapshot-2.0-0.tmp").ok());           // of another snapshot
  ASSERT_TRUE(PutTemporary(".headrace.snapshot-1.0-0.tmp").ok());  // of a killed headrace
  Must(Commit(made_.table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}}, {}, {}, 1)})));
  EXPECT_EQ(WaitedMs(), 0);
}

TEST_F(Settling, GivesAWriterThatWasKilledUpAfterAWhileAndIsNotHeldUpByItAgain) {
  ASSERT_TRUE(PutTemporary(".snapshot-1.0-0.tmp").ok());
  Must(Commit(made_.table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}}, {}, {}, 1)})));
  EXPECT_GE(WaitedMs(), kMostWaitMs);
  EXPECT_LE(WaitedMs(), kMostWaitMs + 100);
  const int64_t before = WaitedMs();
  Must(
      Commit(made_.table, CommitOf("u", 2, {ChangeOf(0, {{.name = "b", .first_sequence = 10}}, {}, {}, 1)})));
  EXPECT_EQ(WaitedMs(), before) << "its file is old by now";
}

TEST_F(Settling, AClockThatStepsBackMakesNoWaitAndNoCommitEndless) {
  ASSERT_TRUE(PutTemporary(".snapshot-1.0-0.tmp").ok());
  const auto faults = std::make_shared<FaultStore>(made_.store);
  int64_t looks = 0;
  faults->SetHook([&](StoreOperation operation, const std::string&) {
    if (operation != StoreOperation::kStat) return;
    made_.clock->Advance(-60'000);
    ++looks;
  });
  const Table table = Reopened(made_.table, faults);
  const auto made = Must(Commit(table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}}, {}, {}, 1)})));
  EXPECT_EQ(made[0].id, SnapshotId(1));
  EXPECT_GT(looks, 100);
  EXPECT_LT(looks, 2000);
}

TEST_F(Settling, ASnapshotReplacedAfterOthersWereBuiltOnItIsToldAndNotCommittedTwice) {
  const Table& table = made_.table;
  const Snapshot ours = Must(Commit(table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}}, {}, {}, 1)})))[0];
  EXPECT_FALSE(Must(IsBuiltUpon(table, ours)));
  Must(Commit(table, CommitOf("v", 1, {ChangeOf(0, {{.name = "b", .first_sequence = 10}}, {}, {}, 1)})));
  EXPECT_TRUE(Must(StaysThere(table, ours)));
  Snapshot javas = ours;
  javas.uuid.reset();
  javas.commit_user = "java";
  const std::string none = Must(EncodeManifestList({}, {}));
  ASSERT_TRUE(made_.store->Replace(ManifestPath(table, "manifest-list-java-0"), none).ok());
  javas.delta_manifest_list = "manifest-list-java-0";
  javas.delta_manifest_list_bytes = none.size();
  ASSERT_TRUE(made_.store->Replace(SnapshotPath(table, ours.id), SerializeSnapshot(javas)).ok());
  EXPECT_FALSE(Must(StaysThere(table, ours)));
  EXPECT_TRUE(Must(IsBuiltUpon(table, ours)));
  const Status told = ReplacedUnderneath(table, ours);
  EXPECT_TRUE(IsKind(told, ErrorKind::kCorruption));
  EXPECT_THAT(told.message(), ::testing::HasSubstr("java"));
}

}  // namespace
}  // namespace headrace
