// A file read by ranges of its keys gives every row of them, in order, however its pages are cut and whatever its index says.
#include "lsm/key_ranges.h"

#include <algorithm>
#include <set>
#include <span>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "base/random.h"
#include "file/physical_columns.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

constexpr char kPath[] = "/data-1.parquet";

template <typename T>
T Must(Result<T> result) {
  return std::move(result).ValueOrDie();
}

// Keys (k, n), of which many have one k; the value v is the row's number.
class KeyedFile {
 public:
  KeyedFile(uint64_t seed, const char* key_type) : random_(seed) {
    auto schema = std::make_shared<TableSchema>();
    schema->fields = Must(ParseColumns(std::string("k ") + key_type + " NOT NULL, n INT NOT NULL, v BIGINT"));
    schema->primary_keys = {"k", "n"};
    read_.table_schema = schema;
    read_.columns = {.keys = false, .sequence = false, .kind = false, .values = {"v"}};
    ranges_.order = Must(KeyOrder::OfKey({schema->fields[0].type}));
    file_.name = "data-1.parquet";
    is_text_ = schema->fields[0].type.root == TypeRoot::kVarChar;
  }

  void Write(int64_t rows) {
    const TableSchema& schema = *read_.table_schema;
    std::unique_ptr<arrow::ArrayBuilder> k;
    ASSERT_TRUE(
        arrow::MakeBuilder(arrow::default_memory_pool(), ToArrowType(schema.fields[0].type), &k).ok());
    arrow::Int32Builder n;
    arrow::Int64Builder v, sequence;
    arrow::Int8Builder kind;
    int64_t key = 0;
    keys_.clear();
    const auto most = static_cast<int64_t>(random_.Between(1, 60));
    for (int64_t row = 0; row < rows; ++row) {
      if (random_.Below(static_cast<uint64_t>(most)) == 0) key += random_.Between(1, 3);
      keys_.push_back(key);
      const Status appended = is_text_ ? static_cast<arrow::StringBuilder&>(*k).Append(Text(key))
                                       : static_cast<arrow::Int64Builder&>(*k).Append(key);
      ASSERT_TRUE(appended.ok() && n.Append(static_cast<int32_t>(row)).ok() && v.Append(row).ok() &&
                  sequence.Append(row).ok() && kind.Append(0).ok());
    }
    const auto ks = Must(k->Finish());
    const auto ns = Must(n.Finish());
    const auto batch = arrow::RecordBatch::Make(
        ToArrowSchema(KeyValueFields(schema)), rows,
        {ks, ns, Must(sequence.Finish()), Must(kind.Finish()), ks, ns, Must(v.Finish())});
    parquet::WriterProperties::Builder properties;
    properties.data_pagesize(random_.Between(200, 4000));
    properties.write_batch_size(random_.Between(10, 200));
    properties.max_rows_per_page(random_.Between(20, 500));
    if (random_.OneIn(3)) properties.disable_dictionary();
    if (!random_.OneIn(5)) properties.enable_write_page_index();
    auto out = Must(arrow::io::BufferOutputStream::Create());
    ASSERT_TRUE(parquet::arrow::WriteTable(*Must(arrow::Table::FromRecordBatches({batch})),
                                           arrow::default_memory_pool(), out, random_.Between(300, 5000),
                                           properties.build())
                    .ok());
    bytes_ = Must(out->Finish())->ToString();
    Put(bytes_);
    file_.row_count = rows;
  }

  void Put(const std::string& bytes) { ASSERT_TRUE(store_.Replace(kPath, bytes).ok()); }

  void ChooseRanges() {
    std::set<int64_t> bounds;
    for (uint64_t i = random_.Between(1, 8); i > 0; --i)
      bounds.insert(static_cast<int64_t>(random_.Below(static_cast<uint64_t>(keys_.back()) + 3)));
    ranges_.ranges.clear();
    chosen_.clear();
    for (auto bound = bounds.begin(); bound != bounds.end(); ++bound) {
      const int64_t first = *bound;
      int64_t last = first;
      if (random_.OneIn(4) && std::next(bound) != bounds.end()) last = *++bound;
      const bool open = std::next(bound) == bounds.end() && random_.OneIn(4);
      const bool from_start = ranges_.ranges.empty() && random_.OneIn(4);
      ranges_.ranges.push_back(
          {from_start ? EncodedKey() : Encoded(first), open ? std::nullopt : std::optional(Encoded(last))});
      chosen_.emplace_back(from_start ? -1 : first, open ? keys_.back() : last);
    }
  }

