#include "format/avro_rows.h"

#include <filesystem>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/avro_container.h"
#include "format/golden_files.h"
#include "format/table_schema.h"

namespace headrace {
namespace {

struct GoldenFile {
  std::filesystem::path path;
  std::vector<DataField> fields;  // of the file
};

// Java's Avro files with the columns they were written with: those of a primary-key table have key, number and kind in front.
std::vector<GoldenFile> AvroFiles() {
  std::vector<GoldenFile> found;
  for (const auto& [fixture, table] :
       {std::pair("types-avro", "pk"), std::pair("types-avro", "appended"),
        std::pair("types-avro", "multisets"), std::pair("bucket-postpone", "t")}) {
    const std::filesystem::path folder = GoldenTable(fixture, table);
    const auto schema = ParseTableSchema(ReadGolden(folder / "schema/schema-0"), "schema-0");
    if (!schema.ok()) schema.status().Abort();
    std::vector<DataField> fields;
    if (schema->has_primary_key()) {
      for (DataField key : schema->FieldsOf(schema->TrimmedPrimaryKeys())) {
        key.name = std::string(kKeyPrefix) + key.name;
        fields.push_back(std::move(key));
      }
      fields.push_back({1, "_SEQUENCE_NUMBER", *ParseDataType("BIGINT NOT NULL"), {}, {}});
      fields.push_back({2, "_VALUE_KIND", *ParseDataType("TINYINT NOT NULL"), {}, {}});
    }
    fields.insert(fields.end(), schema->fields.begin(), schema->fields.end());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".avro") found.push_back({entry.path(), fields});
  }
  return found;
}

TEST(AvroRows, OfJavaAreReadAndWrittenByteForByte) {
  int files = 0;
  for (const GoldenFile& golden : AvroFiles()) {
    SCOPED_TRACE(golden.path);
    const std::string bytes = ReadGolden(golden.path);
    auto reader = AvroFileReader::Open(bytes, golden.path.string());
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const auto schema = AvroSchemaOf(golden.fields);
    ASSERT_TRUE(schema.ok()) << schema.status().message();
    EXPECT_EQ(*schema, reader->schema_json());
    const auto decoder =
        AvroRowDecoder::Make(*ParseAvroSchema(reader->schema_json(), "header"), golden.fields,
                             golden.path.string(), arrow::default_memory_pool());
    ASSERT_TRUE(decoder.ok()) << decoder.status().message();
    AvroBlock block;
    while (*reader->Next(&block)) {
      AvroCursor cursor(block.bytes);
      for (int64_t i = 0; i < block.records; ++i)
        ASSERT_TRUE(*(*decoder)->TakeRow(&cursor)) << "record " << i;
      EXPECT_EQ(cursor.remaining(), 0u);
      const auto columns = (*decoder)->Finish();
      ASSERT_TRUE(columns.ok()) << columns.status().message();
      for (const auto& column : *columns) ASSERT_TRUE(column->ValidateFull().ok());
      const auto encoder = AvroRowEncoder::Make(golden.fields, *columns);
      ASSERT_TRUE(encoder.ok()) << encoder.status().message();
      std::string again;
      for (int64_t i = 0; i < block.records; ++i) ASSERT_TRUE((*encoder)->AppendRow(i, &again).ok());
      EXPECT_EQ(again, block.bytes);
    }
    ++files;
  }
  EXPECT_GE(files, 6);
}

TEST(AvroRows, CutOffAnywhereAreDamageAndNoCrash) {
  for (const GoldenFile& golden : AvroFiles()) {
    const std::string bytes = ReadGolden(golden.path);
    auto reader = AvroFileReader::Open(bytes, golden.path.string());
    AvroBlock block;
    ASSERT_TRUE(*reader->Next(&block));
    for (size_t cut = 0; cut < block.bytes.size(); cut += 1 + block.bytes.size() / 40) {
      const auto decoder = AvroRowDecoder::Make(*ParseAvroSchema(reader->schema_json(), "header"),
                                                golden.fields, "f", arrow::default_memory_pool());
      AvroCursor cursor(block.bytes.substr(0, cut));
      int64_t taken = 0;
      while (taken < block.records && *(*decoder)->TakeRow(&cursor)) ++taken;
      EXPECT_LT(taken, block.records);
    }
  }
}

TEST(AvroRows, HaveNoFormForTheFinestTimes) {
  for (const char* type : {"TIME(4)", "TIMESTAMP(7)", "TIMESTAMP_LTZ(9)", "ARRAY<TIMESTAMP(9)>"}) {
    const auto schema = AvroSchemaOf({{0, "at", *ParseDataType(type), {}, {}}});
    EXPECT_TRUE(IsKind(schema.status(), ErrorKind::kUnsupported)) << type;
    EXPECT_THAT(schema.status().message(), testing::HasSubstr("column 'at'"));
  }
}

TEST(AvroRows, OfAnotherTypeThanTheSchemaSaysAreDamage) {
  const std::string schema = *AvroSchemaOf({{0, "v", *ParseDataType("STRING"), {}, {}}});
  const auto make = [&](const char* name, const char* type) {
    return AvroRowDecoder::Make(*ParseAvroSchema(schema, "header"), {{0, name, *ParseDataType(type), {}, {}}},
                                "file-1", arrow::default_memory_pool())
        .status();
  };
  EXPECT_THAT(make("v", "INT").message(), testing::HasSubstr("file-1: column 'v' is string in the file"));
  EXPECT_THAT(make("w", "STRING").message(), testing::HasSubstr("there is no column 'w'"));
  EXPECT_TRUE(make("v", "STRING").ok());
}

}  // namespace
}  // namespace headrace
