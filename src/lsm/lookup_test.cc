// Looking many keys up gives, for each, the row of the lowest level that has it: what a map of every row by key and level says.
#include "lsm/lookup.h"

#include <algorithm>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/flush.h"
#include "lsm/lookup_cache.h"
#include "lsm/test_table.h"
#include "lsm/write_buffer.h"

namespace headrace {
namespace {

struct StoredRow {
  std::string file;
  int64_t position = 0;
  std::string line;  // sequence number and kind included
};

struct LookupCase {
  std::string key_columns;
  std::vector<std::string> keys;
  uint64_t seed = 0;
};

std::ostream& operator<<(std::ostream& out, const LookupCase& c) {
  return out << c.key_columns << ", seed " << c.seed;
}

// Levels 1 to 3 with random rows, several files a level, and some rows hidden by deletion vectors.
class LookedUpTree {
 public:
  explicit LookedUpTree(const LookupCase& c)
      : table_(c.key_columns + ", s INT, v STRING, w ARRAY<INT>", c.keys),
        random_(c.seed),
        versions_(table_.schema, random_.Between(3, 5000), c.seed) {
    order_.emplace(KeyOrder::OfKey(table_.schema->TypesOf(table_.schema->TrimmedPrimaryKeys())).ValueOrDie());
    table_.options.target_file_bytes = 1;  // a file a thousand rows
    asked_columns_ = random_.OneIn(3) ? std::vector<std::string>{"v"} : table_.ColumnNames();
    std::vector<TreeFilePtr> files;
    for (int32_t level = 1; level <= 3; ++level) {
      if (!random_.OneIn(5)) AddLevel(Level(level), &files);
    }
    levels_ = Levels::Make(std::move(files), 5).ValueOrDie();
  }

  std::unique_ptr<TreeLookup> Open(LookupCache* cache) {
    BucketFiles files = table_.Files();
    files.deletions = deletions_;
    return TreeLookup::Open(files, levels_, asked_columns_, cache).ValueOrDie();
  }

  // Keys that ascend strictly; some are in no file.
  KeyColumn RandomKeys() {
    const int64_t count = random_.OneIn(3) ? 1 : random_.Between(1, 3000);
    const auto batch = random_.OneIn(4)
                           ? RandomRows(random_.Next()).Batch(table_.schema->fields, count).ValueOrDie()
                           : versions_.Batch(count);
    const KeyColumn drawn = KeysOf(*batch);
    std::map<EncodedKey, uint32_t> rows;
    for (int64_t row = 0; row < drawn.size(); ++row) rows[drawn.Encoded(row)] = static_cast<uint32_t>(row);
    std::vector<RowRef> sorted;
    for (const auto& [key, row] : rows) sorted.push_back({0, row});
    return KeysOf(*GatherRows({batch}, sorted, nullptr).ValueOrDie());
  }

  const StoredRow* Expected(const EncodedKey& key, Level from) const {
    for (const auto& [level, rows] : rows_) {
      if (level < std::max(from, Level(1))) continue;
      if (const auto found = rows.find(key); found != rows.end()) return &found->second;
    }
    return nullptr;
  }

  // Asks and compares.
  void Check(const TreeLookup& lookup, const KeyColumn& keys, Level from) {
    auto found = lookup.Find(keys, from);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->rows->ValidateFull().ok()) << found->rows->ValidateFull();
    ASSERT_EQ(found->row_of_key.size(), static_cast<size_t>(keys.size()));
    ASSERT_EQ(found->places.size(), static_cast<size_t>(found->rows->num_rows()));
    const std::vector<std::string> lines = LinesOf(FieldsShown(), *found->rows);
    size_t answered = 0;
    for (int64_t i = 0; i < keys.size(); ++i) {
      const int32_t row = found->row_of_key[static_cast<size_t>(i)];
      const StoredRow* expected = Expected(keys.Encoded(i), from);
      ASSERT_EQ(row >= 0, expected != nullptr) << "key " << i << " from " << from;
      if (row < 0) continue;
      ++answered;
      EXPECT_EQ(lines[static_cast<size_t>(row)], expected->line);
      EXPECT_EQ(found->places[static_cast<size_t>(row)].file->meta.name, expected->file);
      EXPECT_EQ(found->places[static_cast<size_t>(row)].position, expected->position);
    }
    EXPECT_EQ(answered, lines.size()) << "no row that answers no key";
  }

  Random* random() { return &random_; }

 private:
  KeyColumn KeysOf(const arrow::RecordBatch& batch) const {
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const std::string& name : table_.schema->TrimmedPrimaryKeys())
      keys.push_back(batch.GetColumnByName(name));
    return order_->Encode(keys).ValueOrDie();
  }

