#include "format/manifest.h"

#include <random>

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/avro_bytes.h"
#include "format/avro_container.h"

namespace headrace {
namespace {

using testing::HasSubstr;

ManifestEntry RandomEntry(std::mt19937* random) {
  const auto number = [random](int64_t most) {
    return static_cast<int64_t>((*random)() % static_cast<uint64_t>(most));
  };
  ManifestEntry entry;
  entry.kind = number(2) == 0 ? EntryKind::kAdd : EntryKind::kDelete;
  entry.bucket = BucketId(static_cast<int32_t>(number(10)) - 2);
  entry.total_buckets = static_cast<int32_t>(number(12)) - 2;
  entry.partition = {1, std::string(16, static_cast<char>(number(256)))};
  entry.file.name = "data-" + std::to_string(number(1000000)) + ".parquet";
  entry.file.size_bytes = number(1LL << 40);
  entry.file.row_count = number(1000000);
  entry.file.level = Level(static_cast<int32_t>(number(6)));
  entry.file.min_sequence = -1 + number(5);
  entry.file.max_sequence = entry.file.min_sequence + number(1000);
  entry.file.key_stats.null_counts = {0, std::nullopt, 7};
  if (number(2) == 0) entry.file.extra_files = {"a.index", "b"};
  if (number(2) == 0) entry.file.creation_local_ms = -number(1LL << 40);
  if (number(2) == 0) entry.file.delete_row_count = number(100);
  if (number(2) == 0) entry.file.embedded_index = std::string(static_cast<size_t>(number(300)), '\0');
  if (number(2) == 0) entry.file.source = FileSource::kCompact;
  if (number(2) == 0)
    entry.file.value_stats_columns = std::vector<std::string>(static_cast<size_t>(number(3)), "col");
  if (number(2) == 0) entry.file.external_path = "s3://elsewhere/x";
  if (number(2) == 0) entry.file.first_row_id = number(1000);
  if (number(2) == 0) entry.file.write_columns = std::vector<std::string>{"x"};
  return entry;
}

ManifestEntry EntryNamed(std::string name) {
  ManifestEntry entry;
  entry.file.name = std::move(name);
  return entry;
}

TEST(Manifest, RandomEntriesComeBackThroughEveryCodec) {
  std::mt19937 random(11);
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 2000; ++i) entries.push_back(RandomEntry(&random));
  for (const AvroCodec codec :
       {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstd}) {
    const std::string bytes = EncodeManifest(entries, {codec, 3}).ValueOrDie();
    auto back = DecodeManifest(bytes, "m");
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, entries);
  }
}

TEST(Manifest, AFilterSeesTheHeadAndSparesTheRest) {
  std::mt19937 random(3);
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 3000; ++i) entries.push_back(RandomEntry(&random));
  const auto wanted = [](const ManifestEntry& head) {
    return head.bucket == BucketId(3) && head.kind == EntryKind::kAdd;
  };
  std::vector<ManifestEntry> expected;
  std::copy_if(entries.begin(), entries.end(), std::back_inserter(expected), wanted);
  const std::string bytes = EncodeManifest(entries, {}).ValueOrDie();
  EXPECT_EQ(DecodeManifestWhere(bytes, "m", wanted, EntryDetail::kWhole).ValueOrDie(), expected);
  EXPECT_EQ(DecodeManifestWhere(bytes, "m", nullptr, EntryDetail::kWhole).ValueOrDie(), entries);
  for (ManifestEntry& entry : expected) {
    entry.file.key_stats = {};
    entry.file.value_stats = {};
    entry.file.value_stats_columns = {};
  }
  EXPECT_EQ(DecodeManifestWhere(bytes, "m", wanted, EntryDetail::kWithoutStatistics).ValueOrDie(), expected);
}

TEST(Manifest, ListsAndIndexManifestsComeBack) {
  ManifestFileMeta manifest;
  manifest.name = "manifest-x-0";
  manifest.size_bytes = 1000;
  manifest.added_files = 3;
  manifest.min_bucket = -2;
  manifest.max_level = 5;
  EXPECT_EQ(DecodeManifestList(EncodeManifestList({manifest}, {}).ValueOrDie(), "l").ValueOrDie(),
            std::vector{manifest});
  EXPECT_TRUE(DecodeManifestList(EncodeManifestList({}, {}).ValueOrDie(), "l").ValueOrDie().empty());
  IndexManifestEntry index;
  index.index_type = "DELETION_VECTORS";
  index.file_name = "index-x-0";
  index.deletion_vectors =
      std::vector<DeletionVectorRange>{{"a.parquet", 1, 22, 1}, {"b.parquet", 31, 22, std::nullopt}};
  EXPECT_EQ(DecodeIndexManifest(EncodeIndexManifest({index}, {}).ValueOrDie(), "i").ValueOrDie(),
            std::vector{index});
}

