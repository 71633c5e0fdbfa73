#include "format/partition_path.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "format/golden_files.h"
#include "format/manifest.h"
#include "format/table_schema.h"

namespace headrace {
namespace {

using testing::HasSubstr;

DataField Field(std::string name, std::string_view type) {
  DataField field;
  field.name = std::move(name);
  field.type = ParseDataType(type).ValueOrDie();
  return field;
}

// One partition column's folder, without "p=" and the slash.
Result<std::string> Folder(std::string_view type, const Value& value, bool legacy) {
  const std::vector<DataField> fields = {Field("p", type)};
  const std::vector<DataType> types = {fields[0].type};
  TableOptions options;
  options.partition_legacy_name = legacy;
  HEADRACE_ASSIGN_OR_RETURN(BinaryRow row, EncodeBinaryRow(std::vector<Value>{value}, types));
  HEADRACE_ASSIGN_OR_RETURN(std::string path, PartitionPath(row, fields, options));
  return path.substr(2, path.size() - 3);
}

std::string FolderOf(std::string_view type, std::string_view text, bool legacy) {
  auto folder = Folder(type, ValueFromText(text, ParseDataType(type).ValueOrDie()).ValueOrDie(), legacy);
  return folder.ok() ? *folder : folder.status().ToString();
}

TEST(PartitionPath, LegacyAndNewNamesOfEveryType) {
  struct Case {
    const char *type, *value, *legacy, *cast;
  };
  const Case cases[] = {
      {"INT", "-7", "-7", "-7"},
      {"BIGINT", "1099511627776", "1099511627776", "1099511627776"},
      {"BOOLEAN", "true", "true", "true"},
      {"FLOAT", "1.5", "1.5", "1.5"},
      {"DOUBLE", "1e20", "1.0E20", "1.0E20"},
      {"DECIMAL(9, 2)", "-0.05", "-0.05", "-0.05"},
      {"DATE", "2022-01-08", "19000", "2022-01-08"},
      {"DATE", "1969-12-31", "-1", "1969-12-31"},
      {"TIME(3)", "01:02:03.400", "3723400", "01%3A02%3A03.4"},
      {"TIME(0)", "01:02:03", "3723000", "01%3A02%3A03"},
      {"TIME(3)", "01:02:03", "3723000", "01%3A02%3A03.0"},
      {"STRING", "a=b%c{\xC3\xA9}", "a%3Db%25c%7B\xC3\xA9%7D", "a%3Db%25c%7B\xC3\xA9%7D"},
      {"CHAR(3)", "a  ", "a  ", "a  "},
      {"STRING", "  \t", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"},
      {"STRING", "", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"},
      {"STRING", "\xE2\x80\x83\xE3\x80\x80", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"},
      {"STRING", "\xC2\xA0", "\xC2\xA0", "\xC2\xA0"},  // a no-break space is not blank to Java
      // B110
      {"TIMESTAMP(3)", "2024-01-01T12:30:00", "2024-01-01T12%3A30", "2024-01-01 12%3A30%3A00.000"},
      {"TIMESTAMP(3)", "2024-01-01T00:00:00", "2024-01-01T00%3A00", "2024-01-01 00%3A00%3A00.000"},
      {"TIMESTAMP(3)", "2024-01-01T01:02:03", "2024-01-01T01%3A02%3A03", "2024-01-01 01%3A02%3A03.000"},
      {"TIMESTAMP(3)", "2024-01-01T01:02:03.456", "2024-01-01T01%3A02%3A03.456",
       "2024-01-01 01%3A02%3A03.456"},
      {"TIMESTAMP(6)", "0001-01-01T00:00:00.000010", "0001-01-01T00%3A00%3A00.000010",
       "0001-01-01 00%3A00%3A00.000010"},
      {"TIMESTAMP(0)", "2024-01-01T01:02:03", "2024-01-01T01%3A02%3A03", "2024-01-01 01%3A02%3A03"},
      {"TIMESTAMP(9)", "1969-12-31T23:59:59.999999999", "1969-12-31T23%3A59%3A59.999999999",
       "1969-12-31 23%3A59%3A59.999999999"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(FolderOf(c.type, c.value, true), c.legacy) << c.type << " " << c.value;
    EXPECT_EQ(FolderOf(c.type, c.value, false), c.cast) << c.type << " " << c.value;
  }
}

TEST(PartitionPath, NullIsTheDefaultNameForEveryType) {  // B112, B114
  for (const char* type : {"DATE", "STRING", "TIMESTAMP(6)", "DECIMAL(30, 2)", "BYTES"}) {
    EXPECT_EQ(*Folder(type, Value(), true), "__DEFAULT_PARTITION__");
    EXPECT_EQ(*Folder(type, Value(), false), "__DEFAULT_PARTITION__");
  }
}

TEST(PartitionPath, EscapesTheFixedSetAndNothingElse) {  // B116
  EXPECT_EQ(EscapePathName("\x01\x1F \"#%'*/:=?\\\x7F{}[]^"),
            "%01%1F %22%23%25%27%2A%2F%3A%3D%3F%5C%7F%7B%7D%5B%5D%5E");
  EXPECT_EQ(EscapePathName("a-b_c.d~e+f&g,h;i@j!k$l(m)n|o<p>q`r"), "a-b_c.d~e+f&g,h;i@j!k$l(m)n|o<p>q`r");
}

TEST(PartitionPath, RefusesFoldersThatDependOnTheWriter) {
  EXPECT_TRUE(IsKind(Folder("BYTES", Value(std::string("x")), true).status(), ErrorKind::kUnsupported));
  EXPECT_EQ(*Folder("BYTES", Value(std::string("x")), false), "x");
  EXPECT_TRUE(
      IsKind(Folder("TIMESTAMP_LTZ(3)", Value(Timestamp{0, 0}), false).status(), ErrorKind::kUnsupported));
  EXPECT_EQ(*Folder("TIMESTAMP_LTZ(3)", Value(Timestamp{0, 0}), true), "1970-01-01T00%3A00");
}

TEST(BucketPath, JoinsDirectoryPartitionAndBucket) {
  TableOptions options;
  EXPECT_EQ(*BucketPath(BinaryRow{}, {}, BucketId(3), options), "bucket-3");
  EXPECT_EQ(*BucketPath(BinaryRow{}, {}, BucketId(-2), options), "bucket-postpone");
  options.data_file_path_directory = "data/x";
  const std::vector<DataField> fields = {Field("a=b", "INT"), Field("c", "STRING")};
  const std::vector<DataType> types = {fields[0].type, fields[1].type};
  const BinaryRow row = EncodeBinaryRow(std::vector<Value>{Value(int32_t{1}), Value()}, types).ValueOrDie();
  EXPECT_EQ(*BucketPath(row, fields, BucketId(0), options),
            "data/x/a%3Db=1/c=__DEFAULT_PARTITION__/bucket-0");
  EXPECT_TRUE(IsKind(BucketPath(BinaryRow{}, fields, BucketId(0), options).status(), ErrorKind::kCorruption));
}

// For every data file that Java lists, the folder it lies in is the one computed from the manifest's bytes.
int CheckFixture(const std::string& fixture) {
  namespace fs = std::filesystem;
  int checked = 0;
  for (const auto& table :
       fs::directory_iterator(fs::path(HEADRACE_FIXTURES) / fixture / "warehouse" / "peer.db")) {
    const auto schema =
        ParseTableSchema(ReadGolden(table.path() / "schema" / "schema-0"), "schema-0").ValueOrDie();
    const TableOptions options = ParseTableOptions(schema, Access::kRead).ValueOrDie();
    for (const auto& manifest : fs::directory_iterator(table.path() / "manifest")) {
      const std::string name = manifest.path().filename().string();
      if (!name.starts_with("manifest-") || name.starts_with("manifest-list-")) continue;
      for (const ManifestEntry& entry : DecodeManifest(ReadGolden(manifest.path()), name).ValueOrDie()) {
        auto folder =
            BucketPath(entry.partition, schema.FieldsOf(schema.partition_keys), entry.bucket, options);
        EXPECT_TRUE(folder.ok()) << folder.status().ToString();
        if (!folder.ok()) continue;
        EXPECT_TRUE(fs::exists(table.path() / *folder / entry.file.name)) << table.path() << " " << *folder;
        ++checked;
      }
    }
  }
  return checked;
}

TEST(BucketPath, FindsEveryFileOfTheFixtures) {
  EXPECT_GT(CheckFixture("partitioned"), 60);
  EXPECT_GT(CheckFixture("keys-datetime"), 5);
}

}  // namespace
}  // namespace headrace
