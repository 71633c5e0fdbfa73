#include "commit/commit.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "commit/test_changes.h"
#include "io/fault_store.h"

namespace headrace {
namespace {

using testing::ChangeOf;
using testing::CommitOf;
using ::testing::ElementsAre;
using testing::FileOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeTestTable;
using testing::Must;
using testing::Reopened;
using ::testing::SizeIs;

std::multiset<std::string> LiveNames(const Table& table) {
  std::multiset<std::string> names;
  const auto latest = Must(ReadLatestSnapshot(table));
  if (!latest.has_value()) return names;
  for (const ManifestEntry& entry : Must(LiveFiles(table, *latest))) names.insert(entry.file.name);
  return names;
}

std::vector<std::string> Kinds(const std::vector<Snapshot>& snapshots) {
  std::vector<std::string> kinds;
  for (const Snapshot& snapshot : snapshots) kinds.emplace_back(NameOf(snapshot.commit_kind));
  return kinds;
}

class Committing : public ::testing::Test {
 protected:
  testing::TestTable made_ = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}});
  const Table& table_ = made_.table;
};

TEST_F(Committing, TheFirstCommitMakesSnapshotOneWithAnEmptyBase) {
  const auto made = Must(Commit(table_, CommitOf("u", 7, {ChangeOf(0, {{.name = "a"}})})));
  ASSERT_THAT(made, SizeIs(1));
  const Snapshot& snapshot = made[0];
  EXPECT_EQ(snapshot, Must(ReadSnapshot(table_, SnapshotId(1))));
  EXPECT_EQ(snapshot.commit_kind, CommitKind::kAppend);
  EXPECT_EQ(snapshot.commit_user, "u");
  EXPECT_EQ(snapshot.commit_identifier, 7);
  EXPECT_EQ(snapshot.total_record_count, 10);
  EXPECT_EQ(snapshot.delta_record_count, 10);
  EXPECT_EQ(snapshot.changelog_record_count, 0);
  EXPECT_EQ(snapshot.changelog_manifest_list, std::nullopt);
  EXPECT_EQ(snapshot.time_millis, 1'700'000'000'000);
  EXPECT_EQ(snapshot.schema_id, SchemaId(0));
  EXPECT_EQ(snapshot.next_row_id, 0);
  EXPECT_TRUE(snapshot.uuid.has_value());
  EXPECT_THAT(Must(ReadManifestList(table_, snapshot.base_manifest_list)), IsEmpty());
  EXPECT_EQ(snapshot.base_manifest_list_bytes,
            static_cast<int64_t>(
                Must(table_.store->ReadAll(ManifestPath(table_, snapshot.base_manifest_list))).size()));
  EXPECT_EQ(Must(table_.store->ReadAll(table_.path + "/snapshot/LATEST")), "1");
}

TEST_F(Committing, RowsAndCompactionBecomeTwoSnapshotsUnderOneIdentifier) {
  const auto made = Must(
      Commit(table_, CommitOf("u", 1,
                              {ChangeOf(0, {{.name = "a"}, {.name = "b"}}, {{.name = "a"}, {.name = "b"}},
                                        {{.name = "c", .level = 5, .rows = 15}})})));
  EXPECT_THAT(Kinds(made), ElementsAre("APPEND", "COMPACT"));
  EXPECT_EQ(made[0].commit_identifier, made[1].commit_identifier);
  EXPECT_EQ(made[1].delta_record_count, -5);
  EXPECT_EQ(made[1].total_record_count, 15);
  EXPECT_THAT(LiveNames(table_), ElementsAre("c"));
}

TEST_F(Committing, NothingToCommitMakesNoSnapshotUnlessAsked) {
  EXPECT_THAT(Must(Commit(table_, CommitOf("u", 1, {}))), IsEmpty());
  PreparedCommit moved = CommitOf("u", 2, {});
  moved.commit_when_empty = true;
  moved.properties = {{"headrace.position.job", "5"}};
  const auto made = Must(Commit(table_, moved));
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].delta_record_count, 0);
  EXPECT_EQ(made[0].properties.at("headrace.position.job"), "5");
  EXPECT_THAT(Must(DeltaEntries(table_, made[0])), IsEmpty());
}