TEST(Manifest, AWriterWithMoreFieldsInAnotherOrderAndOtherUnionsIsRead) {
  // As another implementation might write a manifest list: no record names we know, null last, plain types, unknown fields.
  constexpr std::string_view schema = R"({"type":"record","name":"ManifestFileMeta","fields":[
    {"name":"_X","type":{"type":"map","values":["null","double"]}},
    {"name":"_FILE_SIZE","type":"int"},{"name":"_FILE_NAME","type":"bytes"},{"name":"_VERSION","type":["long","null"]},
    {"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},
    {"name":"_PARTITION_STATS","type":["null",{"type":"record","name":"s","fields":[
      {"name":"_NULL_COUNTS","type":{"type":"array","items":["long","null"]}},
      {"name":"_MAX_VALUES","type":"bytes"},{"name":"_MIN_VALUES","type":"bytes"}]}]},
    {"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["int","null"]},{"name":"_MAX_BUCKET","type":"int"},
    {"name":"_MIN_LEVEL","type":"null"},{"name":"_EXTRA_FILES","type":["null",{"type":"array","items":"string"}]}]})";
  AvroFileWriter writer(schema, AvroCodec::kNull, 1);
  std::string& out = *writer.buffer();
  const std::string row = SerializeBinaryRow(BinaryRow{});
  AppendAvroLong(0, &out);  // _X
  AppendAvroLong(77, &out);
  AppendAvroBytes("m-1", &out);
  AppendAvroLong(0, &out), AppendAvroLong(2, &out);  // _VERSION
  AppendAvroLong(5, &out), AppendAvroLong(6, &out);
  AppendAvroLong(1, &out);  // _PARTITION_STATS
  AppendAvroLong(2, &out), AppendAvroLong(0, &out), AppendAvroLong(4, &out), AppendAvroLong(1, &out),
      AppendAvroLong(0, &out);
  AppendAvroBytes(row, &out), AppendAvroBytes(row, &out);
  AppendAvroLong(3, &out);
  AppendAvroLong(1, &out);  // _MIN_BUCKET null
  AppendAvroLong(8, &out);
  AppendAvroLong(1, &out), AppendAvroLong(1, &out), AppendAvroBytes("sidecar", &out), AppendAvroLong(0, &out);
  ASSERT_TRUE(writer.EndRecord().ok());
  auto list = DecodeManifestList(writer.Finish().ValueOrDie(), "other");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  ASSERT_EQ(list->size(), 1U);
  const ManifestFileMeta& manifest = (*list)[0];
  EXPECT_EQ(manifest.name, "m-1");
  EXPECT_EQ(manifest.size_bytes, 77);
  EXPECT_EQ(manifest.partition_stats.null_counts, (std::vector<std::optional<int64_t>>{4, std::nullopt}));
  EXPECT_EQ(manifest.min_bucket, std::nullopt);
  EXPECT_EQ(manifest.max_bucket, 8);
  EXPECT_EQ(manifest.min_level, std::nullopt);
}

TEST(Manifest, MissingRequiredFieldsAndOtherVersionsAreCorruption) {
  AvroFileWriter writer(R"({"type":"record","name":"r","fields":[{"name":"_VERSION","type":"int"}]})",
                        AvroCodec::kNull, 1);
  EXPECT_THAT(DecodeManifest(writer.Finish().ValueOrDie(), "manifest-1").status().message(),
              HasSubstr("manifest-1: the Avro schema has no field _KIND"));
  std::string bytes = EncodeManifest({EntryNamed("f")}, {AvroCodec::kNull, 1}).ValueOrDie();
  const size_t header = EncodeManifest({}, {AvroCodec::kNull, 1}).ValueOrDie().size();
  const size_t record = header + 1 + (static_cast<unsigned char>(bytes[header + 1]) >= 0x80 ? 2 : 1);
  ASSERT_EQ(bytes[record], 4);  // _VERSION 2
  bytes[record] = 2;
  EXPECT_THAT(DecodeManifest(bytes, "manifest-1").status().message(),
              HasSubstr("record 0, field _VERSION: another format version"));
}

TEST(Manifest, NamesThatLeadElsewhereAreCorruption) {
  for (const char* name : {"", "..", "a/b", "../../etc/passwd"}) {
    const std::string bytes = EncodeManifest({EntryNamed(name)}, {}).ValueOrDie();
    EXPECT_TRUE(IsKind(DecodeManifest(bytes, "m").status(), ErrorKind::kCorruption)) << name;
    ManifestEntry with_extra = EntryNamed("f");
    with_extra.file.extra_files = {name};
    const std::string extra = EncodeManifest({with_extra}, {}).ValueOrDie();
    EXPECT_TRUE(IsKind(DecodeManifest(extra, "m").status(), ErrorKind::kCorruption)) << name;
  }
}

