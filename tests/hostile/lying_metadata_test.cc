// Metadata whose author wishes us ill: names that lead out of the table, numbers beyond reason. Reading and writing answer with an error
// that names the file and what is wrong, and nothing outside the table is read, written or deleted.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/memory_budget.h"
#include "catalog/snapshots.h"
#include "commit/expiry.h"
#include "format/manifest.h"
#include "read/changes.h"
#include "read/scan.h"
#include "tests/hostile/guarded_warehouse.h"
#include "write/test_rows.h"

namespace headrace::hostile {
namespace {

using ::testing::HasSubstr;
using testing::IntRows;
using testing::Must;

constexpr ManifestEncoding kPlain{AvroCodec::kNull, 1};

class LyingMetadata : public GuardedWarehouse {
 protected:
  void SetUp() override { MakeTable(); }

  void MakeTable() {
    NewTable definition = Simple();
    definition.options["changelog-producer"] = "input";
    table_ = Must(catalog_.CreateTable({"db", "t"}, definition));
    ASSERT_TRUE(Write(table_, {{1, 10}, {2, 20}}, false).ok());
    ASSERT_TRUE(Write(table_, {{1, 11}}, false).ok());
    snapshot_ = *Must(ReadLatestSnapshot(table_));
  }

  static Status Write(const Table& table, const std::vector<testing::Row>& rows, bool compact) {
    MemoryBudget budget(8 << 20);
    HEADRACE_ASSIGN_OR_RETURN(const auto session, WriteSession::Open(table, {.commit_user = "u" + NewUuid(),
                                                                             .budget = &budget,
                                                                             .compactors = nullptr,
                                                                             .pool = nullptr}));
    if (!rows.empty()) HEADRACE_RETURN_NOT_OK(testing::WriteRows(session.get(), table, rows));
    if (compact) HEADRACE_RETURN_NOT_OK(session->Compact(true));
    return testing::CommitRows(session.get(), 1).status();
  }

  static Status Scan(const Table& table) {
    HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, ReadLatestSnapshot(table));
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenScan(table, *snapshot, {}));
    std::shared_ptr<arrow::RecordBatch> batch;
    do {
      HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
    } while (batch != nullptr);
    return Status::OK();
  }