TEST_F(Committing, ChangelogFilesAreListedBesideTheDataAndCounted) {
  BucketChange change = ChangeOf(0, {{.name = "a"}});
  change.change.append.changelog.push_back(FileOf({.name = "changelog-a", .rows = 12}));
  const Snapshot snapshot = Must(Commit(table_, CommitOf("u", 1, {change})))[0];
  EXPECT_EQ(snapshot.changelog_record_count, 12);
  EXPECT_EQ(snapshot.total_record_count, 10);
  ASSERT_THAT(Must(ChangelogEntries(table_, snapshot)), SizeIs(1));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a"));
}

TEST_F(Committing, ATableOfAppendsThatRemovesFilesIsAnOverwrite) {
  Must(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  BucketChange change = ChangeOf(0, {{.name = "b"}});
  change.change.append.removed.push_back(FileOf({.name = "a"}));
  EXPECT_THAT(Kinds(Must(Commit(table_, CommitOf("u", 2, {change})))), ElementsAre("OVERWRITE"));
  EXPECT_THAT(LiveNames(table_), ElementsAre("b"));
  change = ChangeOf(0, {{.name = "c"}});
  change.change.append.removed.push_back(FileOf({.name = "a"}));
  EXPECT_TRUE(IsKind(Commit(table_, CommitOf("u", 3, {change})).status(), ErrorKind::kCommitConflict));
}

TEST_F(Committing, TheSameCommitAgainFindsItselfAndChangesNothing) {
  const PreparedCommit prepared =
      CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}}, {{.name = "a"}}, {{.name = "c", .level = 5}})});
  const auto first = Must(Commit(table_, prepared));
  Must(Commit(table_, CommitOf("other", 1, {ChangeOf(1, {{.name = "x"}})})));
  EXPECT_EQ(Must(Commit(table_, prepared)), first);
  EXPECT_THAT(LiveNames(table_), ElementsAre("c", "x"));
}

// Its files are not ours, and so are not the sequence numbers in them.
TEST_F(Committing, WhatAnotherProcessOfTheSameNameCameToAsWellIsNotTakenForOurs) {
  const auto prepared = [](const std::string& file) {
    PreparedCommit commit = CommitOf("u", 1, {ChangeOf(0, {{.name = file}})});
    commit.token = "process of " + file;
    commit.properties["headrace.position.j"] = "5";
    commit.expected_properties["headrace.position.j"] = std::nullopt;
    return commit;
  };
  const auto first = Must(Commit(table_, prepared("a")));
  EXPECT_EQ(Must(Commit(table_, prepared("a"))), first);
  EXPECT_TRUE(IsKind(Commit(table_, prepared("b")).status(), ErrorKind::kCommitConflict));
  PreparedCommit later = prepared("c");  // prepared when the other one was there already
  later.base_snapshot = SnapshotId(1);
  EXPECT_TRUE(IsKind(Commit(table_, later).status(), ErrorKind::kCommitConflict));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a"));
}

TEST_F(Committing, ALaterIdentifierOfTheSameUserIsAnotherCommit) {
  Must(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  Must(Commit(table_,
              CommitOf("u", 2, {ChangeOf(0, {{.name = "b", .first_sequence = 10, .last_sequence = 19}})})));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a", "b"));
  EXPECT_EQ(Must(FindCommitted(table_, "u", 2))->id, SnapshotId(2));
  EXPECT_EQ(Must(FindCommitted(table_, "u", 1))->id, SnapshotId(2));
  EXPECT_EQ(Must(FindCommitted(table_, "u", 3)), std::nullopt);
  EXPECT_EQ(Must(FindCommitted(table_, "nobody", 1)), std::nullopt);
}

TEST_F(Committing, FilesThatAreThereAlreadyAreNotAddedTwice) {
  Must(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  EXPECT_TRUE(IsKind(Commit(table_, CommitOf("v", 1, {ChangeOf(0, {{.name = "a"}})})).status(),
                     ErrorKind::kCommitConflict));
}

TEST_F(Committing, AWatermarkNeverGoesBack) {
  PreparedCommit prepared = CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})});
  prepared.watermark = 100;
  EXPECT_EQ(Must(Commit(table_, prepared))[0].watermark, 100);
  prepared = CommitOf("u", 2, {ChangeOf(1, {{.name = "b"}})});
  prepared.watermark = 50;
  EXPECT_EQ(Must(Commit(table_, prepared))[0].watermark, 100);
  EXPECT_EQ(
      Must(Commit(
          table_,
          CommitOf("u", 3, {ChangeOf(1, {{.name = "c", .first_sequence = 10, .last_sequence = 11}})})))[0]
          .watermark,
      100);
}