TEST(Manifest, EveryFlippedByteGivesAnErrorOrEntriesButNoCrash) {
  std::mt19937 random(5);
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 2; ++i) entries.push_back(RandomEntry(&random));
  const std::string bytes = EncodeManifest(entries, {AvroCodec::kNull, 1}).ValueOrDie();
  // Inside the schema's text every seventh byte will do: the fuzzer does the rest.
  const size_t schema_end = EncodeManifest({}, {AvroCodec::kNull, 1}).ValueOrDie().size() - 60;
  for (size_t at = 0; at < bytes.size(); at += at < schema_end ? 7 : 1) {
    for (const int flip : {1, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      (void)DecodeManifest(damaged, "m");
    }
  }
}

TEST(IndexManifest, EntriesOfNewerWritersAreReadButNotWrittenBack) {
  IndexManifestEntry entry;
  entry.index_type = "btree";
  entry.file_name = "i";
  entry.has_global_index = true;
  EXPECT_TRUE(IsKind(EncodeIndexManifest({entry}, {}).status(), ErrorKind::kUnsupported));
}

TEST(Identity, TellsApartWhatTheManifestTellsApart) {
  const ManifestEntry base = EntryNamed("f");
  std::vector<ManifestEntry> others(7, base);
  others[0].partition = {1, std::string(16, '\0')};
  others[1].bucket = BucketId(1);
  others[2].file.level = Level(1);
  others[3].file.extra_files = {"x"};
  others[4].file.embedded_index = "";
  others[5].file.external_path = "p";
  others[6].file.name = "g";
  for (const ManifestEntry& other : others) EXPECT_NE(IdentityOf(base), IdentityOf(other));
  ManifestEntry same = base;
  same.kind = EntryKind::kDelete;
  same.file.row_count = 9;
  EXPECT_EQ(IdentityOf(base), IdentityOf(same));
}

std::shared_ptr<arrow::DataType> StatsArrowType() {
  return arrow::struct_({arrow::field("_MIN_VALUES", arrow::binary()),
                         arrow::field("_MAX_VALUES", arrow::binary()),
                         arrow::field("_NULL_COUNTS", arrow::list(arrow::int64()))});
}

std::shared_ptr<arrow::Array> BytesColumn(const std::string& value, int64_t rows) {
  return ArrayOf(Value(value), ParseDataType("BYTES").ValueOrDie(), rows, arrow::default_memory_pool())
      .ValueOrDie();
}

std::shared_ptr<arrow::Array> StatsColumn(int64_t rows) {
  const std::string row = SerializeBinaryRow(BinaryRow{});
  const auto counts = arrow::json::ArrayFromJSONString(arrow::list(arrow::int64()),
                                                       rows == 1 ? "[[1, null]]" : "[[1, null], []]")
                          .ValueOrDie();
  return arrow::StructArray::Make({BytesColumn(row, rows), BytesColumn(row, rows), counts},
                                  StatsArrowType()->fields())
      .ValueOrDie();
}

std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const char* text) {
  return arrow::json::ArrayFromJSONString(type, text).ValueOrDie();
}

TEST(ManifestFromBatch, ReadsAManifestList) {
  const arrow::ArrayVector columns = {Json(arrow::int32(), "[2, 2]"),   Json(arrow::utf8(), R"(["a", "b"])"),
                                      Json(arrow::int64(), "[10, 20]"), Json(arrow::int64(), "[1, 2]"),
                                      Json(arrow::int64(), "[0, 0]"),   StatsColumn(2),
                                      Json(arrow::int64(), "[0, 7]"),   Json(arrow::int32(), "[null, 3]")};
  const auto schema = arrow::schema(
      {arrow::field("_VERSION", arrow::int32()), arrow::field("_FILE_NAME", arrow::utf8()),
       arrow::field("_FILE_SIZE", arrow::int64()), arrow::field("_NUM_ADDED_FILES", arrow::int64()),
       arrow::field("_NUM_DELETED_FILES", arrow::int64()), arrow::field("_PARTITION_STATS", StatsArrowType()),
       arrow::field("_SCHEMA_ID", arrow::int64()), arrow::field("_MIN_BUCKET", arrow::int32())});
  const auto batch = arrow::RecordBatch::Make(schema, 2, columns);
  auto list = ManifestListFromBatch(*batch, "m.parquet");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_EQ((*list)[0].partition_stats.null_counts, (std::vector<std::optional<int64_t>>{1, std::nullopt}));
  EXPECT_EQ((*list)[1].min_bucket, 3);
  EXPECT_EQ((*list)[1].schema_id, SchemaId(7));
  auto no_name = ManifestListFromBatch(*batch->RemoveColumn(1).ValueOrDie(), "m.parquet");
  EXPECT_THAT(no_name.status().message(),
              HasSubstr("m.parquet: record 0, field _FILE_NAME: the column is missing"));
}

