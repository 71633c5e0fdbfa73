// Partition values as folder names: whatever text a value has, its folder lies in the table's, and its rows come back.
#include <set>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_budget.h"
#include "catalog/snapshots.h"
#include "read/scan.h"
#include "tests/hostile/guarded_warehouse.h"
#include "write/session.h"
#include "write/test_rows.h"

namespace headrace::hostile {
namespace {

using ::testing::HasSubstr;
using testing::Must;

using Text = std::optional<std::string>;
using TextRows = std::set<std::pair<Text, int32_t>>;

class PartitionNames : public GuardedWarehouse {
 protected:
  Table Make(const std::string& type, const std::string& legacy) {
    NewTable table;
    table.fields = Must(ParseColumns("p " + type + ", id INT"));
    table.partition_keys = {"p"};
    table.options = {
        {"bucket", "1"}, {"bucket-key", "id"}, {"partition.legacy-name", legacy}, {"write-only", "true"}};
    return Must(catalog_.CreateTable({"db", "t"}, table));
  }

  // One row a value, numbered from 1.
  static Status Write(const Table& table, const std::vector<Value>& values) {
    const std::shared_ptr<arrow::Schema> schema = ToArrowSchema(table.schema->fields);
    arrow::ArrayVector parts;
    for (const Value& value : values)
      parts.push_back(Must(ArrayOf(value, table.schema->fields[0].type, 1, arrow::default_memory_pool())));
    MemoryBudget budget(64 << 20);
    const auto session = Must(WriteSession::Open(
        table, {.commit_user = "u", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto id = Must(ArrayOf(static_cast<int32_t>(i + 1), table.schema->fields[1].type, 1,
                                   arrow::default_memory_pool()));
      HEADRACE_RETURN_NOT_OK(session->Write(arrow::RecordBatch::Make(schema, 1, {parts[i], id}), nullptr));
    }
    return testing::CommitRows(session.get(), 1).status();
  }

  static TextRows Read(const Table& table) {
    TextRows rows;
    const auto reader = Must(OpenScan(table, *Must(ReadLatestSnapshot(table)), {}));
    std::shared_ptr<arrow::RecordBatch> batch;
    while (reader->ReadNext(&batch).ok() && batch != nullptr) {
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        const Value value = Must(ValueAt(*batch->column(0), i, table.schema->fields[0].type));
        const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(1));
        rows.emplace(IsNull(value) ? Text() : Text(ToText(value, table.schema->fields[0].type)),
                     ids.Value(i));
      }
    }
    return rows;
  }

  static TextRows Expected(const Table& table, const std::vector<Value>& values) {
    TextRows rows;
    for (size_t i = 0; i < values.size(); ++i)
      rows.emplace(IsNull(values[i]) ? Text() : Text(ToText(values[i], table.schema->fields[0].type)),
                   static_cast<int32_t>(i + 1));
    return rows;
  }

  // The files of one partition, planned by its value alone.
  static size_t FilesOf(const Table& table, const Value& value) {
    const std::vector<DataType> types = {table.schema->fields[0].type};
    EntryFilter filter;
    filter.partitions = {Must(EncodeBinaryRow(std::vector<Value>{value}, types))};
    return Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)), filter)).size();
  }

  // Names of the folders in the table's folder that belong to partitions.
  static std::set<std::string> Folders(const Table& table) {
    std::set<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(table.path)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("p=")) folders.insert(name);
    }
    return folders;
  }
};