TEST_F(Committing, TimesOfSnapshotsNeverGoBack) {
  Must(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  made_.clock->SetMs(5);
  EXPECT_EQ(Must(Commit(table_, CommitOf("u", 2, {ChangeOf(1, {{.name = "b"}})})))[0].time_millis,
            1'700'000'000'000);
}

// As another engine writes it: the same manifests, none of the keys that only we know.
void CommitAsJava(const Table& table, int64_t id) {
  Snapshot snapshot = Must(ReadSnapshot(table, SnapshotId(id - 1)));
  snapshot.id = SnapshotId(id);
  snapshot.uuid.reset();
  snapshot.properties.clear();
  snapshot.commit_user = "java";
  snapshot.commit_kind = CommitKind::kAppend;
  ASSERT_EQ(Must(table.store->PublishIfAbsent(SnapshotPath(table, snapshot.id), SerializeSnapshot(snapshot))),
            PublishResult::kPublished);
}

TEST_F(Committing, OurPropertiesAreCarriedOnAlsoPastSnapshotsOfOtherEngines) {
  PreparedCommit first = CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})});
  first.properties = {
      {"headrace.position.one", "1"}, {"headrace.position.two", "2"}, {"note", "not carried"}};
  Must(Commit(table_, first));
  CommitAsJava(table_, 2);
  CommitAsJava(table_, 3);
  PreparedCommit second =
      CommitOf("v", 1, {ChangeOf(1, {{.name = "b"}}, {{.name = "b"}}, {{.name = "c", .level = 5}})});
  second.properties = {{"headrace.position.two", "22"}};
  for (const Snapshot& snapshot : Must(Commit(table_, second))) {
    EXPECT_EQ(snapshot.properties.at("headrace.position.one"), "1");
    EXPECT_EQ(snapshot.properties.at("headrace.position.two"), "22");
    EXPECT_THAT(snapshot.properties.at("headrace.writer"), HasSubstr("headrace"));
    EXPECT_FALSE(snapshot.properties.contains("note"));
  }
  PreparedCommit third = CommitOf("v", 2, {});
  third.commit_when_empty = true;
  third.dropped_properties = {"headrace.position.one"};
  Must(Commit(table_, third));
  const auto carried = Must(CarriedProperties(table_));
  EXPECT_FALSE(carried.contains("headrace.position.one"));
  EXPECT_EQ(carried.at("headrace.position.two"), "22");
}

TEST_F(Committing, IndexManifestAndStatisticsOfTheSameSchemaAreKept) {
  Must(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  Snapshot analyzed = Must(ReadSnapshot(table_, SnapshotId(1)));
  analyzed.id = SnapshotId(2);
  analyzed.index_manifest = "index-manifest-x-0";
  analyzed.statistics = "stat-x-0";
  analyzed.commit_user = "java";
  ASSERT_TRUE(
      table_.store->Replace(table_.path + "/statistics/stat-x-0", R"({"snapshotId":1,"schemaId":0})").ok());
  ASSERT_TRUE(table_.store->Replace(SnapshotPath(table_, analyzed.id), SerializeSnapshot(analyzed)).ok());
  const Snapshot kept = Must(Commit(table_, CommitOf("u", 2, {ChangeOf(1, {{.name = "b"}})})))[0];
  EXPECT_EQ(kept.index_manifest, "index-manifest-x-0");
  EXPECT_EQ(kept.statistics, "stat-x-0");

  TableSchema newer = *table_.schema;
  newer.id = SchemaId(1);
  ASSERT_TRUE(table_.store->Replace(table_.path + "/schema/schema-1", SerializeTableSchema(newer)).ok());
  const Snapshot moved = Must(
      Commit(table_,
             CommitOf("u", 3, {ChangeOf(1, {{.name = "c", .first_sequence = 10, .last_sequence = 11}})})))[0];
  EXPECT_EQ(moved.schema_id, SchemaId(1));
  EXPECT_EQ(moved.statistics, std::nullopt);
  EXPECT_EQ(moved.index_manifest, "index-manifest-x-0");
}

TEST_F(Committing, ATableDroppedAndMadeAnewIsNotWrittenToByItsOldWriter) {
  Catalog catalog(made_.store, made_.clock, "/w");
  ASSERT_TRUE(catalog.DropTable({"db", "t"}).ok());
  EXPECT_TRUE(IsKind(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})).status(),
                     ErrorKind::kNotFound));
  made_.clock->Advance(1);
  const Table fresh = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}, {}, made_.store).table;
  TableSchema old = *table_.schema;
  Table stale = table_;
  old.time_millis -= 1;
  stale.schema = std::make_shared<const TableSchema>(old);
  EXPECT_TRUE(
      IsKind(Commit(stale, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})).status(), ErrorKind::kNotFound));
  EXPECT_THAT(LiveNames(fresh), IsEmpty());
}

