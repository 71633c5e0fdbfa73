// The rows of keys looked up are the rows of a scan, whatever the engine, the levels and the deletion vectors.
#include "lsm/key_lookup.h"

#include <algorithm>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/flush.h"
#include "lsm/test_table.h"
#include "lsm/write_buffer.h"

namespace headrace {
namespace {

struct ScanCase {
  std::string key_columns;
  std::vector<std::string> keys;
  uint64_t seed = 0;
  MergePolicy policy;
};

std::ostream& operator<<(std::ostream& out, const ScanCase& c) {
  return out << c.key_columns << ", seed " << c.seed << ", engine " << static_cast<int>(c.policy.engine)
             << (c.policy.ignore_delete ? ", ignore deletes" : "")
             << (c.policy.sequence_columns.empty() ? "" : ", sequence field");
}

// Files of level 0 that overlap, and levels 1 and 2, with deletes and hidden rows.
class ScannedTree {
 public:
  explicit ScannedTree(const ScanCase& c)
      : case_(c),
        table_(c.key_columns + ", s INT, v STRING, w ARRAY<INT>", c.keys),
        random_(c.seed),
        versions_(table_.schema, random_.Between(3, 2000), c.seed) {
    order_.emplace(KeyOrder::OfKey(table_.schema->TypesOf(table_.schema->TrimmedPrimaryKeys())).ValueOrDie());
    case_.policy.drop_deletes = true;
    int64_t next = 0;
    for (const int32_t level : {2, 1, 0, 0, 0}) {
      if (!random_.OneIn(4)) AddRun(Level(level), &next);
    }
  }

  // Every row of the scan by its key.
  std::map<EncodedKey, std::string> Scan() {
    std::map<EncodedKey, std::string> rows;
    if (files_.empty()) return rows;
    MergeRequest request;
    request.sections = PartitionIntoSections(files_);
    request.values = table_.ColumnNames();
    request.key_ordered = true;
    request.policy = case_.policy;
    auto stream = OpenMerge(Files(), std::move(request)).ValueOrDie();
    while (auto batch = stream->Next().ValueOrDie()) {
      const std::vector<std::string> lines = LinesOf(table_.schema->fields, *batch);
      const KeyColumn keys = KeysOf(*batch);
      for (int64_t row = 0; row < keys.size(); ++row)
        rows[keys.Encoded(row)] = lines[static_cast<size_t>(row)];
    }
    return rows;
  }

  void CheckAgainst(const std::map<EncodedKey, std::string>& scan, const KeyLookup& lookup) {
    const auto batch = random_.OneIn(5)
                           ? RandomRows(random_.Next()).Batch(table_.schema->fields, 50).ValueOrDie()
                           : versions_.Batch(random_.OneIn(3) ? 1 : 1500);
    const KeyColumn drawn = KeysOf(*batch);
    std::map<EncodedKey, uint32_t> rows;
    for (int64_t row = 0; row < drawn.size(); ++row) rows[drawn.Encoded(row)] = static_cast<uint32_t>(row);
    std::vector<RowRef> sorted;
    for (const auto& [key, row] : rows) sorted.push_back({0, row});
    const KeyColumn keys = KeysOf(*GatherRows({batch}, sorted, nullptr).ValueOrDie());
    const auto found = lookup.Find(keys);
    ASSERT_TRUE(found.ok()) << found.status();
    const std::vector<std::string> lines = LinesOf(table_.schema->fields, *found->rows);
    for (int64_t i = 0; i < keys.size(); ++i) {
      const int32_t row = found->row_of_key[static_cast<size_t>(i)];
      const auto expected = scan.find(keys.Encoded(i));
      ASSERT_EQ(row >= 0, expected != scan.end()) << "key " << i;
      if (row < 0) continue;
      EXPECT_EQ(lines[static_cast<size_t>(row)], expected->second);
    }
  }

