// Writing data files and reading them back: values, facts for the manifest, rolling, failures.
#include <random>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/metadata.h>

#include "base/clock.h"
#include "file/data_file_reader.h"
#include "file/data_file_writer.h"
#include "file/physical_columns.h"
#include "file/random_rows.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr char kEveryType[] =
    "id BIGINT NOT NULL, b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, "
    "d9 DECIMAL(9, 2), d18 DECIMAL(18, 4), d20 DECIMAL(20, 3), d38 DECIMAL(38, 18), c CHAR(5), v VARCHAR(20), str STRING, "
    "bin BINARY(4), vb VARBINARY(16), by BYTES, dt DATE, tm TIME(3), ts0 TIMESTAMP(0), ts3 TIMESTAMP(3), ts6 TIMESTAMP(6), "
    "ts9 TIMESTAMP(9), z3 TIMESTAMP_LTZ(3), z6 TIMESTAMP_LTZ(6), z9 TIMESTAMP_LTZ(9), a ARRAY<INT>, aa ARRAY<ARRAY<BIGINT>>, "
    "ad ARRAY<DECIMAL(20, 3)>, m MAP<STRING, INT>, ms MULTISET<STRING>, "
    "r ROW<x INT, y STRING, z ROW<p DOUBLE, q ARRAY<TIMESTAMP(9)>>>, ar ARRAY<ROW<x BIGINT, y STRING>>, "
    "mr MAP<STRING, ROW<x TIMESTAMP(6), y TIMESTAMP(9)>>";

std::shared_ptr<TableSchema> SchemaOf(const std::string& columns, std::vector<std::string> keys) {
  auto schema = std::make_shared<TableSchema>();
  schema->fields = ParseColumns(columns).ValueOrDie();
  schema->primary_keys = std::move(keys);
  return schema;
}

class DataFile : public testing::Test {
 protected:
  FileWriteSpec Spec(std::shared_ptr<const TableSchema> schema) {
    FileWriteSpec spec;
    spec.store = &store_;
    spec.directory = "/t/bucket-0";
    spec.schema = std::move(schema);
    spec.options = &options_;
    spec.names = &names_;
    spec.clock = &clock_;
    return spec;
  }

  std::shared_ptr<arrow::Table> ReadBack(const DataFileMeta& file, std::shared_ptr<const TableSchema> schema,
                                         ReadColumns columns, int64_t batch_rows = 777) {
    FileReadOptions read;
    read.table_schema = schema;
    read.schema_by_id = [schema](SchemaId) -> Result<std::shared_ptr<const TableSchema>> { return schema; };
    read.columns = std::move(columns);
    read.batch_rows = batch_rows;
    auto reader = OpenDataFile(&store_, "/t/bucket-0/" + file.name, file, read);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return nullptr;
    arrow::RecordBatchVector batches;
    while (true) {
      auto batch = (*reader)->Next();
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok() || *batch == nullptr) break;
      EXPECT_TRUE((*batch)->ValidateFull().ok()) << (*batch)->ValidateFull();
      batches.push_back(*batch);
    }
    return arrow::Table::FromRecordBatches((*reader)->schema(), batches).ValueOrDie()->CombineChunks().ValueOrDie();
  }

  static std::vector<std::string> Names(const TableSchema& schema) {
    std::vector<std::string> names;
    for (const DataField& field : schema.fields) names.push_back(field.name);
    return names;
  }

  MemoryStore store_;
  TableOptions options_ = [] {
    TableOptions options;
    options.target_file_bytes = 128 << 20;
    return options;
  }();
  FileNames names_{"u", options_};
  ManualClock clock_{1'700'000'000'000, 3'600'000};
};

TEST_F(DataFile, OfEveryTypeReadsBackAsItWasWritten) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomRows rows(seed);
  const auto schema = SchemaOf(kEveryType, {});
  for (const char* codec : {"zstd", "none", "snappy", "gzip", "lz4"}) {
    options_.file_compression = codec;
    auto writer = OpenRowWriter(Spec(schema), 100).ValueOrDie();
    arrow::RecordBatchVector written;
    for (const int64_t count : {1, 1500, 0, 999}) {
      written.push_back(rows.Batch(schema->fields, count).ValueOrDie());
      ASSERT_TRUE(writer->Write(*written.back()).ok());
    }
    const auto files = writer->Close();
    ASSERT_TRUE(files.ok()) << files.status();
    ASSERT_EQ(files->size(), 1u);
    const auto table = ReadBack((*files)[0], schema, {.values = Names(*schema)});
    const auto expected = arrow::Table::FromRecordBatches(written).ValueOrDie()->CombineChunks().ValueOrDie();
    for (int i = 0; i < table->num_columns(); ++i) {
      EXPECT_TRUE(table->column(i)->Equals(*expected->column(i), arrow::EqualOptions().nans_equal(true).signed_zeros_equal(false)))
          << table->field(i)->ToString();
    }
    EXPECT_EQ((*files)[0].min_sequence, 100);
    EXPECT_EQ((*files)[0].max_sequence, 100 + 2500 - 1);
    EXPECT_EQ((*files)[0].creation_local_ms, 1'700'003'600'000);
  }
}

}  // namespace
}  // namespace headrace
