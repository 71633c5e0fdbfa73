#include "catalog/snapshots.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "catalog/schema_log.h"
#include "catalog/test_tables.h"
#include "io/local_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTestTable;
using testing::Must;
namespace fs = std::filesystem;

struct Fixture {
  std::string name;  // "manifests/merging"
  fs::path table;
  fs::path info;
};

std::vector<Fixture> AllFixtures() {
  std::vector<Fixture> fixtures;
  for (const auto& fixture : fs::directory_iterator(HEADRACE_FIXTURES)) {
    const fs::path database = fixture.path() / "warehouse" / "peer.db";
    if (!fs::is_directory(database)) continue;
    for (const auto& table : fs::directory_iterator(database)) {
      const std::string name = table.path().filename();
      const fs::path info = fixture.path() / "expected" / (name + ".info.jsonl");
      if (!fs::exists(info)) continue;
      fixtures.push_back({fixture.path().filename().string() + "/" + name, table.path(), info});
      if (fixtures.back().name == "types-parquet/variants")
        fixtures.pop_back();  // its schema has a type that is refused
    }
  }
  return fixtures;
}

// Also tables with options that are refused: their metadata is like any other's.
Table OpenAnyFixture(const fs::path& path) {
  Table table;
  table.store = std::make_shared<LocalStore>();
  table.clock = std::make_shared<ManualClock>();
  table.path = path.string();
  table.name = path.filename().string();
  table.schema_by_id = RememberingSchemaLookup(table.store, table.path);
  table.schema = Must(table.schema_by_id(*Must(FindLatestSchemaId(table.store.get(), table.path))));
  table.options = ParseTableOptions(*table.schema, Access::kRead).ValueOr(TableOptions{});
  return table;
}

std::vector<nlohmann::json> Lines(const fs::path& file, const std::string& kind) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    nlohmann::json json = Must(ParseJson(line, file.string()));
    if (json["kind"] == kind) lines.push_back(std::move(json));
  }
  return lines;
}

std::string Describe(const ManifestEntry& entry) {
  return entry.file.name + " bucket " + std::to_string(entry.bucket.value) + "/" +
         std::to_string(entry.total_buckets) + " level " + std::to_string(entry.file.level.value) + " rows " +
         std::to_string(entry.file.row_count) + " sequence " + std::to_string(entry.file.min_sequence) + "-" +
         std::to_string(entry.file.max_sequence) + " schema " + std::to_string(entry.file.schema_id.value) +
         " bytes " + std::to_string(entry.file.size_bytes);
}

std::string Describe(const nlohmann::json& line) {
  const auto number = [&](const char* key) { return std::to_string(line[key].get<int64_t>()); };
  return line["name"].get<std::string>() + " bucket " + number("bucket") + "/" + number("totalBuckets") +
         " level " + number("level") + " rows " + number("rows") + " sequence " + number("minSequence") +
         "-" + number("maxSequence") + " schema " + number("schemaId") + " bytes " + number("size");
}

TEST(FixtureTables, EachHasTheSnapshotsAndLongLivedChangelogsThatJavaLists) {
  int tables = 0;
  for (const Fixture& fixture : AllFixtures()) {
    SCOPED_TRACE(fixture.name);
    const Table table = OpenAnyFixture(fixture.table);
    std::vector<SnapshotId> expected;
    for (const auto& line : Lines(fixture.info, "snapshot")) {
      const SnapshotId id(line["id"].get<int64_t>());
      expected.push_back(id);
      const Snapshot snapshot = Must(ReadSnapshot(table, id));
      EXPECT_EQ(NameOf(snapshot.commit_kind), line["commitKind"].get<std::string>());
      EXPECT_EQ(snapshot.total_record_count, line["totalRecordCount"].get<int64_t>());
    }
    // One table was compacted once more after its list was made.
    if (fixture.name == "schema-evolution/keyed") expected.emplace_back(8);
    EXPECT_EQ(Must(ListSnapshotIds(table)), expected);
    if (!expected.empty()) {
      EXPECT_EQ(Must(FindEarliestSnapshotId(table)), expected.front());
      EXPECT_EQ(Must(FindLatestSnapshotId(table)), expected.back());
    }
    std::vector<SnapshotId> changelogs;
    for (const auto& line : Lines(fixture.info, "changelog"))
      changelogs.emplace_back(line["id"].get<int64_t>());
    EXPECT_EQ(Must(ListChangelogIds(table)), changelogs);
    ++tables;
  }
  EXPECT_GT(tables, 150);
}

