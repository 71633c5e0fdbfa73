// A file read block by block has the rows that it has when it is read as a whole, however its pages are cut.
#include "file/data_file_pages.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "base/random.h"
#include "file/data_file_writer.h"
#include "file/json_lines.h"
#include "file/physical_columns.h"
#include "file/random_rows.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr char kColumns[] =
    "k BIGINT NOT NULL, j STRING NOT NULL, a INT, b STRING, c DECIMAL(20, 3), d ARRAY<INT>, e MAP<INT, "
    "STRING>, "
    "f ROW<x INT, y ARRAY<STRING>>, g BOOLEAN, h TIMESTAMP(9), i DOUBLE";
constexpr char kPath[] = "/data-1.parquet";

std::shared_ptr<TableSchema> MakeSchema() {
  auto schema = std::make_shared<TableSchema>();
  schema->fields = ParseColumns(kColumns).ValueOrDie();
  schema->primary_keys = {"k", "j"};
  return schema;
}

class PagedFile {
 public:
  explicit PagedFile(uint64_t seed) : random_(seed), schema_(MakeSchema()) {
    file_.name = "data-1.parquet";
    read_.table_schema = schema_;
  }

  // Columns cut at other rows than each other, with a page index or without, in one row group or several.
  void WriteRandomly() {
    const int64_t rows = random_.Between(1, 4000);
    const auto batch = RandomBatch(rows);
    parquet::WriterProperties::Builder properties;
    properties.data_pagesize(random_.Between(200, 20000));
    properties.write_batch_size(random_.Between(10, 500));
    properties.max_rows_per_page(random_.Between(20, 3000));
    properties.data_page_version(random_.OneIn(2) ? parquet::ParquetDataPageVersion::V1
                                                  : parquet::ParquetDataPageVersion::V2);
    properties.compression(random_.OneIn(2) ? arrow::Compression::ZSTD : arrow::Compression::UNCOMPRESSED);
    if (random_.OneIn(3)) properties.disable_dictionary();
    if (random_.OneIn(3)) properties.dictionary_pagesize_limit(500);
    if (!random_.OneIn(4)) properties.enable_write_page_index();
    auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
    const auto table = arrow::Table::FromRecordBatches({batch}).ValueOrDie();
    auto arrow_properties = parquet::ArrowWriterProperties::Builder();
    if (random_.OneIn(4)) arrow_properties.enable_deprecated_int96_timestamps();
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out,
                                           random_.Between(300, 5000), properties.build(),
                                           arrow_properties.build())
                    .ok());
    Put(out->Finish().ValueOrDie()->ToString());
    file_.row_count = rows;
  }

  void WriteAsOurs(int64_t rows) {
    TableOptions options;
    options.target_file_bytes = 128 << 20;
    FileNames names("u", options);
    ManualClock clock(1700000000000);
    FileWriteSpec spec;
    spec.store = &store_;
    spec.directory = "/t";
    spec.schema = schema_;
    spec.options = &options;
    spec.names = &names;
    spec.clock = &clock;
    spec.level = Level(1);
    auto writer = OpenKeyValueWriter(spec).ValueOrDie();
    for (int64_t left = rows; left > 0; left -= 777)
      ASSERT_TRUE(writer->Write(*RandomBatch(std::min<int64_t>(left, 777))).ok());
    file_ = writer->Close().ValueOrDie()[0];
    file_.min_key = BinaryRow();
    Put(store_.ReadAll("/t/" + file_.name).ValueOrDie());
  }

  void Put(std::string bytes) {
    bytes_ = std::move(bytes);
    ASSERT_TRUE(store_.Replace(kPath, bytes_).ok());
  }
  const std::string& bytes() const { return bytes_; }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const DataField& field : schema_->fields) names.push_back(field.name);
    return names;
  }

  Result<std::shared_ptr<arrow::Table>> ReadWhole() {
    FileReadOptions read = read_;
    read.columns = {true, true, true, Names()};
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenDataFile(&store_, kPath, file_, read));
    arrow::RecordBatchVector batches;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(auto batch, reader->Next());
      if (batch == nullptr) return arrow::Table::FromRecordBatches(reader->schema(), batches);
      batches.push_back(std::move(batch));
    }
  }

  Result<std::shared_ptr<const DataFilePages>> Open() {
    return DataFilePages::Open(&store_, kPath, file_, read_,
                               {{.keys = true, .values = {}}, {false, true, true, Names()}});
  }

  // Blocks in any order, as table slices in order.
  Result<std::shared_ptr<arrow::Table>> ReadPaged() {
    HEADRACE_ASSIGN_OR_RETURN(const auto pages, Open());
    HEADRACE_ASSIGN_OR_RETURN(const auto cursor, pages->OpenCursor(&store_));
    std::vector<size_t> order;
    for (size_t i = 0; i < pages->blocks().size(); ++i) {
      order.push_back(i);
      std::swap(order[i], order[random_.Below(i + 1)]);
    }
    arrow::RecordBatchVector batches(order.size());
    for (const size_t block : order) {
      HEADRACE_ASSIGN_OR_RETURN(const auto keys, cursor->Read(block, 0));
      HEADRACE_ASSIGN_OR_RETURN(const auto rest, cursor->Read(block, 1));
      arrow::ArrayVector columns = keys->columns();
      arrow::FieldVector fields = keys->schema()->fields();
      for (int i = 0; i < rest->num_columns(); ++i) {
        columns.push_back(rest->column(i));
        fields.push_back(rest->schema()->field(i));
      }
      batches[block] = arrow::RecordBatch::Make(arrow::schema(fields), rest->num_rows(), columns);
      HEADRACE_RETURN_NOT_OK(batches[block]->ValidateFull());
    }
    return arrow::Table::FromRecordBatches(batches);
  }

  Random* random() { return &random_; }

 private:
  // Rows of a key-value file; its keys are copies of values.
  std::shared_ptr<arrow::RecordBatch> RandomBatch(int64_t rows) {
    const auto batch = RandomRows(random_.Next()).Batch(KeyValueFields(*schema_), rows).ValueOrDie();
    arrow::ArrayVector columns = batch->columns();
    columns[0] = batch->GetColumnByName("k");
    columns[1] = batch->GetColumnByName("j");
    return arrow::RecordBatch::Make(batch->schema(), rows, columns);
  }

  Random random_;
  std::shared_ptr<TableSchema> schema_;
  MemoryStore store_;
  DataFileMeta file_;
  FileReadOptions read_;
  std::string bytes_;
};