  std::unique_ptr<KeyLookup> Open(LookupCache* cache) {
    return KeyLookup::Open(Files(), files_, case_.policy, table_.ColumnNames(), cache).ValueOrDie();
  }

 private:
  BucketFiles Files() {
    BucketFiles files = table_.Files();
    files.deletions = deletions_;
    return files;
  }

  KeyColumn KeysOf(const arrow::RecordBatch& batch) const {
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const std::string& name : table_.schema->TrimmedPrimaryKeys())
      keys.push_back(batch.GetColumnByName(name));
    return order_->Encode(keys).ValueOrDie();
  }

  void AddRun(Level level, int64_t* next) {
    table_.options.target_file_bytes = level == Level(0) ? 128 << 20 : 1;
    MergePolicy flushed_as = case_.policy;
    flushed_as.ignore_delete = false;
    WriteBuffer buffer = WriteBuffer::Make(*table_.schema, flushed_as, nullptr).ValueOrDie();
    const int64_t count = random_.Between(1, random_.OneIn(3) ? 4000 : 60);
    if (random_.OneIn(4)) *next = random_.Between(0, 100);  // numbers of several files overlap
    HEADRACE_EXPECT_OK(buffer.Append(versions_.Batch(count),
                                     versions_.Kinds(count, case_.policy.engine == MergeEngine::kDeduplicate),
                                     *next));
    *next += count;
    FileNames names("u" + std::to_string(files_.size()), table_.options);
    const FileIncrement flushed = FlushToLevelZero(buffer, table_.Files(), &names, false).ValueOrDie();
    DeletionVectors all = deletions_ == nullptr ? DeletionVectors() : *deletions_;
    for (DataFileMeta meta : flushed.added) {
      meta.level = level;
      files_.push_back(MakeTreeFile(*order_, meta).ValueOrDie());
      if (!random_.OneIn(3)) continue;
      DeletionVector deleted;
      for (int64_t row = 0; row < meta.row_count; ++row) {
        if (random_.OneIn(4)) deleted.Delete(row);
      }
      if (!deleted.empty()) all[meta.name] = std::make_shared<DeletionVector>(std::move(deleted));
    }
    deletions_ = std::make_shared<DeletionVectors>(std::move(all));
  }

  ScanCase case_;
  TestTable table_;
  Random random_;
  RandomVersions versions_;
  std::optional<KeyOrder> order_;
  std::vector<TreeFilePtr> files_;
  std::shared_ptr<const DeletionVectors> deletions_;
};

class KeysLookedUp : public testing::TestWithParam<ScanCase> {};

TEST_P(KeysLookedUp, HaveTheRowsOfAScan) {
  ScannedTree tree(GetParam());
  const auto scan = tree.Scan();
  LookupCache cache(300'000);
  const auto cold = tree.Open(nullptr);
  const auto cached = tree.Open(&cache);
  for (int round = 0; round < 3; ++round) {
    tree.CheckAgainst(scan, *cold);
    tree.CheckAgainst(scan, *cached);
    if (testing::Test::HasFatalFailure()) FAIL() << GetParam();
  }
}

std::vector<ScanCase> Cases() {
  std::vector<ScanCase> cases;
  for (const auto& [columns, keys] : KeyShapes()) {
    for (uint64_t seed = 1; seed <= 7; ++seed) {
      ScanCase c{columns, keys, seed, {}};
      if (seed == 5) c.policy.engine = MergeEngine::kPartialUpdate;
      if (seed == 6) c.policy.engine = MergeEngine::kAggregation;
      if (seed == 7) c.policy.engine = MergeEngine::kFirstRow;
      if (seed >= 6) c.policy.lowest_level_alone = seed == 6;
      if (seed <= 4 && seed % 2 == 0) c.policy.ignore_delete = true;
      if (seed != 7 && seed % 4 >= 2) c.policy.sequence_columns = {"s"};
      cases.push_back(c);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Lookup, KeysLookedUp, testing::ValuesIn(Cases()));

}  // namespace
}  // namespace headrace