  bool IsWanted(int64_t row) const {
    const int64_t key = keys_[static_cast<size_t>(row)];
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](const auto& range) { return range.first <= key && key <= range.second; });
  }

  // The numbers of the rows that are read; nothing where the whole file is to be read.
  Result<std::optional<std::vector<int64_t>>> Read() {
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenKeyRanges(&store_, kPath, file_, read_,
                                                               std::make_shared<const KeyRanges>(ranges_)));
    if (reader == nullptr) return std::nullopt;
    std::vector<int64_t> rows;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
      if (batch == nullptr) return rows;
      const auto& numbers = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < numbers.length(); ++i) rows.push_back(numbers.Value(i));
    }
  }

  void CheckRead(const std::vector<int64_t>& rows, const std::string& story) {
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()) &&
                std::adjacent_find(rows.begin(), rows.end()) == rows.end())
        << story;
    for (int64_t row = 0; row < file_.row_count; ++row) {
      if (IsWanted(row) && !std::binary_search(rows.begin(), rows.end(), row)) {
        FAIL() << story << ": row " << row << " of key " << keys_[static_cast<size_t>(row)] << " is missing";
      }
    }
  }

  const std::string& bytes() const { return bytes_; }
  int64_t row_count() const { return file_.row_count; }
  Random* random() { return &random_; }

 private:
  // Texts whose order is that of the numbers, some beyond what an index keeps of them.
  static std::string Text(int64_t key) {
    std::string text = std::to_string(key);
    text.insert(0, 8 - text.size(), '0');
    return std::string(100, 'a') + text;
  }
  EncodedKey Encoded(int64_t key) const {
    const Value value = is_text_ ? Value(Text(key)) : Value(key);
    return Must(ranges_.order.Encode(std::span(&value, 1)));
  }

  Random random_;
  MemoryStore store_;
  DataFileMeta file_;
  FileReadOptions read_;
  KeyRanges ranges_;
  std::vector<std::pair<int64_t, int64_t>> chosen_;
  std::vector<int64_t> keys_;
  bool is_text_ = false;
  std::string bytes_;
};

TEST(RangesOfKeys, GiveAllTheirRowsInOrderHoweverThePagesAreCut) {
  int64_t read = 0, held = 0;
  int in_part = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    KeyedFile file(seed, seed % 2 == 0 ? "BIGINT" : "STRING");
    file.Write(file.random()->Between(1, 4000));
    for (int i = 0; i < 10; ++i) {
      file.ChooseRanges();
      const auto rows = file.Read();
      ASSERT_TRUE(rows.ok()) << "seed " << seed << ": " << rows.status();
      if (!rows->has_value()) continue;
      ++in_part;
      read += static_cast<int64_t>((*rows)->size());
      held += file.row_count();
      file.CheckRead(**rows, "seed " + std::to_string(seed));
    }
  }
  EXPECT_GT(in_part, 100);
  EXPECT_LT(read * 4, held);
}

// Nothing guards the index: where it is wrong more is read, or the file is refused.
TEST(RangesOfKeys, OfAFileWithFlippedBitsGiveAllTheirRowsOrAnError) {
  KeyedFile file(5, "BIGINT");
  do {
    file.Write(2000);
    file.ChooseRanges();
  } while (!Must(file.Read()).has_value());
  const std::string sound = file.bytes();
  int errors = 0, read = 0;
  // The index and the footer, which lie behind the pages.
  for (size_t at = sound.size() / 2; at < sound.size(); at += 1 + file.random()->Below(60)) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << file.random()->Below(8)));
    file.Put(damaged);
    const auto rows = file.Read();
    if (!rows.ok()) {
      ++errors;
      EXPECT_EQ(KindOf(rows.status()), ErrorKind::kCorruption) << rows.status();
    } else if (rows->has_value()) {
      ++read;
      file.CheckRead(**rows, "byte " + std::to_string(at));
    }
  }
  EXPECT_GT(errors, 20);
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace headrace
