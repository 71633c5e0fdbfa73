// Data files in Avro against files that Java wrote: whole, with another count of rows than their entry, and damaged.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "file/data_file_reader.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

constexpr char kPath[] = "/t/bucket-postpone/data-1.avro";

std::string BytesOfStagedFile() {
  const std::filesystem::path staging =
      std::filesystem::path(HEADRACE_FIXTURES) / "bucket-postpone/warehouse/peer.db/t/bucket-postpone";
  std::string name;
  for (const auto& entry : std::filesystem::directory_iterator(staging)) {
    if (name.empty() || entry.path().filename() < name) name = entry.path().filename();
  }
  std::ifstream file(staging / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The rows that are read, or the error.
Result<int64_t> ReadAll(const std::string& bytes, int64_t rows) {
  MemoryStore store;
  HEADRACE_RETURN_NOT_OK(store.Replace(kPath, bytes));
  auto schema = std::make_shared<TableSchema>();
  HEADRACE_ASSIGN_OR_RETURN(schema->fields, ParseColumns("id INT NOT NULL, v STRING, n BIGINT"));
  schema->primary_keys = {"id"};
  DataFileMeta file;
  file.row_count = rows;
  FileReadOptions options;
  options.table_schema = schema;
  options.columns = {.keys = true, .sequence = true, .kind = true, .values = schema->ColumnNames()};
  options.batch_rows = 2;
  HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenDataFile(&store, kPath, file, options));
  int64_t read = 0;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
    if (batch == nullptr) return read;
    read += batch->num_rows();
  }
}

int64_t RowsOf(const std::string& bytes) {
  for (int64_t rows = 0; rows < 10000; ++rows) {
    if (ReadAll(bytes, rows).ok()) return rows;
  }
  return -1;
}

TEST(AvroDataFile, IsReadWithTheRowsOfItsEntryAndWithNoOtherCount) {
  const std::string bytes = BytesOfStagedFile();
  const int64_t rows = RowsOf(bytes);
  ASSERT_GT(rows, 0);
  EXPECT_EQ(ReadAll(bytes, rows).ValueOr(-1), rows);
  for (const int64_t other : {rows - 1, rows + 1, int64_t{0}}) {
    const Status status = ReadAll(bytes, other).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kCorruption) << other;
    EXPECT_THAT(status.ToString(), HasSubstr("data-1.avro"));
    EXPECT_THAT(status.ToString(), HasSubstr(std::to_string(other)));
  }
}

TEST(AvroDataFile, DamagedIsAnErrorThatNamesTheFileOrOtherValuesButNeverMoreRows) {
  const std::string bytes = BytesOfStagedFile();
  const int64_t rows = RowsOf(bytes);
  for (size_t length = 0; length < bytes.size(); length += 7) {
    const Status status = ReadAll(bytes.substr(0, length), rows).status();
    EXPECT_FALSE(status.ok()) << length;
    EXPECT_THAT(status.ToString(), HasSubstr("data-1.avro"));
  }
  Random random(11);
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = bytes;
    damaged[random.Below(bytes.size())] = static_cast<char>(random.Next());
    const auto read = ReadAll(damaged, rows);
    if (read.ok()) {
      EXPECT_EQ(*read, rows) << i;
    } else {
      EXPECT_THAT(read.status().ToString(), HasSubstr("data-1.avro")) << i;
    }
  }
}

}  // namespace
}  // namespace headrace
