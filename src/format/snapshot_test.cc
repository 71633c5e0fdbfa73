#include "format/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLeast =
    R"({"id": 1, "schemaId": 0, "baseManifestList": "b", "deltaManifestList": "d", "commitUser": "u",
  "commitIdentifier": 9223372036854775807, "commitKind": "APPEND", "timeMillis": 5)";

TEST(Snapshot, UnknownKeysAreIgnoredAndNullIsAbsent) {
  auto snapshot =
      ParseSnapshot(std::string(kLeast) +
                        R"(, "writerVersion": "python-2.1.0", "operation": "WRITE", "logOffsets": {"0": 5},
    "changelogManifestList": null, "watermark": null, "properties": null, "uuid": "u-1"})",
                    "snapshot-1");
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().ToString();
  EXPECT_EQ(snapshot->version, 1);
  EXPECT_EQ(snapshot->uuid, "u-1");
  EXPECT_EQ(snapshot->changelog_manifest_list, std::nullopt);
  EXPECT_EQ(snapshot->commit_identifier, INT64_MAX);
  EXPECT_EQ(snapshot->total_record_count, std::nullopt);
}

TEST(Snapshot, EveryFieldComesBack) {
  Snapshot snapshot;
  snapshot.uuid = "2f0b";
  snapshot.id = SnapshotId(7);
  snapshot.schema_id = SchemaId(2);
  snapshot.base_manifest_list = "base";
  snapshot.base_manifest_list_bytes = 1;
  snapshot.delta_manifest_list = "delta";
  snapshot.delta_manifest_list_bytes = 2;
  snapshot.changelog_manifest_list = "changes";
  snapshot.changelog_manifest_list_bytes = 3;
  snapshot.index_manifest = "index";
  snapshot.commit_user = "us\"er\n";
  snapshot.commit_identifier = -4;
  snapshot.commit_kind = CommitKind::kAnalyze;
  snapshot.time_millis = 5;
  snapshot.total_record_count = 6;
  snapshot.delta_record_count = -7;
  snapshot.changelog_record_count = 8;
  snapshot.watermark = INT64_MIN;
  snapshot.statistics = "stat";
  snapshot.properties = {{"headrace.position.j", "{\"a\":1}"}, {"b", ""}};
  snapshot.next_row_id = 9;
  auto back = ParseSnapshot(SerializeSnapshot(snapshot), "s");
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, snapshot);
  EXPECT_EQ(ParseTag(SerializeSnapshot(snapshot), "t").ValueOrDie(),
            (Tag{snapshot, std::nullopt, std::nullopt}));
}

TEST(Snapshot, DamageNamesTheFileAndTheKey) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "snapshot-3"},
      {"[]", "snapshot-3"},
      {std::string(kLeast), "snapshot-3"},
      {"{}", "id"},
      {std::string(kLeast) + R"(, "id": "x"})", "id"},
      {std::string(kLeast) + R"(, "commitKind": "MERGE"})", "commitKind"},
      {std::string(kLeast) + R"(, "totalRecordCount": 1.5})", "totalRecordCount"},
      {std::string(kLeast) + R"(, "properties": {"a": 1}})", "properties"},
      {std::string(kLeast) + R"(, "deltaManifestList": "b"})", "deltaManifestList"},
      {std::string(kLeast) + R"(, "changelogManifestList": "b"})", "changelogManifestList"},
      {std::string(kLeast) + R"(, "changelogManifestList": "d"})", "changelogManifestList"},
      {std::string(kLeast) + R"(, "changelogManifestListSize": 7})", "changelogManifestList"},
      {std::string(kLeast) + R"(, "baseManifestList": "../b"})", "baseManifestList"},
      {std::string(kLeast) + R"(, "deltaManifestList": ""})", "deltaManifestList"},
      {std::string(kLeast) + R"(, "changelogManifestList": "a/b"})", "changelogManifestList"},
      {std::string(kLeast) + R"(, "indexManifest": ".."})", "indexManifest"},
      {std::string(kLeast) + R"(, "statistics": "/etc/passwd"})", "statistics"}};
  for (const auto& [json, wanted] : cases) {
    const Status status = ParseSnapshot(json, "snapshot-3").status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << json;
    EXPECT_THAT(status.message(), HasSubstr(wanted));
  }
  EXPECT_TRUE(IsKind(ParseSnapshot(std::string(kLeast) + R"(, "version": 4})", "s").status(),
                     ErrorKind::kUnsupported));
}

TEST(Tag, TimesLeaveOutWhatJavaLeavesOut) {
  const auto parse = [](const std::string& extra) {
    return ParseTag(std::string(kLeast) + "," + extra + "}", "tag-t");
  };
  auto tag = parse(R"("tagCreateTime": [2024, 2, 29, 0, 0], "tagTimeRetained": 0.5)");
  ASSERT_TRUE(tag.ok()) << tag.status().ToString();
  EXPECT_EQ(tag->create_local_time, (Timestamp{1709164800000, 0}));
  EXPECT_EQ(tag->retained, (TagRetention{0, 500000000}));
  EXPECT_THAT(SerializeTag(*tag), HasSubstr("\"tagCreateTime\" : [ 2024, 2, 29, 0, 0 ]"));
  EXPECT_THAT(SerializeTag(*tag), HasSubstr("\"tagTimeRetained\" : 0.500000000"));
  tag = parse(R"("tagCreateTime": [2024, 2, 29, 23, 59, 0, 1], "tagTimeRetained": 9223372036854775807)");
  EXPECT_THAT(SerializeTag(*tag), HasSubstr("[ 2024, 2, 29, 23, 59, 0, 1 ]"));
  EXPECT_EQ(tag->retained->seconds, INT64_MAX);
  for (const char* bad :
       {R"("tagCreateTime": [2024])", R"("tagCreateTime": [2024, 13, 1, 0, 0])", R"("tagCreateTime": "now")",
        R"("tagTimeRetained": "1")", R"("tagTimeRetained": -1)", R"("tagTimeRetained": 1e300)"}) {
    EXPECT_TRUE(IsKind(parse(bad).status(), ErrorKind::kCorruption)) << bad;
  }
}

}  // namespace
}  // namespace headrace