TEST(FilesReadByPages, HaveTheirRowsHoweverThePagesAreCut) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    PagedFile file(seed);
    file.WriteRandomly();
    const auto whole = file.ReadWhole();
    ASSERT_TRUE(whole.ok()) << "seed " << seed << ": " << whole.status();
    const auto paged = file.ReadPaged();
    ASSERT_TRUE(paged.ok()) << "seed " << seed << ": " << paged.status();
    EXPECT_TRUE((*paged)->Equals(**whole)) << "seed " << seed;
  }
}

TEST(FilesOfOurs, AboveLevelZeroBreakEveryColumnAtTheSameFewRows) {
  PagedFile file(7);
  file.WriteAsOurs(5000);
  const auto pages = file.Open().ValueOrDie();
  std::vector<int64_t> rows;
  for (const DataFilePages::Block& block : pages->blocks()) rows.push_back(block.rows);
  EXPECT_THAT(rows, testing::ElementsAre(1024, 1024, 1024, 1024, 904));
  EXPECT_EQ(pages->largest_keys().size(), 5u);
  EXPECT_TRUE(file.ReadPaged().ValueOrDie()->Equals(*file.ReadWhole().ValueOrDie()));
}

// No checksum covers the index: what it says is compared with the pages themselves.
TEST(FlippedBitsAnywhere, GiveTheSameRowsOrAnError) {
  PagedFile file(11);
  file.WriteAsOurs(300);
  const std::string sound = file.bytes();
  const auto rows = file.ReadWhole().ValueOrDie();
  int errors = 0;
  for (size_t at = 4; at < sound.size(); at += 1 + file.random()->Below(40)) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << file.random()->Below(8)));
    file.Put(damaged);
    const auto paged = file.ReadPaged();
    if (!paged.ok()) {
      ++errors;
      EXPECT_EQ(KindOf(paged.status()), ErrorKind::kCorruption) << paged.status();
      continue;
    }
    const auto whole = file.ReadWhole();
    if (!whole.ok()) continue;
    EXPECT_TRUE((*paged)->Equals(**whole)) << "byte " << at;
  }
  EXPECT_GT(errors, 20);
}

}  // namespace
}  // namespace headrace