  std::vector<DataField> FieldsShown() const {
    std::vector<DataField> fields = SequenceAndKindFields();
    for (const DataField& field : table_.schema->FieldsOf(asked_columns_)) fields.push_back(field);
    return fields;
  }

  void AddLevel(Level level, std::vector<TreeFilePtr>* files) {
    WriteBuffer buffer = WriteBuffer::Make(*table_.schema, MergePolicy(), nullptr).ValueOrDie();
    const int64_t count = random_.Between(1, random_.OneIn(3) ? 6000 : 40);
    HEADRACE_EXPECT_OK(
        buffer.Append(versions_.Batch(count), versions_.Kinds(count, true), level.value * 10000));
    FileNames names("u" + std::to_string(level.value), table_.options);
    const FileIncrement flushed = FlushToLevelZero(buffer, table_.Files(), &names, false).ValueOrDie();
    for (DataFileMeta meta : flushed.added) {
      meta.level = level;
      KeepRows(level, meta);
      files->push_back(MakeTreeFile(*order_, meta).ValueOrDie());
    }
  }

  void KeepRows(Level level, const DataFileMeta& meta) {
    DeletionVector deleted;
    const bool with_deletions = random_.OneIn(2);
    ReadColumns columns{.keys = true, .sequence = true, .kind = true, .values = asked_columns_};
    auto stream = OpenConcatenation(table_.Files(), {meta}, columns, 700).ValueOrDie();
    int64_t position = 0;
    while (auto batch = stream->Next().ValueOrDie()) {
      const int key_columns = static_cast<int>(table_.schema->TrimmedPrimaryKeys().size());
      const KeyColumn keys =
          order_->Encode({batch->columns().begin(), batch->columns().begin() + key_columns}).ValueOrDie();
      auto shown = batch;
      for (int i = 0; i < key_columns; ++i) shown = shown->RemoveColumn(0).ValueOrDie();
      const std::vector<std::string> lines = LinesOf(FieldsShown(), *shown);
      for (int64_t row = 0; row < keys.size(); ++row, ++position) {
        if (with_deletions && random_.OneIn(3)) {
          deleted.Delete(position);
        } else {
          rows_[level][keys.Encoded(row)] = {meta.name, position, lines[static_cast<size_t>(row)]};
        }
      }
    }
    if (deleted.empty()) return;
    DeletionVectors all = deletions_ == nullptr ? DeletionVectors() : *deletions_;
    all[meta.name] = std::make_shared<DeletionVector>(std::move(deleted));
    deletions_ = std::make_shared<DeletionVectors>(std::move(all));
  }

  TestTable table_;
  Random random_;
  RandomVersions versions_;
  std::optional<KeyOrder> order_;
  std::vector<std::string> asked_columns_;
  Levels levels_;
  std::shared_ptr<const DeletionVectors> deletions_;
  std::map<Level, std::map<EncodedKey, StoredRow>> rows_;
};

class RandomTreesLookedUp : public testing::TestWithParam<LookupCase> {};

TEST_P(RandomTreesLookedUp, GiveTheRowOfTheLowestLevelThatHasTheKey) {
  LookedUpTree tree(GetParam());
  const auto lookup = tree.Open(nullptr);
  for (int round = 0; round < 6; ++round) {
    tree.Check(*lookup, tree.RandomKeys(), Level(static_cast<int32_t>(tree.random()->Below(5))));
    if (testing::Test::HasFatalFailure()) FAIL() << GetParam();
  }
}

TEST_P(RandomTreesLookedUp, GiveTheSameRowsThroughACacheOfAnySize) {
  LookedUpTree tree(GetParam());
  for (const int64_t budget : {0LL, 20'000LL, 200'000LL, 100'000'000LL}) {
    LookupCache cache(budget);
    for (int round = 0; round < 3; ++round) {
      const auto lookup = tree.Open(&cache);
      for (int call = 0; call < 2; ++call) {
        tree.Check(*lookup, tree.RandomKeys(), Level(static_cast<int32_t>(tree.random()->Below(4))));
        EXPECT_LE(cache.used_bytes(), budget);
      }
    }
    if (testing::Test::HasFatalFailure()) FAIL() << GetParam() << ", budget " << budget;
  }
}

std::vector<LookupCase> RandomCases() {
  std::vector<LookupCase> cases;
  for (const auto& [columns, keys] : KeyShapes()) {
    for (uint64_t seed = 1; seed <= 4; ++seed) cases.push_back({columns, keys, seed});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Lookup, RandomTreesLookedUp, testing::ValuesIn(RandomCases()));

}  // namespace
}  // namespace headrace