TEST_F(PartitionNames, OfAnyTextLieInTheTableAndComeBack) {
  const Table table = Make("STRING", "true");
  const std::vector<Value> values = {std::string(".."),
                                     std::string("."),
                                     std::string("../../elsewhere"),
                                     std::string("/"),
                                     std::string("/etc/passwd"),
                                     std::string("a/b"),
                                     std::string("a=b"),
                                     std::string("%2e%2e%2f"),
                                     std::string("50%"),
                                     std::string("a:b"),
                                     std::string("a b"),
                                     std::string("\\..\\"),
                                     std::string("line\nfeed"),
                                     std::string("nul\0inside", 10),
                                     std::string("\x7f"),
                                     std::string("été 表 🚀"),
                                     std::string("bucket-0"),
                                     std::string("__DEFAULT_PARTITION__"),
                                     std::string("p=1/p=2"),
                                     std::string("*?[]{}^#\"'"),
                                     Value(),
                                     std::string(" trailing "),
                                     std::string(80, 'x')};
  ASSERT_TRUE(Write(table, values).ok());
  EXPECT_EQ(Read(table), Expected(table, values));
  for (const Value& value : values)
    EXPECT_EQ(FilesOf(table, value), 1u) << ToText(value, table.schema->fields[0].type);
  // Null and the text of null's folder share one folder, and are told apart by the manifest.
  EXPECT_EQ(Folders(table).size(), values.size() - 1);
  EXPECT_TRUE(Folders(table).contains("p=a%2Fb"));
  EXPECT_TRUE(Folders(table).contains("p=.."));
  EXPECT_TRUE(Folders(table).contains("p=%252e%252e%252f"));
  EXPECT_TRUE(Untouched());
  EXPECT_TRUE(catalog_.DropTable({"db", "t"}).ok());
  EXPECT_TRUE(Untouched());
}

TEST_F(PartitionNames, TooLongForTheDiskAreAnErrorAndNothingIsCommitted) {
  const Table table = Make("STRING", "true");
  ASSERT_TRUE(Write(table, {std::string("short")}).ok());
  for (const size_t length : {254, 300, 5000, 100000}) {
    const Status refused = Write(table, {std::string("also short"), std::string(length, 'y')});
    EXPECT_FALSE(refused.ok()) << length;
    EXPECT_THAT(refused.message(), HasSubstr("p=yyy")) << length;
  }
  EXPECT_EQ(Read(table), (TextRows{{"short", 1}}));
  EXPECT_TRUE(Untouched());
}

TEST_F(PartitionNames, OfTimesAreOnesThatEachReaderFindsByValue) {
  for (const char* legacy : {"true", "false"}) {
    const Table table = Make("TIMESTAMP(3)", legacy);
    std::vector<Value> values = {Value()};
    for (const char* text : {"2024-01-01 12:30:00.000", "2024-01-01 00:00:00.000", "2024-01-01 01:02:03.000",
                             "2024-01-01 01:02:03.456", "0001-01-01 00:00:00.000", "1969-12-31 23:59:59.999"})
      values.push_back(Must(ValueFromText(text, table.schema->fields[0].type)));
    ASSERT_TRUE(Write(table, values).ok());
    EXPECT_EQ(Read(table), Expected(table, values));
    EXPECT_EQ(Folders(table).size(), values.size());
    for (const Value& value : values) EXPECT_EQ(FilesOf(table, value), 1u);
    EXPECT_TRUE(Folders(table).contains(legacy == std::string("true") ? "p=2024-01-01T12%3A30"
                                                                      : "p=2024-01-01 12%3A30%3A00.000"));
    ASSERT_TRUE(catalog_.DropTable({"db", "t"}).ok());
  }
}

TEST_F(PartitionNames, OfDatesWithNullAreFoundUnderLegacyNames) {
  const Table table = Make("DATE", "true");
  const std::vector<Value> values = {Value(), int32_t{19000}, int32_t{-1}, int32_t{0}};
  ASSERT_TRUE(Write(table, values).ok());
  EXPECT_EQ(Read(table), Expected(table, values));
  EXPECT_EQ(Folders(table), (std::set<std::string>{"p=__DEFAULT_PARTITION__", "p=19000", "p=-1", "p=0"}));
  for (const Value& value : values) EXPECT_EQ(FilesOf(table, value), 1u);
}

TEST_F(PartitionNames, OfNullKeepAllOfItsFiles) {
  const Table table = Make("STRING", "true");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Write(table, {Value(), std::string("other")}).ok());
  EXPECT_EQ(FilesOf(table, Value()), 10u);
  EXPECT_EQ(FilesOf(table, std::string("__DEFAULT_PARTITION__")), 0u);
}

}  // namespace
}  // namespace headrace::hostile