TEST_F(Committing, ACompactionOfFilesThatAreGoneIsAConflictAndLeavesNothing) {
  Must(
      Commit(table_,
             CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}}, {{.name = "a"}}, {{.name = "c", .level = 5}})})));
  const size_t files = Must(table_.store->List(table_.path + "/manifest")).size();
  EXPECT_TRUE(
      IsKind(Commit(table_, CommitOf("v", 1, {ChangeOf(0, {}, {{.name = "a"}}, {{.name = "d", .level = 5}})}))
                 .status(),
             ErrorKind::kCommitConflict));
  EXPECT_EQ(Must(table_.store->List(table_.path + "/manifest")).size(), files);
}

TEST_F(Committing, SharedSequenceNumbersAreRenumberedOrRefused) {
  PreparedCommit ours =
      CommitOf("u", 1, {ChangeOf(0, {{.name = "a", .first_sequence = 0, .last_sequence = 9}})});
  ours.base_snapshot = SnapshotId(0);
  Must(Commit(table_,
              CommitOf("other", 1, {ChangeOf(0, {{.name = "x", .first_sequence = 0, .last_sequence = 4}})})));
  EXPECT_TRUE(IsKind(Commit(table_, ours).status(), ErrorKind::kCommitConflict));
  CommitHooks hooks;
  hooks.resequence = [](std::vector<BucketChange> changes,
                        const std::vector<ManifestEntry>& live) -> Result<std::vector<BucketChange>> {
    EXPECT_EQ(live.size(), 1u);
    changes[0].change.append.added = {FileOf({.name = "a-later", .first_sequence = 5, .last_sequence = 14})};
    return changes;
  };
  Must(Commit(table_, ours, hooks));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a-later", "x"));
}

TEST_F(Committing, FilesMeantForAnotherNumberOfBucketsAreRefused) {
  PreparedCommit ours = CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})});
  ours.base_snapshot = SnapshotId(0);
  Must(Commit(table_, CommitOf("other", 1, {ChangeOf(3, {{.name = "x"}}, {}, {}, 4)})));
  EXPECT_TRUE(IsKind(Commit(table_, ours).status(), ErrorKind::kCommitConflict));
}

// ---- races and faults ---------------------------------------------------------------------------------------------------

class CommittingThroughFaults : public Committing {
 protected:
  std::shared_ptr<FaultStore> faults_ = std::make_shared<FaultStore>(made_.store);
  Table faulty_ = Reopened(table_, faults_);
};

