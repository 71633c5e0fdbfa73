// Every metadata file of the fixture tables: decoding and encoding again gives the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/avro_container.h"
#include "format/golden_files.h"
#include "format/manifest.h"
#include "format/snapshot.h"
#include "format/table_schema.h"

namespace headrace {
namespace {

struct Container {
  std::string schema;
  AvroCodec codec = AvroCodec::kNull;
  std::vector<std::pair<int64_t, std::string>> blocks;
  bool operator==(const Container&) const = default;
};

Container Unpack(std::string_view bytes) {
  Container container;
  auto reader = AvroFileReader::Open(bytes, "golden");
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  if (!reader.ok()) return container;
  container.schema = reader->schema_json();
  container.codec = reader->codec();
  AvroBlock block;
  while (true) {
    auto more = reader->Next(&block);
    EXPECT_TRUE(more.ok()) << more.status().ToString();
    if (!more.ok() || !*more) return container;
    container.blocks.emplace_back(block.records, std::string(block.bytes));
  }
}

template <typename Decode, typename Encode>
int CheckManifests(std::string_view prefix, std::string_view not_prefix, Decode decode, Encode encode) {
  int checked = 0;
  for (const auto& path : GoldenFiles("manifest", prefix)) {
    if (!not_prefix.empty() && path.filename().string().starts_with(not_prefix)) continue;
    const std::string bytes = ReadGolden(path);
    if (DetectManifestContainer(bytes, "golden").ValueOrDie() != ManifestContainer::kAvro) continue;
    auto records = decode(bytes, path.string());
    EXPECT_TRUE(records.ok()) << records.status().ToString();
    if (!records.ok()) continue;
    const Container before = Unpack(bytes);
    auto again = encode(*records, ManifestEncoding{before.codec, 1});
    EXPECT_TRUE(again.ok()) << again.status().ToString();
    if (!again.ok()) continue;
    EXPECT_EQ(Unpack(*again), before) << path;
    ++checked;
  }
  return checked;
}

TEST(GoldenFiles, ManifestListsReencodeToTheSameRecordsAndHeader) {
  EXPECT_GT(CheckManifests("manifest-list-", "", DecodeManifestList, EncodeManifestList), 1400);
}

TEST(GoldenFiles, ManifestsReencodeToTheSameRecordsAndHeader) {
  EXPECT_GT(CheckManifests("manifest-", "manifest-list-", DecodeManifest, EncodeManifest), 800);
}

TEST(GoldenFiles, IndexManifestsReencodeToTheSameRecordsAndHeader) {
  EXPECT_GT(CheckManifests("index-manifest-", "", DecodeIndexManifest, EncodeIndexManifest), 20);
}

TEST(GoldenFiles, SchemasReencodeToTheSameBytes) {
  int checked = 0;
  for (const auto& path : GoldenFiles("schema", "schema-")) {
    const std::string bytes = ReadGolden(path);
    auto schema = ParseTableSchema(bytes, path.string());
    if (bytes.find("VARIANT") != std::string::npos) {
      EXPECT_TRUE(IsKind(schema.status(), ErrorKind::kUnsupported)) << path;
      continue;
    }
    ASSERT_TRUE(schema.ok()) << schema.status().ToString();
    EXPECT_EQ(SerializeTableSchema(*schema), bytes) << path;
    ++checked;
  }
  EXPECT_GT(checked, 190);
}

TEST(GoldenFiles, SnapshotsAndLongLivedChangelogsReencodeToTheSameBytes) {
  int checked = 0;
  for (const char* folder : {"snapshot", "changelog"}) {
    for (const auto& path : GoldenFiles(folder, std::string(folder) + "-")) {
      const std::string bytes = ReadGolden(path);
      auto snapshot = ParseSnapshot(bytes, path.string());
      ASSERT_TRUE(snapshot.ok()) << snapshot.status().ToString();
      EXPECT_EQ(SerializeSnapshot(*snapshot), bytes) << path;
      ++checked;
    }
  }
  EXPECT_GT(checked, 690);
}

TEST(GoldenFiles, TagsReencodeToTheSameBytes) {
  int checked = 0;
  for (const auto& path : GoldenFiles("tag", "tag-")) {
    const std::string bytes = ReadGolden(path);
    auto tag = ParseTag(bytes, path.string());
    ASSERT_TRUE(tag.ok()) << tag.status().ToString();
    EXPECT_EQ(SerializeTag(*tag), bytes) << path;
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

}  // namespace
}  // namespace headrace
