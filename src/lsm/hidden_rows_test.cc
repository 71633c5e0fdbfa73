// Rows that a deletion vector marks are left out wherever a bucket's files are read, and by their place in the file.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/key_lookup.h"
#include "lsm/key_value_batch.h"
#include "lsm/merge.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

// Files of BIGINT keys with the value "<file>.<position>"; later files are newer.
class HiddenRows {
 public:
  HiddenRows() : table_("k BIGINT NOT NULL, v STRING", {"k"}), names_("u", table_.options) {
    order_ = std::make_unique<KeyOrder>(KeyOrder::OfKey({table_.schema->fields[0].type}).ValueOrDie());
  }

  void AddFile(const std::vector<int64_t>& keys) {
    const KeyValueShape shape(*table_.schema);
    auto writer =
        OpenKeyValueWriter(table_.Files().WriteSpec(&names_, FileRole::kData, Level(0), FileSource::kAppend))
            .ValueOrDie();
    std::vector<int64_t> numbers;
    arrow::StringBuilder values;
    for (size_t i = 0; i < keys.size(); ++i) {
      numbers.push_back(next_++);
      HEADRACE_EXPECT_OK(values.Append(std::to_string(files_.size()) + "." + std::to_string(i)));
    }
    HEADRACE_EXPECT_OK(
        writer->Write(*shape.Assemble(Int64s(numbers), KindsOf(std::vector<int8_t>(keys.size(), 0)),
                                      {Int64s(keys), values.Finish().ValueOrDie()})));
    for (const DataFileMeta& meta : writer->Close().ValueOrDie())
      files_.push_back(MakeTreeFile(*order_, meta).ValueOrDie());
    keys_.push_back(keys);
    deleted_.emplace_back();
  }

  void Delete(size_t file, int64_t position) { deleted_[file].insert(position); }

  BucketFiles Files() {
    auto vectors = std::make_shared<DeletionVectors>();
    for (size_t f = 0; f < files_.size(); ++f) {
      auto vector = std::make_shared<DeletionVector>();
      for (const int64_t position : deleted_[f]) vector->Delete(position);
      (*vectors)[files_[f]->meta.name] = std::move(vector);
    }
    BucketFiles files = table_.Files();
    files.deletions = std::move(vectors);
    return files;
  }

  std::vector<std::string> ExpectedOf(size_t file) const {
    std::vector<std::string> lines;
    for (size_t i = 0; i < keys_[file].size(); ++i)
      if (!deleted_[file].contains(static_cast<int64_t>(i))) lines.push_back(Line(file, i));
    return lines;
  }
  std::map<int64_t, std::string> ExpectedMerged() const {
    std::map<int64_t, std::string> newest;
    for (size_t f = 0; f < files_.size(); ++f)
      for (size_t i = 0; i < keys_[f].size(); ++i)
        if (!deleted_[f].contains(static_cast<int64_t>(i))) newest[keys_[f][i]] = Line(f, i);
    return newest;
  }

  std::vector<std::string> Read(size_t file, int64_t batch_rows) {
    auto stream =
        OpenConcatenation(Files(), {files_[file]->meta}, {.values = table_.ColumnNames()}, batch_rows)
            .ValueOrDie();
    return DrainLines(stream.get(), table_.schema->fields);
  }
  Result<std::unique_ptr<RowStream>> OpenMerged(MergePlan plan, int64_t batch_rows) {
    MergeRequest request;
    request.sections = PartitionIntoSections(files_);
    request.values = table_.ColumnNames();
    request.batch_rows = batch_rows;
    request.policy.drop_deletes = true;
    return OpenMerge(Files(), std::move(request), plan);
  }
  std::vector<std::string> Merged(MergePlan plan, int64_t batch_rows) {
    auto stream = OpenMerged(plan, batch_rows).ValueOrDie();
    std::vector<std::string> lines = DrainLines(stream.get(), table_.schema->fields);
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  std::optional<std::string> Get(int64_t key) {
    const EncodedKey encoded = order_->Encode(std::vector{Value(key)}).ValueOrDie();
    const auto lookup = KeyLookup::Open(Files(), files_, {}, table_.ColumnNames(), nullptr).ValueOrDie();
    const KeyedRows found = lookup->Find(order_->ColumnOf(encoded)).ValueOrDie();
    if (found.row_of_key[0] < 0) return std::nullopt;
    return LinesOf(table_.schema->fields, *found.rows)[0];
  }
  const DataFileMeta& meta(size_t file) const { return files_[file]->meta; }

 private:
  std::string Line(size_t file, size_t row) const {
    return "{\"k\":" + std::to_string(keys_[file][row]) + ",\"v\":\"" + std::to_string(file) + "." +
           std::to_string(row) + "\"}";
  }

  TestTable table_;
  FileNames names_;
  std::unique_ptr<KeyOrder> order_;
  std::vector<TreeFilePtr> files_;
  std::vector<std::vector<int64_t>> keys_;
  std::vector<std::set<int64_t>> deleted_;
  int64_t next_ = 0;
};

std::vector<int64_t> Count(int64_t first, int64_t rows, int64_t step = 1) {
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < rows; ++i) keys.push_back(first + i * step);
  return keys;
}