  static Status Changes(const Table& table) {
    HEADRACE_ASSIGN_OR_RETURN(const auto stream, ChangeStream::Open(table, {}));
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(auto next, stream->Next());
      if (!next.has_value()) return Status::OK();
      std::shared_ptr<arrow::RecordBatch> batch;
      while (next->rows != nullptr) {
        HEADRACE_RETURN_NOT_OK(next->rows->ReadNext(&batch));
        if (batch == nullptr) break;
      }
    }
  }

  // Everything that follows names to files: reading, following, writing, compacting.
  std::map<std::string, Status> Acts() {
    return {{"read", Scan(table_)},
            {"changes", Changes(table_)},
            {"write", Write(table_, {{3, 30}}, false)},
            {"compact", Write(table_, {}, true)}};
  }

  void ExpectNoActSucceeds(ErrorKind kind, const std::vector<std::string>& words,
                           const std::vector<std::string>& acts = {"read", "changes", "write", "compact"}) {
    const auto statuses = Acts();
    for (const std::string& act : acts) {
      const Status& status = statuses.at(act);
      EXPECT_TRUE(IsKind(status, kind)) << act << ": " << status;
      for (const std::string& word : words) EXPECT_THAT(status.message(), HasSubstr(word)) << act;
    }
    ExpectNothingTaken();
  }

  // The table is dropped whole whatever it says, and takes nothing else with it.
  void ExpectNothingTaken() {
    EXPECT_TRUE(Untouched());
    EXPECT_TRUE(catalog_.DropTable({"db", "t"}).ok());
    EXPECT_FALSE(std::filesystem::exists(table_.path));
    EXPECT_TRUE(Untouched());
  }

  // Gone with its lies, and made anew.
  void MakeAnew() {
    ASSERT_TRUE(catalog_.DropTable({"db", "t"}).ok());
    EXPECT_TRUE(Untouched());
    MakeTable();
  }

  void Put(const std::string& path, const std::string& bytes) {
    ASSERT_TRUE(store_->Replace(path, bytes).ok());
  }

  void EditSnapshot(const std::function<void(nlohmann::json*)>& edit) {
    const std::string path = SnapshotPath(table_, snapshot_.id);
    nlohmann::json json = Must(ParseJson(Must(store_->ReadAll(path)), path));
    edit(&json);
    Put(path, ToJsonText(json, JsonLayout::kPretty));
  }

  // The newest snapshot's delta: its one manifest edited, with the sizes told along so that only the lie is wrong.
  void EditManifest(const std::function<void(ManifestEntry*)>& edit) {
    std::vector<ManifestFileMeta> list = Must(ReadManifestList(table_, snapshot_.delta_manifest_list));
    ASSERT_EQ(list.size(), 1u);
    std::vector<ManifestEntry> entries = Must(ReadManifest(table_, list[0]));
    for (ManifestEntry& entry : entries) edit(&entry);
    const std::string bytes = Must(EncodeManifest(entries, kPlain));
    Put(ManifestPath(table_, list[0].name), bytes);
    list[0].size_bytes = static_cast<int64_t>(bytes.size());
    PutList(list);
  }

  void EditList(const std::function<void(ManifestFileMeta*)>& edit) {
    std::vector<ManifestFileMeta> list = Must(ReadManifestList(table_, snapshot_.delta_manifest_list));
    for (ManifestFileMeta& manifest : list) edit(&manifest);
    PutList(list);
  }

  void PutList(const std::vector<ManifestFileMeta>& list) {
    const std::string bytes = Must(EncodeManifestList(list, kPlain));
    Put(ManifestPath(table_, snapshot_.delta_manifest_list), bytes);
    EditSnapshot([&](nlohmann::json* json) { (*json)["deltaManifestListSize"] = bytes.size(); });
  }

  Table table_;
  Snapshot snapshot_;
};

// From bucket-0 and from manifest/ to the folder of the other owner.
const char* const kWaysOut[] = {"../../../../elsewhere/precious",
                                "/etc/passwd",
                                "../precious",
                                "x/../../precious",
                                "..",
                                ".",
                                "",
                                "sub/file"};

TEST_F(LyingMetadata, ADataFileThatLiesElsewhereIsRefusedAndNotDeleted) {
  for (const char* way : kWaysOut) {
    EditManifest([&](ManifestEntry* entry) { entry->file.name = way; });
    const auto acts = Acts();
    for (const char* act : {"read", "write", "compact"}) {
      EXPECT_TRUE(IsKind(acts.at(act), ErrorKind::kCorruption)) << way << ", " << act << ": " << acts.at(act);
      EXPECT_THAT(acts.at(act).message(), HasSubstr("_FILE_NAME"));
      EXPECT_THAT(acts.at(act).message(), HasSubstr("/manifest/manifest-"));
    }
    EXPECT_TRUE(Untouched()) << way;
    MakeAnew();
  }
}

TEST_F(LyingMetadata, AnExtraFileThatLiesElsewhereIsRefusedAndNotDeleted) {
  EditManifest([](ManifestEntry* entry) { entry->file.extra_files = {"../../../../elsewhere/precious"}; });
  ExpectNoActSucceeds(ErrorKind::kCorruption, {"_EXTRA_FILES", "/manifest/manifest-"},
                      {"read", "write", "compact"});
}