TEST_F(CommittingThroughFaults, TheLoserOfARaceTriesTheNextIdWithTheSameFiles) {
  int races = 0;
  faults_->SetHook([&](StoreOperation operation, const std::string& path) {
    if (operation != StoreOperation::kPublish || path.find("/snapshot/") == std::string::npos || races == 3)
      return;
    ++races;
    const int64_t first = races * 10;
    Must(Commit(table_, CommitOf("other", races,
                                 {ChangeOf(1, {{.name = "x" + std::to_string(races),
                                                .first_sequence = first,
                                                .last_sequence = first + 9}})})));
  });
  const auto made = Must(Commit(faulty_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  EXPECT_EQ(made[0].id, SnapshotId(4));
  EXPECT_EQ(made[0].total_record_count, 40);
  EXPECT_THAT(LiveNames(table_), ElementsAre("a", "x1", "x2", "x3"));
  // Waited longer each time: 10, 20, 40 ms and a fifth at most.
  const int64_t waited = made_.clock->NowMs() - 1'700'000'000'000;
  EXPECT_GE(waited, 70);
  EXPECT_LE(waited, 84);
}

TEST_F(CommittingThroughFaults, ManifestsOfLostAttemptsAreCleanedAndTheFinalSnapshotListsNoneOfThem) {
  int races = 0;
  faults_->SetHook([&](StoreOperation operation, const std::string& path) {
    if (operation != StoreOperation::kPublish || path.find("/snapshot/") == std::string::npos || races++ > 0)
      return;
    Must(Commit(table_, CommitOf("other", 1, {ChangeOf(1, {{.name = "x"}})})));
  });
  Must(Commit(faulty_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  std::set<std::string> referenced;
  for (const SnapshotId id : Must(ListSnapshotIds(table_))) {
    const Snapshot snapshot = Must(ReadSnapshot(table_, id));
    for (const std::string& list : {snapshot.base_manifest_list, snapshot.delta_manifest_list}) {
      referenced.insert(ManifestPath(table_, list));
      for (const ManifestFileMeta& manifest : Must(ReadManifestList(table_, list)))
        referenced.insert(ManifestPath(table_, manifest.name));
    }
  }
  std::set<std::string> there;
  for (const FileInfo& file : Must(table_.store->List(table_.path + "/manifest"))) there.insert(file.path);
  EXPECT_EQ(there, referenced);
}

TEST_F(CommittingThroughFaults, EndlessRacesEndInAConflict) {
  int races = 0;
  faulty_.options.commit_max_retries = 4;
  faults_->SetHook([&](StoreOperation operation, const std::string& path) {
    if (operation != StoreOperation::kPublish || path.find("/snapshot/") == std::string::npos) return;
    ++races;
    PreparedCommit empty = CommitOf("other", races, {});
    empty.commit_when_empty = true;
    Must(Commit(table_, empty));
  });
  const Status gave_up = Commit(faulty_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})).status();
  EXPECT_TRUE(IsKind(gave_up, ErrorKind::kCommitConflict)) << gave_up;
  EXPECT_THAT(gave_up.message(), HasSubstr("took the next snapshot id 5 times"));
  EXPECT_EQ(races, 5);
  EXPECT_THAT(LiveNames(table_), IsEmpty());
}

TEST_F(CommittingThroughFaults, AnUnknownOutcomeIsRecognisedWhenItHappened) {
  faults_->SetPlan({.kind = FaultKind::kPublishUnknown, .at = 0, .counts = {}});
  const auto made = Must(Commit(faulty_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  EXPECT_EQ(made[0].id, SnapshotId(1));
  EXPECT_EQ(Must(FindLatestSnapshotId(table_)), SnapshotId(1));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a"));
}

TEST_F(CommittingThroughFaults, AnUnknownOutcomeIsCommittedAgainWhenItDidNotHappen) {
  faults_->SetPlan({.kind = FaultKind::kPublishUnknownLost, .at = 0, .counts = {}});
  Must(Commit(faulty_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  EXPECT_EQ(Must(FindLatestSnapshotId(table_)), SnapshotId(1));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a"));
}

TEST_F(CommittingThroughFaults, ASnapshotThatAnothersRenameReplacedIsCommittedAnew) {
  // An engine whose local rename replaces: it looked before we published, and renames after.
  bool published = false, replaced = false;
  faults_->SetHook([&](StoreOperation operation, const std::string& path) {
    if (path != SnapshotPath(table_, SnapshotId(1))) return;
    if (operation == StoreOperation::kPublish) published = true;
    if (operation != StoreOperation::kReadAll || !published || replaced) return;
    replaced = true;
    Snapshot other = Must(ReadSnapshot(table_, SnapshotId(1)));
    other.uuid.reset();
    other.commit_user = "java";
    const std::string none = Must(EncodeManifestList({}, {}));
    other.base_manifest_list = "manifest-list-java-0";
    other.delta_manifest_list = "manifest-list-java-1";
    for (const std::string& list : {other.base_manifest_list, other.delta_manifest_list})
      ASSERT_TRUE(made_.store->Replace(ManifestPath(table_, list), none).ok());
    other.base_manifest_list_bytes = other.delta_manifest_list_bytes = none.size();
    other.total_record_count = 0;
    ASSERT_TRUE(made_.store->Replace(SnapshotPath(table_, SnapshotId(1)), SerializeSnapshot(other)).ok());
  });
  const auto made = Must(Commit(faulty_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  EXPECT_TRUE(replaced);
  EXPECT_EQ(made[0].id, SnapshotId(2));
  EXPECT_THAT(LiveNames(table_), ElementsAre("a"));
}

// Every file that any snapshot names is there; returns the live names.
std::multiset<std::string> CheckWhole(const Table& table) {
  for (const SnapshotId id : Must(ListSnapshotIds(table))) {
    const Snapshot snapshot = Must(ReadSnapshot(table, id));
    int64_t rows = 0;
    for (const ManifestEntry& entry : Must(LiveFiles(table, snapshot))) rows += entry.file.row_count;
    EXPECT_EQ(rows, snapshot.total_record_count);
    Must(ChangelogEntries(table, snapshot));
  }
  return LiveNames(table);
}

TEST_F(CommittingThroughFaults, AFaultAtAnyOperationLeavesTheTableBeforeOrAfterAndTheCommitCanBeRepeated) {
  const std::multiset<std::string> before = {"a"}, between = {"a", "b"}, after = {"c"};
  for (const FaultKind kind :
       {FaultKind::kFail, FaultKind::kStop, FaultKind::kTearAndStop, FaultKind::kDiskFull,
        FaultKind::kPublishUnknown, FaultKind::kPublishUnknownLost, FaultKind::kPublishDoneAndStop}) {
    bool fired = true;
    for (int64_t at = 0; fired; at += kind == FaultKind::kStop ? 2 : 1) {
      SCOPED_TRACE(std::string(NameOf(kind)) + " at " + std::to_string(at));
      auto fresh =
          MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}, {"manifest.merge-min-count", "2"}});
      Must(Commit(fresh.table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
      auto faults = std::make_shared<FaultStore>(fresh.store);
      const Table faulty = Reopened(fresh.table, faults);
      // Torn writes and full disks matter to what writes.
      const bool all = kind == FaultKind::kFail || kind == FaultKind::kStop;
      faults->SetPlan({.kind = kind, .at = at, .counts = [all](StoreOperation operation, const std::string&) {
                         return all || Changes(operation);
                       }});
      BucketChange change =
          ChangeOf(0, {{.name = "b", .first_sequence = 10, .last_sequence = 19}},
                   {{.name = "a"}, {.name = "b", .first_sequence = 10, .last_sequence = 19}},
                   {{.name = "c", .level = 5}});
      change.change.append.changelog.push_back(FileOf({.name = "changelog-b"}));
      const PreparedCommit prepared = CommitOf("u", 2, {change});
      const auto result = Commit(faulty, prepared);
      fired = faults->fired();
      const auto live = CheckWhole(fresh.table);
      if (result.ok()) {
        EXPECT_EQ(live, after);
      } else {
        EXPECT_TRUE(live == before || live == between || live == after) << ::testing::PrintToString(live);
      }
      // The process starts again and does the same.
      const auto again = Commit(fresh.table, prepared);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->size(), 2u);
      EXPECT_EQ(CheckWhole(fresh.table), after);
      EXPECT_EQ(Must(FindLatestSnapshotId(fresh.table)), SnapshotId(3));
    }
  }
}

TEST_F(CommittingThroughFaults, AFailureBeforeThePublishLeavesNoManifestBehind) {
  Must(Commit(table_, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  const size_t files = Must(table_.store->List(table_.path + "/manifest")).size();
  for (int64_t at = 0; at < 20; ++at) {
    faults_->SetPlan(
        {.kind = FaultKind::kFail, .at = at, .counts = [](StoreOperation operation, const std::string& path) {
           return Changes(operation) && operation != StoreOperation::kDelete &&
                  path.find("/manifest/") != std::string::npos;
         }});
    const auto result = Commit(faulty_, CommitOf("u", 100 + at, {ChangeOf(1, {{.name = "b"}})}));
    if (!faults_->fired()) break;
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(Must(table_.store->List(table_.path + "/manifest")).size(), files) << at;
  }
}

}  // namespace
}  // namespace headrace
