#include "commit/expiry.h"

#include <algorithm>
#include <random>
#include <set>

#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/reachability.h"
#include "commit/test_changes.h"
#include "io/fault_store.h"
#include "io/store_path.h"

namespace headrace {
namespace {

using testing::ChangeOf;
using testing::CommitOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using testing::MakeTestTable;
using testing::Must;
using ::testing::Not;
using testing::Reopened;
using ::testing::UnorderedElementsAreArray;

constexpr int64_t kMinute = 60'000;
using Paths = std::set<std::string>;

Paths AllFiles(Store* store, const std::string& folder) {
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
Paths ExpirableFiles(const Table& table) {
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

Paths ReachablePaths(const Table& table) {
  const ReachableFiles files = Must(FindReachable(table, Must(ListAllRoots(table)), ReachDepth::kData));
  Paths paths(files.data.begin(), files.data.end());
  for (const std::string& name : files.manifest) paths.insert(ManifestPath(table, name));
  paths.insert(files.index.begin(), files.index.end());
  for (const std::string& name : files.statistics) paths.insert(table.path + "/statistics/" + name);
  return paths;
}

// With producer none a changelog's delta may take away files that only ended changelogs brought: they go when it goes.
Paths LeftToChangelogs(const Table& table) {
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

void ExpectExactlyWhatIsReachable(const Table& table) {
  const Paths there = ExpirableFiles(table);
  const Paths reachable = ReachablePaths(table);
  Paths missing, beyond;
  std::set_difference(reachable.begin(), reachable.end(), there.begin(), there.end(),
                      std::inserter(missing, missing.end()));
  std::set_difference(there.begin(), there.end(), reachable.begin(), reachable.end(),
                      std::inserter(beyond, beyond.end()));
  EXPECT_THAT(missing, IsEmpty()) << "reachable files are gone";
  EXPECT_THAT(beyond, IsSubsetOf(LeftToChangelogs(table))) << "unreachable files are left";
}

void Put(const Table& table, const std::string& relative, const std::string& bytes = "x") {
  auto stream = Must(table.store->OpenForWrite(table.path + "/" + relative));
  ASSERT_TRUE(stream->Write(bytes).ok());
  ASSERT_TRUE(stream->Close().ok());
}

// As Java's createTag: the snapshot's own JSON under another name.
void SetTag(const Table& table, const std::string& name, int64_t id) {
  Put(table, "tag/tag-" + name, Must(table.store->ReadAll(SnapshotPath(table, SnapshotId(id)))));
}

void SetConsumer(const Table& table, const std::string& id, int64_t next) {
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

const std::map<std::string, std::string> kKeepTwo = {{"snapshot.num-retained.min", "2"},
                                                     {"snapshot.num-retained.max", "2"}};

std::map<std::string, std::string> With(std::map<std::string, std::string> options,
                                        const std::map<std::string, std::string>& more) {
  for (const auto& [key, value] : more) options[key] = value;
  return options;
}

TEST_F(Expiring, EndsSnapshotsAndDeletesWhatOnlyTheyNeeded) {
  Make(kKeepTwo);
  Append("a");
  Append("b");
  CompactInto("c");
  Append("d");
  EXPECT_TRUE(Has("bucket-0/a"));
  const ExpiryPlan plan = ExpireNow();
  EXPECT_THAT(plan.snapshots, ElementsAre(SnapshotId(1), SnapshotId(2)));
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
  EXPECT_FALSE(Has("bucket-0/a") || Has("bucket-0/b"));
  EXPECT_TRUE(Has("bucket-0/c") && Has("bucket-0/d"));
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/snapshot/EARLIEST")), "3");
  ExpectExactlyWhatIsReachable(table());
  EXPECT_TRUE(ExpireNow().empty());
}

TEST_F(Expiring, WhereNothingIsDueTheEarliestIsTold) {
  Make({});
  Append("a");
  Append("b");
  EXPECT_TRUE(ExpireNow().empty());
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/snapshot/EARLIEST")), "1");
}

TEST_F(Expiring, AFileMovedToAnotherLevelStays) {
  Make(kKeepTwo);
  Append("a");
  Upgrade("a");
  Append("b");
  Append("c");
  ExpireNow();
  EXPECT_TRUE(Has("bucket-0/a"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, ATagKeepsItsRowsAfterItsSnapshotEnded) {
  Make(kKeepTwo);
  Append("a");
  Append("b");
  SetTag(table(), "v1", 2);
  CompactInto("c");
  Append("d");
  CompactInto("e");
  Append("f");
  const ExpiryPlan plan = ExpireNow();
  EXPECT_EQ(plan.files_kept, 2);
  EXPECT_THAT(plan.keepers, ElementsAre("tag v1"));
  EXPECT_TRUE(Has("bucket-0/a") && Has("bucket-0/b"));
  EXPECT_FALSE(Has("bucket-0/c") || Has("bucket-0/d"));
  const Snapshot tagged = Must(ListTags(table())).front().tag.snapshot;
  EXPECT_EQ(Must(LiveFiles(table(), tagged)).size(), 2u);
  ExpectExactlyWhatIsReachable(table());
}

// Java's own expiry does not look at branches; ours does.
TEST_F(Expiring, ABranchKeepsWhatItsSnapshotsAndTagsNeed) {
  Make(kKeepTwo);
  Append("a");
  const std::string first = Must(table().store->ReadAll(SnapshotPath(table(), SnapshotId(1))));
  Put(table(), "branch/branch-dev/snapshot/snapshot-1", first);
  Put(table(), "branch/branch-dev/tag/tag-start", first);
  CompactInto("b");
  const std::string second = Must(table().store->ReadAll(SnapshotPath(table(), SnapshotId(2))));
  Put(table(), "branch/branch-late/tag/tag-second", second);
  CompactInto("c");
  CompactInto("d");
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
  EXPECT_TRUE(Has("bucket-0/a") && Has("bucket-0/b") && Has("bucket-0/c"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, ATagThatCannotBeReadStopsItBeforeAnythingIsDeleted) {
  Make(kKeepTwo);
  for (const char* name : {"a", "b"}) Append(name);
  CompactInto("c");
  Append("d");
  Put(table(), "tag/tag-broken", "{\"version\" : 3, ");
  const Paths before = AllFiles(table().store.get(), table().path);
  const Status status = TryExpire();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), HasSubstr("tag-broken"));
  EXPECT_EQ(AllFiles(table().store.get(), table().path), before);
}

TEST_F(Expiring, AManifestOfATagThatIsGoneStopsItToo) {
  Make(kKeepTwo);
  Append("a");
  SetTag(table(), "v1", 1);
  CompactInto("b");
  Append("c");
  const Snapshot tagged = Must(ListTags(table())).front().tag.snapshot;
  ASSERT_TRUE(table().store->Delete(ManifestPath(table(), tagged.delta_manifest_list)).ok());
  const Paths before = AllFiles(table().store.get(), table().path);
  const Status status = TryExpire();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), HasSubstr("tag v1"));
  EXPECT_EQ(AllFiles(table().store.get(), table().path), before);
}

TEST_F(Expiring, AConsumerThatCannotBeReadStopsIt) {
  Make(kKeepTwo);
  for (const char* name : {"a", "b", "c", "d"}) Append(name);
  ASSERT_TRUE(table().store->Replace(ConsumerPath(table(), "x"), "{}").ok());
  EXPECT_TRUE(IsKind(TryExpire(), ErrorKind::kCorruption));
  EXPECT_THAT(Snapshots(), ElementsAre(1, 2, 3, 4));
}

TEST_F(Expiring, AConsumerHoldsWhatItHasNotReadUntilItIsIdle) {
  Make(With(kKeepTwo, {{"consumer.expiration-time", "1 h"}}), std::make_shared<MemoryStore>());
  for (const char* name : {"a", "b", "c", "d"}) Append(name);
  SetConsumer(table(), "x", 2);
  const ExpiryPlan plan = ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(2, 3, 4));
  EXPECT_EQ(plan.choice.holds.front().consumer, "x");
  // The store's clock is the machine's, the table's is ours: far ahead of it every consumer is idle.
  made_.clock->SetMs(Must(table().store->Stat(ConsumerPath(table(), "x")))->modified_ms + 61 * kMinute);
  EXPECT_EQ(ExpireNow().idle_consumers.size(), 1u);
  EXPECT_FALSE(Has("consumer/consumer-x"));
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
}

// Java does not carry properties on: behind its snapshots the newest of ours must stay, consumer or not.
TEST_F(Expiring, TheNewestSnapshotWithJobsPositionsStays) {
  Make(kKeepTwo);
  Append("a");
  PreparedCommit moved = CommitOf("job", 1, {});
  moved.properties["headrace.position.nightly"] = "{}";
  moved.commit_when_empty = true;
  Must(Commit(table(), moved));
  // As Java would make them.
  for (int64_t id = 3; id <= 5; ++id) {
    Snapshot snapshot = Must(ReadSnapshot(table(), SnapshotId(id - 1)));
    snapshot.id = SnapshotId(id);
    snapshot.properties.clear();
    Put(table(), "snapshot/snapshot-" + std::to_string(id), SerializeSnapshot(snapshot));
  }
  const ExpiryPlan plan = ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(plan.choice.holds.front().reason, HoldReason::kPosition);
  // A commit of ours carries it on, and the old one may go.
  Append("b");
  EXPECT_EQ(Must(CarriedProperties(table())).count("headrace.position.nightly"), 1u);
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(5, 6));
}

TEST_F(Expiring, AChangelogOutlivesItsSnapshotWithAProducer) {
  Make(With(kKeepTwo, {{"changelog-producer", "input"}, {"changelog.num-retained.max", "5"}}));
  Append("a");
  Append("b");
  CompactInto("c");
  Append("d");
  const std::string first = Must(table().store->ReadAll(SnapshotPath(table(), SnapshotId(1))));
  ExpireNow();
  EXPECT_THAT(Snapshots(), ElementsAre(3, 4));
  EXPECT_THAT(Changelogs(), ElementsAre(1, 2));
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/changelog/changelog-1")), first);
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/changelog/LATEST")), "2");
  EXPECT_FALSE(Has("bucket-0/a"));
  EXPECT_TRUE(Has("bucket-0/changelog-a"));
  ExpectExactlyWhatIsReachable(table());
  for (const char* name : {"e", "f", "g"}) Append(name);
  ExpireNow();
  EXPECT_THAT(Changelogs(), ElementsAre(3, 4, 5));
  EXPECT_EQ(Must(table().store->ReadAll(table().path + "/changelog/EARLIEST")), "3");
  EXPECT_FALSE(Has("bucket-0/changelog-a"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, WithoutAProducerTheNewFilesAreTheChangelog) {
  Make(With(kKeepTwo, {{"changelog.num-retained.max", "5"}}));
  Append("a");
  Append("b");
  CompactInto("c");
  CompactInto("d");
  ExpireNow();
  EXPECT_THAT(Changelogs(), ElementsAre(1, 2));
  CompactInto("e");
  CompactInto("f");
  ExpireNow();
  EXPECT_TRUE(Has("bucket-0/b")) << "changelog 2 reads it";
  EXPECT_FALSE(Has("bucket-0/c") || Has("bucket-0/d")) << "nobody streams what a compaction made";
  ExpectExactlyWhatIsReachable(table());
  for (const char* name : {"g", "h", "i", "j"}) Append(name);
  ExpireNow();
  EXPECT_THAT(Changelogs(), ElementsAre(6, 7, 8));
  EXPECT_FALSE(Has("bucket-0/a") || Has("bucket-0/b"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, EmptyDirectoriesGoWhereThatIsAskedFor) {
  Make(With(kKeepTwo, {{"snapshot.clean-empty-directories", "true"}}));
  Append("a");
  BucketChange only = ChangeOf(1, {{.name = "z", .first_sequence = 5000, .last_sequence = 5009}});
  Put(table(), "bucket-1/z");
  CommitChange(only);
  BucketChange gone = ChangeOf(1, {});
  gone.change.compact.removed = only.change.append.added;
  CommitChange(gone);
  Append("b");
  Append("c");
  ExpireNow();
  EXPECT_FALSE(Has("bucket-1"));
  EXPECT_TRUE(Has("bucket-0"));
  ExpectExactlyWhatIsReachable(table());
}

TEST_F(Expiring, ASingleSnapshotCostsItsOwnManifestsAndTwoLists) {
  auto memory = std::make_shared<MemoryStore>();
  Make({{"snapshot.num-retained.min", "5"}, {"snapshot.num-retained.max", "5"}}, memory);
  for (int i = 0; i < 60; ++i) Append("f" + std::to_string(i));
  while (!ExpireNow().snapshots.empty()) {
  }
  Append("last");
  auto counting = std::make_shared<FaultStore>(memory);
  const Table counted = Reopened(table(), counting);
  counting->SetPlan({});
  EXPECT_EQ(Must(Expire(counted, {.retention = counted.options.retention})).snapshots.size(), 1u);
  int64_t manifests = 0;
  for (const LoggedOperation& operation : counting->log())
    if (operation.operation == StoreOperation::kReadAll && NameIn(operation.path).starts_with("manifest-"))
      ++manifests;
  EXPECT_LE(manifests, 6) << "two lists of each of two snapshots and one delta";
  EXPECT_LE(counting->counted(), 40);
}

std::shared_ptr<MemoryStore> CopyOf(Store* store) {
  auto copy = std::make_shared<MemoryStore>();
  for (const std::string& path : AllFiles(store, "/")) {
    auto stream = Must(copy->OpenForWrite(path));
    EXPECT_TRUE(stream->Write(Must(store->ReadAll(path))).ok() && stream->Close().ok());
  }
  return copy;
}

class ExpiryUnderFaults : public Expiring {
 protected:
  // A fault at every operation of an expiry: the snapshots that stay are whole, and the next expiry finishes the work.
  void Sweep(const std::map<std::string, std::string>& options, FaultKind kind) {
    Make(options);
    for (const char* name : {"a", "b", "c"}) Append(name);
    SetTag(table(), "v3", 3);
    CompactInto("d");
    Append("e");
    CompactInto("f");
    for (const char* name : {"g", "h", "i"}) Append(name);
    for (int64_t at = 0;; ++at) {
      SCOPED_TRACE("fault at operation " + std::to_string(at));
      const auto memory = CopyOf(table().store.get());
      const auto faulty = std::make_shared<FaultStore>(memory);
      const Table whole = Reopened(table(), memory);
      const Table broken = Reopened(table(), faulty);
      faulty->SetPlan({.kind = kind, .at = at});
      const Status status = Expire(broken, {.retention = broken.options.retention}).status();
      EXPECT_TRUE(faulty->fired() || status.ok()) << status;
      ExpectKeptSnapshotsWhole(whole);
      while (!Must(Expire(whole, {.retention = whole.options.retention})).empty()) {
      }
      EXPECT_EQ(Must(ListSnapshotIds(whole)).front(), SnapshotId(8));
      ExpectExactlyWhatIsReachable(whole);
      if (HasFailure() || !faulty->fired()) return;
    }
  }

  static void ExpectKeptSnapshotsWhole(const Table& table) {
    for (const int64_t id : {8, 9}) {
      const ReachableFiles files = Must(FindReachable(
          table, {{"kept", Must(ReadSnapshot(table, SnapshotId(id))), true, true}}, ReachDepth::kData));
      for (const std::string& path : files.data)
        EXPECT_TRUE(Must(table.store->Stat(path)).has_value()) << path;
    }
  }
};

TEST_F(ExpiryUnderFaults, WhatStaysIsWholeAndTheNextOneFinishes) { Sweep(kKeepTwo, FaultKind::kFail); }
TEST_F(ExpiryUnderFaults, SoItIsAfterACrash) { Sweep(kKeepTwo, FaultKind::kTearAndStop); }
TEST_F(ExpiryUnderFaults, SoItIsWhereChangelogsStay) {
  Sweep(With(kKeepTwo, {{"changelog-producer", "input"}, {"changelog.num-retained.max", "5"}}),
        FaultKind::kTearAndStop);
}
TEST_F(ExpiryUnderFaults, SoItIsWhereNewFilesAreTheChangelog) {
  Sweep(With(kKeepTwo, {{"changelog.num-retained.max", "4"}}), FaultKind::kTearAndStop);
}

// Random commits, compactions, tags and expiries.
class RandomExpiry : public Expiring {
 protected:
  void Play(uint32_t seed, const std::map<std::string, std::string>& options) {
    Make(options);
    std::mt19937 random(seed);
    const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    std::map<std::string, Paths> rows_of_tag;
    for (int step = 0; step < 80; ++step) {
      const std::string name = "f" + std::to_string(step);
      const auto latest = Must(FindLatestSnapshotId(table()));
      switch (draw(8)) {
        case 0: levels_.empty() ? Append(name) : CompactInto(name); break;
        case 1: CanUpgrade() ? Upgrade(levels_.begin()->first) : Append(name); break;
        case 2:
          if (latest.has_value()) {
            SetTag(table(), name, latest->value);
            rows_of_tag[name] = LivePaths(Must(ReadSnapshot(table(), *latest)));
          }
          break;
        case 3:
          if (latest.has_value()) SetConsumer(table(), "c" + std::to_string(draw(2)), latest->value);
          break;
        case 4: ExpireNow(); break;
        default: Append(name);
      }
      if (step % 10 != 9) continue;
      while (!ExpireNow().snapshots.empty()) {
      }
      ExpectExactlyWhatIsReachable(table());
      for (const NamedTag& tag : Must(ListTags(table())))
        EXPECT_EQ(LivePaths(tag.tag.snapshot), rows_of_tag.at(tag.name)) << tag.name;
      if (HasFailure()) return;
    }
  }

  Paths LivePaths(const Snapshot& snapshot) {
    Paths paths;
    for (const ManifestEntry& entry : Must(LiveFiles(table(), snapshot))) {
      paths.insert(Must(table().PathOf(entry)));
      EXPECT_TRUE(Must(table().store->Stat(Must(table().PathOf(entry)))).has_value());
    }
    return paths;
  }
};

TEST_F(RandomExpiry, LeavesExactlyWhatIsReachable) {
  const std::vector<std::map<std::string, std::string>> shapes = {
      kKeepTwo,
      With(kKeepTwo, {{"changelog-producer", "input"}}),
      With(kKeepTwo, {{"changelog-producer", "input"}, {"changelog.num-retained.max", "6"}}),
      With(kKeepTwo, {{"changelog.num-retained.max", "6"}}),
      With(kKeepTwo,
           {{"manifest.merge-min-count", "3"}, {"manifest.full-compaction-threshold-size", "1 kb"}}),
  };
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    for (size_t shape = 0; shape < shapes.size(); ++shape) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", shape " + std::to_string(shape));
      levels_.clear();
      Play(seed, shapes[shape]);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace headrace