TEST_F(LyingMetadata, AnExternalPathIsReadWhereItLeadsAndNeverDeleted) {
  // A good data file of the same shape, which another owner keeps elsewhere.
  std::string name;
  EditManifest([&](ManifestEntry* entry) {
    name = entry->file.name;
    entry->file.external_path = "file:" + Elsewhere(name);
  });
  std::filesystem::rename(table_.path + "/bucket-0/" + name, Elsewhere(name));
  TakeAsItIs();
  EXPECT_EQ(testing::ReadByKey(table_), (IntRows{{1, 11}, {2, 20}}));
  // Compacted away, it is still there: it is not ours to delete.
  EXPECT_TRUE(Write(table_, {{3, 30}}, true).ok());
  EXPECT_EQ(testing::ReadByKey(table_), (IntRows{{1, 11}, {2, 20}, {3, 30}}));
  ExpectNothingTaken();
}

TEST_F(LyingMetadata, AnExternalPathIsNotDeletedByExpiry) {
  // A snapshot says that it takes a file away which lies elsewhere, beside one of the table's own.
  std::string name;
  EditManifest([&](ManifestEntry* entry) {
    name = entry->file.name;
    entry->file.external_path = Elsewhere(name);
  });
  std::filesystem::rename(table_.path + "/bucket-0/" + name, Elsewhere(name));
  TakeAsItIs();
  ASSERT_TRUE(Write(table_, {{3, 30}}, true).ok());
  ASSERT_TRUE(Write(table_, {{4, 40}}, false).ok());
  ExpirySettings settings;
  settings.retention.snapshot_min = 1;
  settings.retention.snapshot_max = 1;
  const ExpiryPlan done = Must(Expire(table_, settings));
  EXPECT_FALSE(done.snapshots.empty());
  EXPECT_FALSE(done.of_snapshots.paths.empty());
  for (const std::string& path : done.of_snapshots.paths) EXPECT_TRUE(path.starts_with(table_.path)) << path;
  EXPECT_EQ(testing::ReadByKey(table_), (IntRows{{1, 11}, {2, 20}, {3, 30}, {4, 40}}));
  ExpectNothingTaken();
}

TEST_F(LyingMetadata, AnExternalPathThatIsNoDataFileIsAnErrorThatNamesIt) {
  EditManifest([&](ManifestEntry* entry) { entry->file.external_path = Elsewhere("data-1.parquet"); });
  ExpectNoActSucceeds(ErrorKind::kCorruption, {"elsewhere/data-1.parquet"}, {"read", "compact"});
}

TEST_F(LyingMetadata, AnExternalPathThatIsNotAbsoluteOrOfAnotherStoreIsRefused) {
  for (const char* path : {"precious", "../precious", "file:precious", "/a/../b", "file:///a/../../b", "/",
                           "", "//x", "s3://bucket/data-1.parquet", "oss:/x"}) {
    EditManifest([&](ManifestEntry* entry) { entry->file.external_path = path; });
    const Status read = Scan(table_);
    const bool other_store =
        std::string_view(path).starts_with("s3") || std::string_view(path).starts_with("oss");
    EXPECT_TRUE(IsKind(read, other_store ? ErrorKind::kUnsupported : ErrorKind::kCorruption))
        << path << ": " << read;
    EXPECT_THAT(read.message(), HasSubstr("external path"));
    EXPECT_THAT(read.message(), HasSubstr("data-"));
  }
  ExpectNothingTaken();
}

TEST_F(LyingMetadata, AManifestThatLiesElsewhereIsRefused) {
  for (const char* way : kWaysOut) {
    EditList([&](ManifestFileMeta* manifest) { manifest->name = way; });
    const auto acts = Acts();
    for (const char* act : {"read", "write", "compact"}) {
      EXPECT_TRUE(IsKind(acts.at(act), ErrorKind::kCorruption)) << way << ", " << act << ": " << acts.at(act);
      EXPECT_THAT(acts.at(act).message(), HasSubstr("_FILE_NAME"));
      EXPECT_THAT(acts.at(act).message(), HasSubstr("/manifest/manifest-list-"));
    }
    EXPECT_TRUE(Untouched()) << way;
    MakeAnew();
  }
}