TEST(ManifestFromBatch, ReadsIndexEntriesWithRanges) {
  const auto range =
      arrow::struct_({arrow::field("f0", arrow::utf8()), arrow::field("f1", arrow::int32()),
                      arrow::field("f2", arrow::int32()), arrow::field("_CARDINALITY", arrow::int64())});
  const arrow::ArrayVector columns = {
      Json(arrow::int32(), "[1]"),
      Json(arrow::int32(), "[0]"),
      BytesColumn(SerializeBinaryRow(BinaryRow{}), 1),
      Json(arrow::int32(), "[2]"),
      Json(arrow::utf8(), R"(["DELETION_VECTORS"])"),
      Json(arrow::utf8(), R"(["index-1"])"),
      Json(arrow::int64(), "[9]"),
      Json(arrow::int64(), "[1]"),
      Json(arrow::list(range), R"([[{"f0": "d", "f1": 1, "f2": 22, "_CARDINALITY": null}]])")};
  const char* names[] = {"_VERSION",   "_KIND",       "_PARTITION",
                         "_BUCKET",    "_INDEX_TYPE", "_FILE_NAME",
                         "_FILE_SIZE", "_ROW_COUNT",  "_DELETIONS_VECTORS_RANGES"};
  arrow::FieldVector fields;
  for (size_t i = 0; i < columns.size(); ++i) fields.push_back(arrow::field(names[i], columns[i]->type()));
  auto entries =
      IndexManifestFromBatch(*arrow::RecordBatch::Make(arrow::schema(fields), 1, columns), "i.orc");
  ASSERT_TRUE(entries.ok()) << entries.status().ToString();
  EXPECT_EQ((*entries)[0].deletion_vectors, (std::vector<DeletionVectorRange>{{"d", 1, 22, std::nullopt}}));
}

TEST(ManifestFromBatch, ReadsDataFileEntries) {
  const auto file_type = arrow::struct_(
      {arrow::field("_FILE_NAME", arrow::utf8()), arrow::field("_FILE_SIZE", arrow::int64()),
       arrow::field("_ROW_COUNT", arrow::int64()), arrow::field("_MIN_KEY", arrow::binary()),
       arrow::field("_MAX_KEY", arrow::binary()), arrow::field("_KEY_STATS", StatsArrowType()),
       arrow::field("_VALUE_STATS", StatsArrowType()), arrow::field("_MIN_SEQUENCE_NUMBER", arrow::int64()),
       arrow::field("_MAX_SEQUENCE_NUMBER", arrow::int64()), arrow::field("_SCHEMA_ID", arrow::int64()),
       arrow::field("_LEVEL", arrow::int32()), arrow::field("_EXTRA_FILES", arrow::list(arrow::utf8())),
       arrow::field("_CREATION_TIME", arrow::timestamp(arrow::TimeUnit::NANO))});
  const std::string row = SerializeBinaryRow(BinaryRow{});
  const auto file =
      arrow::StructArray::Make(
          {Json(arrow::utf8(), R"(["f"])"), Json(arrow::int64(), "[1]"), Json(arrow::int64(), "[2]"),
           BytesColumn(row, 1), BytesColumn(row, 1), StatsColumn(1), StatsColumn(1),
           Json(arrow::int64(), "[3]"), Json(arrow::int64(), "[4]"), Json(arrow::int64(), "[5]"),
           Json(arrow::int32(), "[6]"), Json(arrow::list(arrow::utf8()), R"([["x"]])"),
           Json(arrow::timestamp(arrow::TimeUnit::NANO), "[-1]")},
          file_type->fields())
          .ValueOrDie();
  const arrow::ArrayVector columns = {Json(arrow::int32(), "[2]"),  Json(arrow::int32(), "[1]"),
                                      BytesColumn(row, 1),          Json(arrow::int32(), "[0]"),
                                      Json(arrow::int32(), "[-1]"), file};
  const char* names[] = {"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"};
  arrow::FieldVector fields;
  for (size_t i = 0; i < columns.size(); ++i) fields.push_back(arrow::field(names[i], columns[i]->type()));
  auto entries = ManifestFromBatch(*arrow::RecordBatch::Make(arrow::schema(fields), 1, columns), "m");
  ASSERT_TRUE(entries.ok()) << entries.status().ToString();
  const ManifestEntry& entry = (*entries)[0];
  EXPECT_EQ(entry.kind, EntryKind::kDelete);
  EXPECT_EQ(entry.file.level, Level(6));
  EXPECT_EQ(entry.file.extra_files, std::vector<std::string>{"x"});
  EXPECT_EQ(entry.file.creation_local_ms, -1);
}

}  // namespace
}  // namespace headrace