TEST(HiddenRows, OfEveryRowButOneLeaveThatOne) {
  HiddenRows rows;
  rows.AddFile(Count(0, 100));
  for (int64_t i = 0; i < 99; ++i) rows.Delete(0, i);
  for (const int64_t batch : {1, 7, 99, 100, 1000}) {
    EXPECT_EQ(rows.Read(0, batch), rows.ExpectedOf(0));
    EXPECT_EQ(rows.Read(0, batch).size(), 1u);
  }
  rows.Delete(0, 99);
  EXPECT_TRUE(rows.Read(0, 10).empty());
}

TEST(HiddenRows, OfAMaskShorterThanTheFileLeaveTheRest) {
  HiddenRows rows;
  rows.AddFile(Count(0, 100));
  rows.Delete(0, 5);
  for (const int64_t batch : {3, 8, 100}) EXPECT_EQ(rows.Read(0, batch), rows.ExpectedOf(0));
}

TEST(HiddenRows, BeyondTheFilesRowsAreCorruptionNamingIt) {
  HiddenRows rows;
  rows.AddFile(Count(0, 100));
  rows.Delete(0, 100);
  const Status status =
      OpenConcatenation(rows.Files(), {rows.meta(0)}, {.values = {"k"}}, 10).ValueOrDie()->Next().status();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(),
              testing::AllOf(testing::HasSubstr(rows.meta(0).name), testing::HasSubstr("row 100")));
}

TEST(HiddenRows, TakeNoPartInAnyPlanOfAMergeNorInAGet) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    HiddenRows rows;
    const uint64_t files = 2 + random.Below(4);
    for (uint64_t f = 0; f < files; ++f) {
      const int64_t count = random.Between(1, 600);
      rows.AddFile(Count(random.Between(0, 200), count, random.Between(1, 3)));
      const uint64_t dense = 1 + random.Below(5);
      for (int64_t i = 0; i < count; ++i)
        if (random.OneIn(dense)) rows.Delete(f, i);
    }
    std::vector<std::string> expected;
    for (const auto& [key, line] : rows.ExpectedMerged()) expected.push_back(line);
    std::sort(expected.begin(), expected.end());
    for (const MergePlan plan : {MergePlan::kWholeRows, MergePlan::kWinnersFirst})
      for (const int64_t batch : {5, 64, 4096}) EXPECT_EQ(rows.Merged(plan, batch), expected);
    const auto newest = rows.ExpectedMerged();
    for (int64_t key = 0; key < 300; key += 7) {
      const auto found = newest.find(key);
      EXPECT_EQ(rows.Get(key), found == newest.end() ? std::nullopt : std::optional(found->second));
    }
  }
}

// What is told of a row out of order is its place in the file, hidden rows counted.
TEST(HiddenRows, AreCountedInTheRowThatAnErrorNames) {
  HiddenRows rows;
  rows.AddFile({1, 2, 3, 9, 5, 10});
  rows.AddFile({1, 10});
  rows.Delete(0, 0);
  rows.Delete(0, 1);
  auto stream = rows.OpenMerged(MergePlan::kWholeRows, 100).ValueOrDie();
  const Status status = stream->Next().status();
  ASSERT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr("row 4"));
}

}  // namespace
}  // namespace headrace