TEST(FixtureTables, EachHasTheLiveFilesThatJavaSeesInItsLatestSnapshot) {
  for (const Fixture& fixture : AllFixtures()) {
    SCOPED_TRACE(fixture.name);
    const Table table = OpenAnyFixture(fixture.table);
    const auto listed = Lines(fixture.info, "snapshot");
    std::multiset<std::string> expected, found;
    for (const auto& line : Lines(fixture.info, "file")) expected.insert(Describe(line));
    if (!listed.empty()) {
      const auto live =
          LiveFiles(table, Must(ReadSnapshot(table, SnapshotId(listed.back()["id"].get<int64_t>()))));
      ASSERT_TRUE(live.ok()) << live.status();
      for (const ManifestEntry& entry : *live) found.insert(Describe(entry));
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(FixtureTables, EachSnapshotHasTheChangelogFilesThatJavaSees) {
  for (const Fixture& fixture : AllFixtures()) {
    SCOPED_TRACE(fixture.name);
    const Table table = OpenAnyFixture(fixture.table);
    std::map<int64_t, std::multiset<std::string>> expected, found;
    for (const auto& line : Lines(fixture.info, "changelogFile"))
      expected[line["snapshot"].get<int64_t>()].insert(Describe(line));
    for (const SnapshotId id : Must(ListSnapshotIds(table)))
      for (const ManifestEntry& entry : Must(ChangelogEntries(table, Must(ReadSnapshot(table, id)))))
        found[id.value].insert(Describe(entry));
    EXPECT_EQ(found, expected);
  }
}

TEST(FixtureTables, TheLiveRowsOfEachSnapshotAddUpToItsTotal) {
  int snapshots = 0;
  for (const Fixture& fixture : AllFixtures()) {
    SCOPED_TRACE(fixture.name);
    const Table table = OpenAnyFixture(fixture.table);
    for (const SnapshotId id : Must(ListSnapshotIds(table))) {
      const Snapshot snapshot = Must(ReadSnapshot(table, id));
      int64_t rows = 0;
      for (const ManifestEntry& entry : Must(LiveFiles(table, snapshot))) rows += entry.file.row_count;
      EXPECT_EQ(rows, snapshot.total_record_count) << "snapshot " << id.value;
      int64_t delta = 0;
      for (const ManifestEntry& entry : Must(DeltaEntries(table, snapshot)))
        delta += entry.kind == EntryKind::kAdd ? entry.file.row_count : -entry.file.row_count;
      EXPECT_EQ(delta, snapshot.delta_record_count) << "snapshot " << id.value;
      ++snapshots;
    }
  }
  EXPECT_GT(snapshots, 600);
}

TEST(FixtureTables, AFilterByPartitionAndBucketGivesExactlyTheirFiles) {
  for (const Fixture& fixture : AllFixtures()) {
    if (!fixture.name.starts_with("partitioned/")) continue;
    SCOPED_TRACE(fixture.name);
    const Table table = OpenAnyFixture(fixture.table);
    const Snapshot latest = *Must(ReadLatestSnapshot(table));
    std::map<BucketPlace, std::multiset<std::string>> expected;
    std::map<BinaryRow, std::multiset<std::string>> by_partition;
    for (const ManifestEntry& entry : Must(LiveFiles(table, latest))) {
      expected[{entry.partition, entry.bucket}].insert(entry.file.name);
      by_partition[entry.partition].insert(entry.file.name);
    }
    EXPECT_GT(by_partition.size(), 1u);
    for (const auto& [key, names] : expected) {
      std::multiset<std::string> found;
      for (const ManifestEntry& entry :
           Must(LiveFiles(table, latest, {.partitions = {{key.first}}, .bucket = key.second})))
        found.insert(entry.file.name);
      EXPECT_EQ(found, names);
    }
    for (const auto& [partition, names] : by_partition) {
      std::multiset<std::string> found;
      for (const ManifestEntry& entry :
           Must(LiveFiles(table, latest, {.partitions = {{partition, partition}}, .bucket = {}})))
        found.insert(entry.file.name);
      EXPECT_EQ(found, names);
    }
  }
}

TEST(ExpiredSnapshots, AreNamedWithTheirKindAndLiveOnAsChangelogs) {
  const Table table =
      OpenAnyFixture(fs::path(HEADRACE_FIXTURES) / "time-travel/warehouse/peer.db/expired_with_changelog");
  const Status expired = ReadSnapshot(table, SnapshotId(8)).status();
  EXPECT_TRUE(IsKind(expired, ErrorKind::kSnapshotExpired));
  EXPECT_THAT(expired.message(), HasSubstr("snapshots 10 to 11"));
  EXPECT_TRUE(IsKind(ReadSnapshot(table, SnapshotId(12)).status(), ErrorKind::kNotFound));
  EXPECT_TRUE(IsKind(ReadSnapshot(table, SnapshotId(0)).status(), ErrorKind::kInvalid));

  EXPECT_EQ(*Must(FindSnapshot(table, SnapshotId(11))),
            *Must(FindSnapshotOrChangelog(table, SnapshotId(11))));
  const Snapshot changelog = *Must(FindSnapshotOrChangelog(table, SnapshotId(8)));
  EXPECT_EQ(changelog.commit_kind, CommitKind::kAppend);
  EXPECT_FALSE(Must(ChangelogEntries(table, changelog)).empty());
  EXPECT_FALSE(Must(FindSnapshotOrChangelog(table, SnapshotId(6))).has_value());
  EXPECT_TRUE(IsKind(ReadSnapshot(table, SnapshotId(6)).status(), ErrorKind::kSnapshotExpired));
  EXPECT_EQ(Must(FindChangelog(table, SnapshotId(6))), std::nullopt);
}

TEST(Snapshots, ATableWithoutAnyHasNone) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  EXPECT_EQ(Must(FindLatestSnapshotId(table)), std::nullopt);
  EXPECT_EQ(Must(ReadLatestSnapshot(table)), std::nullopt);
  const Status none = ReadSnapshot(table, SnapshotId(1)).status();
  EXPECT_TRUE(IsKind(none, ErrorKind::kNotFound));
  EXPECT_THAT(none.message(), HasSubstr("nothing has been committed"));
}

Snapshot BareSnapshot(int64_t id) {
  Snapshot snapshot;
  snapshot.id = SnapshotId(id);
  snapshot.base_manifest_list = "manifest-list-x-0";
  snapshot.delta_manifest_list = "manifest-list-x-1";
  snapshot.commit_user = "u";
  return snapshot;
}

TEST(Snapshots, AGapIsCorruptionAndSoIsAFileThatSaysAnotherId) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  for (const int64_t id : {1, 3})
    ASSERT_TRUE(
        made.store->Replace(SnapshotPath(made.table, SnapshotId(id)), SerializeSnapshot(BareSnapshot(id)))
            .ok());
  EXPECT_TRUE(IsKind(ReadSnapshot(made.table, SnapshotId(2)).status(), ErrorKind::kCorruption));
  ASSERT_TRUE(
      made.store->Replace(SnapshotPath(made.table, SnapshotId(2)), SerializeSnapshot(BareSnapshot(5))).ok());
  EXPECT_TRUE(IsKind(FindSnapshot(made.table, SnapshotId(2)).status(), ErrorKind::kCorruption));
}

TEST(Snapshots, AMissingManifestListNamesSnapshotAndFile) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  ASSERT_TRUE(
      made.store->Replace(SnapshotPath(made.table, SnapshotId(1)), SerializeSnapshot(BareSnapshot(1))).ok());
  const Status missing = LiveFiles(made.table, BareSnapshot(1)).status();
  EXPECT_TRUE(IsKind(missing, ErrorKind::kCorruption)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("snapshot 1"));
  EXPECT_THAT(missing.message(), HasSubstr("manifest-list-x-0"));
  // Without its snapshot it is expiry that took the file away.
  ASSERT_TRUE(made.store->Delete(SnapshotPath(made.table, SnapshotId(1))).ok());
  EXPECT_TRUE(IsKind(LiveFiles(made.table, BareSnapshot(1)).status(), ErrorKind::kSnapshotExpired));
}

TEST(Snapshots, AMissingManifestNamesSnapshotListAndFile) {
  const auto made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  ManifestFileMeta lost;
  lost.name = "manifest-lost-0";
  lost.added_files = 1;
  const std::string list = Must(EncodeManifestList({lost}, {}));
  const std::string none = Must(EncodeManifestList({}, {}));
  ASSERT_TRUE(made.store->Replace(ManifestPath(made.table, "manifest-list-x-0"), none).ok());
  ASSERT_TRUE(made.store->Replace(ManifestPath(made.table, "manifest-list-x-1"), list).ok());
  ASSERT_TRUE(
      made.store->Replace(SnapshotPath(made.table, SnapshotId(1)), SerializeSnapshot(BareSnapshot(1))).ok());
  const Status missing = LiveFiles(made.table, BareSnapshot(1)).status();
  EXPECT_TRUE(IsKind(missing, ErrorKind::kCorruption)) << missing;
  for (const char* part : {"snapshot 1", "manifest-list-x-1", "manifest-lost-0"})
    EXPECT_THAT(missing.message(), HasSubstr(part));
}

}  // namespace
}  // namespace headrace