TEST_F(LyingMetadata, ASnapshotWhoseFilesLieElsewhereIsRefused) {
  for (const char* key :
       {"baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics"}) {
    for (const char* way : kWaysOut) {
      const std::string path = SnapshotPath(table_, snapshot_.id);
      const std::string right = Must(store_->ReadAll(path));
      EditSnapshot([&](nlohmann::json* json) { (*json)[key] = way; });
      for (const auto& [act, status] : Acts()) {
        EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption))
            << key << " " << way << ", " << act << ": " << status;
        EXPECT_THAT(status.message(), HasSubstr(key));
        EXPECT_THAT(status.message(), HasSubstr("/snapshot/snapshot-2"));
      }
      Put(path, right);
    }
  }
  EXPECT_TRUE(Scan(table_).ok());
  ExpectNothingTaken();
}

TEST_F(LyingMetadata, AnOptionThatLeadsElsewhereKeepsTheTableFromBeingOpened) {
  for (const char* option : {"data-file.path-directory", "data-file.prefix", "changelog-file.prefix"}) {
    for (const char* way : {"../elsewhere", "..", "/etc", "a/../../b"}) {
      TableSchema schema = *table_.schema;
      schema.options[option] = way;
      Put(table_.path + "/schema/schema-0", SerializeTableSchema(schema));
      for (const Access access : {Access::kRead, Access::kWrite}) {
        const Status refused = catalog_.OpenTable({"db", "t"}, access).status();
        EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid)) << option << "=" << way << ": " << refused;
        EXPECT_THAT(refused.message(), HasSubstr(option));
      }
    }
  }
  ExpectNothingTaken();
}

TEST_F(LyingMetadata, HintsThatLeadElsewhereAreNoHints) {
  for (const char* hint : {"../../elsewhere/snapshot/snapshot-1", "/etc/passwd", "-1", "99999999999999999999",
                           "1e9", "", "0x1", "2\n", " 2"}) {
    Put(table_.path + "/snapshot/LATEST", hint);
    Put(table_.path + "/snapshot/EARLIEST", hint);
    EXPECT_EQ(Must(FindLatestSnapshotId(table_)), snapshot_.id) << hint;
    EXPECT_EQ(Must(FindEarliestSnapshotId(table_)), SnapshotId(1)) << hint;
    EXPECT_TRUE(Scan(table_).ok());
  }
  ExpectNothingTaken();
}

TEST_F(LyingMetadata, CountsBeyondReasonAreAnErrorAndNoAllocation) {
  const std::vector<std::pair<const char*, std::function<void(ManifestEntry*)>>> lies = {
      {"rows", [](ManifestEntry* entry) { entry->file.row_count = int64_t{1} << 62; }},
      {"no rows", [](ManifestEntry* entry) { entry->file.row_count = 0; }},
      {"bytes", [](ManifestEntry* entry) { entry->file.size_bytes = int64_t{1} << 62; }},
      {"schema", [](ManifestEntry* entry) { entry->file.schema_id = SchemaId(1'000'000'000); }},
      {"min key", [](ManifestEntry* entry) { entry->file.min_key = BinaryRow{}; }},
      {"max key",
       [](ManifestEntry* entry) {
         entry->file.max_key = BinaryRow{1'000'000, std::string(8, '\xff')};
       }},
  };
  for (const auto& [what, lie] : lies) {
    EditManifest(lie);
    const Status read = Scan(table_);
    EXPECT_FALSE(read.ok()) << what;
    EXPECT_TRUE(IsKind(read, ErrorKind::kCorruption) || IsKind(read, ErrorKind::kNotFound))
        << what << ": " << read;
    EXPECT_THAT(read.message(),
                ::testing::AnyOf(HasSubstr("data file data-"), HasSubstr("/bucket-0/data-"),
                                 HasSubstr("/manifest/manifest-"), HasSubstr("/schema/schema-1000000000")))
        << what;
    MakeAnew();
  }
}

}  // namespace
}  // namespace headrace::hostile
