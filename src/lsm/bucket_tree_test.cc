// A bucket as its writer sees it: random appends, flushes, compactions and reads against a plain map.
#include "lsm/bucket_tree.h"

#include <algorithm>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fault_store.h"
#include "lsm/merge_tree.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

std::vector<std::string> Sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

// A tree, the model of its rows, and the files that commits would list.
class ModelledTree {
 public:
  ModelledTree(const std::string& columns, std::vector<std::string> keys, uint64_t seed)
      : table_(columns, std::move(keys)),
        random_(seed),
        versions_(table_.schema, random_.Between(1, 200), seed) {
    table_.options.compaction_trigger = 3;
    table_.options.num_levels = 4;
    table_.options.stop_trigger = 6;
    // Small targets make several files a level.
    table_.options.target_file_bytes = random_.OneIn(2) ? 3000 : 128 << 20;
  }

  TestTable& table() { return table_; }
  BucketTree& tree() { return *tree_; }
  Random& random() { return random_; }

  void Open() {
    BucketTreeSpec spec{table_.Files(), "w" + std::to_string(++opened_)};
    tree_ = BucketTree::Open(spec, committed_).ValueOrDie();
  }

  void Append(int64_t rows, bool with_retractions) {
    const auto batch = versions_.Batch(rows);
    const auto kinds = versions_.Kinds(rows, with_retractions);
    HEADRACE_EXPECT_OK(tree_->Append(batch, kinds));
    const std::vector<std::string> lines = LinesOf(table_.schema->fields, *batch);
    const std::vector<EncodedKey> encoded = KeysOf(*batch);
    for (int64_t row = 0; row < rows; ++row) {
      const bool retract = IsRetract(static_cast<const arrow::Int8Array&>(*kinds).Value(row));
      if (retract && table_.options.ignore_delete) continue;
      if (retract) {
        model_.erase(encoded[static_cast<size_t>(row)]);
      } else {
        model_[encoded[static_cast<size_t>(row)]] = lines[static_cast<size_t>(row)];
      }
      ++numbered_;
    }
  }

  std::vector<EncodedKey> KeysOf(const arrow::RecordBatch& batch) {
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const std::string& name : table_.schema->TrimmedPrimaryKeys())
      keys.push_back(batch.GetColumnByName(name));
    const KeyColumn column = Order().Encode(keys).ValueOrDie();
    std::vector<EncodedKey> encoded;
    for (int64_t row = 0; row < batch.num_rows(); ++row) encoded.push_back(column.Encoded(row));
    return encoded;
  }

  KeyOrder Order() const {
    return KeyOrder::OfKey(table_.schema->TypesOf(table_.schema->TrimmedPrimaryKeys())).ValueOrDie();
  }

  void Compact(bool full) {
    const auto plan = tree_->PickCompaction(full);
    if (!plan.has_value()) return;
    auto result = tree_->RunCompaction(*plan);
    ASSERT_TRUE(result.ok()) << result.status();
    if (random_.OneIn(8)) {
      HEADRACE_EXPECT_OK(tree_->DropCompaction(&*result));
    } else {
      HEADRACE_EXPECT_OK(tree_->ApplyCompaction(*result));
    }
  }

  // As a commit does with the change: what is removed must have been there.
  void Commit() {
    const FileChange change = tree_->TakeChange();
    for (const FileIncrement* increment : {&change.append, &change.compact}) {
      for (const DataFileMeta& gone : increment->removed) {
        const auto at = std::find(committed_.begin(), committed_.end(), gone);
        ASSERT_NE(at, committed_.end()) << gone.name << " level " << gone.level;
        committed_.erase(at);
      }
      committed_.insert(committed_.end(), increment->added.begin(), increment->added.end());
      for (const DataFileMeta& file : increment->changelog) changelog_.push_back(file);
      ever_.insert(ever_.end(), increment->added.begin(), increment->added.end());
      ever_.insert(ever_.end(), increment->changelog.begin(), increment->changelog.end());
    }
  }

  void CheckRead() {
    const Levels levels = Levels::Make(Order(), tree_->LiveFiles(), table_.options.num_levels).ValueOrDie();
    MergeRequest request;
    request.sections = PartitionIntoSections(levels.files());
    request.values = table_.ColumnNames();
    request.policy = MergePolicyOf(table_.options, /*drop_deletes=*/true);
    request.batch_rows = random_.OneIn(2) ? 5 : 1000;
    request.key_ordered = random_.OneIn(2);
    std::vector<std::string> expected;
    for (const auto& [key, line] : model_) expected.push_back(line);
    const bool ordered = request.key_ordered;
    auto stream = OpenMerge(table_.Files(), std::move(request)).ValueOrDie();
    std::vector<std::string> lines = DrainLines(stream.get(), table_.schema->fields);
    if (ordered) {
      EXPECT_EQ(lines, expected);
    } else {
      EXPECT_EQ(Sorted(std::move(lines)), Sorted(std::move(expected)));
    }
  }

  // Everything on disk was listed by some commit.
  void CheckNoLeftovers() {
    std::vector<std::string> listed;
    for (const DataFileMeta& file : ever_) listed.push_back(file.name);
    for (const std::string& name : table_.FileNamesOnDisk()) EXPECT_THAT(listed, testing::Contains(name));
  }

  int64_t numbered() const { return numbered_; }
  const std::vector<DataFileMeta>& committed() const { return committed_; }
  const std::vector<DataFileMeta>& changelog() const { return changelog_; }

 private:
  TestTable table_;
  Random random_;
  RandomVersions versions_;
  std::unique_ptr<BucketTree> tree_;
  std::map<EncodedKey, std::string> model_;
  std::vector<DataFileMeta> committed_;
  std::vector<DataFileMeta> changelog_;
  std::vector<DataFileMeta> ever_;  // every file that any commit listed
  int64_t numbered_ = 0;
  int opened_ = 0;
};

void RunRandomOperations(const std::string& columns, const std::vector<std::string>& keys, uint64_t seed) {
  SCOPED_TRACE(columns + ", seed " + std::to_string(seed));
  ModelledTree modelled(columns, keys, seed);
  modelled.table().options.ignore_delete = seed % 5 == 0;
  modelled.table().options.changelog_producer =
      seed % 2 == 0 ? ChangelogProducer::kInput : ChangelogProducer::kNone;
  modelled.table().options.thin_mode = seed % 3 == 0;
  modelled.Open();
  for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
    switch (modelled.random().Below(8)) {
      case 0:
      case 1:
      case 2: modelled.Append(modelled.random().Between(0, 40), true); break;
      case 3:
      case 4: HEADRACE_EXPECT_OK(modelled.tree().Flush()); break;
      case 5: modelled.Compact(modelled.random().OneIn(4)); break;
      case 6:
        HEADRACE_EXPECT_OK(modelled.tree().Flush());
        modelled.CheckRead();
        break;
      case 7:
        HEADRACE_EXPECT_OK(modelled.tree().Flush());
        modelled.Commit();
        if (modelled.random().OneIn(2)) modelled.Open();
        EXPECT_LT(modelled.tree().max_sequence(), modelled.numbered());
        break;
    }
  }
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  modelled.Compact(true);
  modelled.CheckRead();
  modelled.Commit();
  modelled.CheckNoLeftovers();
}

TEST(BucketTree, ReadsAsAMapUnderAnyInterleavingOfFlushAndCompaction) {
  uint64_t seed = 1;
  for (const auto& [columns, keys] : KeyShapes()) {
    for (int i = 0; i < 3; ++i) RunRandomOperations(columns + ", v STRING, w INT", keys, seed++);
  }
}

TEST(BucketTree, ContinuesNumbersAfterTheLargestInItsFilesAndGivesEveryRowOne) {
  ModelledTree modelled("k BIGINT NOT NULL, v INT", {"k"}, 7);
  modelled.Open();
  EXPECT_EQ(modelled.tree().max_sequence(), -1);
  modelled.Append(10, true);
  EXPECT_EQ(modelled.tree().max_sequence(), 9) << "every row, also one that another replaces";
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  modelled.Commit();
  const int64_t largest = modelled.committed()[0].max_sequence;
  modelled.Open();
  EXPECT_EQ(modelled.tree().max_sequence(), largest);
}

TEST(BucketTree, TheChangelogHasEveryRowAsItCame) {
  ModelledTree modelled("k BIGINT NOT NULL, v INT", {"k"}, 8);
  modelled.table().options.changelog_producer = ChangelogProducer::kInput;
  modelled.Open();
  modelled.Append(30, true);
  modelled.Append(20, true);
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  modelled.Commit();
  int64_t rows = 0;
  for (const DataFileMeta& file : modelled.changelog()) rows += file.row_count;
  EXPECT_EQ(rows, 50);
  EXPECT_EQ(modelled.changelog()[0].level, Level(0));
  EXPECT_EQ(modelled.changelog()[0].source, FileSource::kAppend);
  EXPECT_EQ(modelled.committed()[0].source, FileSource::kAppend);
}

TEST(BucketTree, ACompactionRunsBesideAppendsAndFlushes) {
  ModelledTree modelled("k BIGINT NOT NULL, v INT", {"k"}, 9);
  modelled.Open();
  for (int i = 0; i < 4; ++i) {
    modelled.Append(30, true);
    HEADRACE_EXPECT_OK(modelled.tree().Flush());
  }
  const auto plan = modelled.tree().PickCompaction(false);
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(modelled.tree().PickCompaction(true).has_value()) << "one at a time";
  Result<CompactionResult> result = Status::Invalid("not run");
  std::thread compactor([&] { result = modelled.tree().RunCompaction(*plan); });
  modelled.Append(30, true);
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  compactor.join();
  ASSERT_TRUE(result.ok()) << result.status();
  HEADRACE_EXPECT_OK(modelled.tree().ApplyCompaction(*result));
  modelled.CheckRead();
  modelled.Commit();
}

TEST(BucketTree, WaitsOnceTheStopTriggerIsPassedUnlessItIsWriteOnly) {
  ModelledTree modelled("k BIGINT NOT NULL, v INT", {"k"}, 11);
  modelled.Open();
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(modelled.tree().ShouldWaitForCompaction());
    modelled.Append(5, false);
    HEADRACE_EXPECT_OK(modelled.tree().Flush());
  }
  EXPECT_TRUE(modelled.tree().ShouldWaitForCompaction());
  modelled.table().options.write_only = true;
  EXPECT_FALSE(modelled.tree().ShouldWaitForCompaction());
  EXPECT_FALSE(modelled.tree().PickCompaction(false).has_value());
  EXPECT_TRUE(modelled.tree().PickCompaction(true).has_value()) << "asked for by name";
}

TEST(BucketTree, AnUpgradeKeepsItsFileAndAFullCompactionDropsDeletes) {
  ModelledTree modelled("k BIGINT NOT NULL, v INT", {"k"}, 12);
  modelled.table().options.target_file_bytes = 1;  // every file is large
  modelled.Open();
  modelled.Append(5, false);
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  modelled.Commit();
  const std::string name = modelled.committed()[0].name;
  auto plan = modelled.tree().PickCompaction(true);
  ASSERT_TRUE(plan.has_value());
  HEADRACE_EXPECT_OK(modelled.tree().ApplyCompaction(modelled.tree().RunCompaction(*plan).ValueOrDie()));
  modelled.Commit();
  ASSERT_EQ(modelled.committed().size(), 1u);
  EXPECT_EQ(modelled.committed()[0].name, name);
  EXPECT_EQ(modelled.committed()[0].level, Level(3));
  EXPECT_EQ(modelled.committed()[0].source, FileSource::kAppend) << "only the level changes";
}

TEST(BucketTree, DiscardLeavesNoFileOfItsOwn) {
  ModelledTree modelled("k BIGINT NOT NULL, v INT", {"k"}, 13);
  modelled.table().options.changelog_producer = ChangelogProducer::kInput;
  modelled.Open();
  modelled.Append(5, true);
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  modelled.Commit();
  const std::vector<std::string> before = modelled.table().FileNamesOnDisk();
  for (int i = 0; i < 4; ++i) {
    modelled.Append(5, true);
    HEADRACE_EXPECT_OK(modelled.tree().Flush());
  }
  auto plan = modelled.tree().PickCompaction(true);
  ASSERT_TRUE(plan.has_value());
  HEADRACE_EXPECT_OK(modelled.tree().ApplyCompaction(modelled.tree().RunCompaction(*plan).ValueOrDie()));
  HEADRACE_EXPECT_OK(modelled.tree().Discard());
  EXPECT_EQ(modelled.table().FileNamesOnDisk(), before);
}

TEST(BucketTree, RaisedSequencesKeepRowsAndKinds) {
  ModelledTree modelled("k BIGINT NOT NULL, v STRING", {"k"}, 14);
  modelled.table().options.changelog_producer = ChangelogProducer::kInput;
  modelled.Open();
  modelled.Append(40, true);
  HEADRACE_EXPECT_OK(modelled.tree().Flush());
  const FileIncrement append = modelled.tree().TakeChange().append;
  const FileIncrement raised =
      RaiseSequences({modelled.table().Files(), "raised"}, append, 1000).ValueOrDie();
  ASSERT_EQ(raised.added.size(), 1u);
  ASSERT_EQ(raised.changelog.size(), 1u);
  EXPECT_EQ(raised.added[0].min_sequence, append.added[0].min_sequence + 1000);
  EXPECT_EQ(raised.added[0].max_sequence, append.added[0].max_sequence + 1000);
  EXPECT_EQ(raised.added[0].delete_row_count, append.added[0].delete_row_count);
  EXPECT_EQ(raised.changelog[0].row_count, 40);
  EXPECT_NE(raised.added[0].name, append.added[0].name);
}

// A flush and a compaction with one operation of the store failing. Gives whether the fault came.
bool FlushAndCompactWithFault(int64_t at, const std::string& columns, const std::vector<std::string>& keys) {
  SCOPED_TRACE("operation " + std::to_string(at));
  TestTable table(columns, keys);
  table.options.changelog_producer = keys.empty() ? ChangelogProducer::kNone : ChangelogProducer::kInput;
  table.options.append_compaction_min_files = 2;
  const auto store = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
  BucketFiles files = table.Files();
  files.store = store.get();
  const auto on_disk = [&] {
    std::vector<std::string> names;
    for (const FileInfo& info : store->List("/t/bucket-0").ValueOrDie()) names.push_back(info.path);
    std::sort(names.begin(), names.end());
    return names;
  };
  auto tree = BucketTree::Open({files, "w"}, {}).ValueOrDie();
  RandomRows rows(5);
  const auto append = [&] {
    HEADRACE_EXPECT_OK(tree->Append(rows.Batch(table.schema->fields, 20).ValueOrDie(), nullptr));
  };
  append();
  HEADRACE_EXPECT_OK(tree->Flush());
  append();
  // Deleting is how a failure is cleaned up; it is not made to fail here.
  store->SetPlan({FaultKind::kFail, at, [](StoreOperation op, const std::string&) {
                    return op != StoreOperation::kDelete && op != StoreOperation::kList;
                  }});
  std::vector<std::string> before = on_disk();
  if (!tree->Flush().ok()) {
    EXPECT_EQ(on_disk(), before);
    EXPECT_EQ(tree->buffered_rows(), 20);
    HEADRACE_EXPECT_OK(tree->Flush());
  }
  before = on_disk();
  const auto plan = tree->PickCompaction(keys.empty() ? false : true);
  EXPECT_TRUE(plan.has_value());
  if (!plan.has_value()) return false;
  auto result = tree->RunCompaction(*plan);
  if (!result.ok()) {
    EXPECT_EQ(on_disk(), before);
    HEADRACE_EXPECT_OK(tree->DropCompaction());
    EXPECT_TRUE(tree->PickCompaction(keys.empty() ? false : true).has_value()) << "it can be tried again";
  } else {
    HEADRACE_EXPECT_OK(tree->ApplyCompaction(*result));
    EXPECT_EQ(tree->LiveFiles().size(), 1u);
  }
  return store->fired();
}

TEST(BucketTree, AnyFailureOfTheStoreLeavesNoFileAndCanBeTriedAgain) {
  int64_t at = 0;
  while (FlushAndCompactWithFault(at, "k BIGINT NOT NULL, v STRING", {"k"})) ++at;
  EXPECT_GT(at, 20);
  at = 0;
  while (FlushAndCompactWithFault(at, "a INT, b STRING", {})) ++at;
  EXPECT_GT(at, 10);
}

TEST(RowBucket, KeepsRowsInOrderThroughFlushesAndCompactions) {
  TestTable table("a INT, b STRING", {});
  table.options.append_compaction_min_files = 3;
  table.options.target_file_bytes = 256 << 20;
  auto tree = BucketTree::Open({table.Files(), "w1"}, {}).ValueOrDie();
  RandomRows rows(3);
  std::vector<std::string> expected;
  for (int step = 0; step < 12; ++step) {
    const auto batch = rows.Batch(table.schema->fields, 10).ValueOrDie();
    for (std::string& line : LinesOf(table.schema->fields, *batch)) expected.push_back(std::move(line));
    HEADRACE_EXPECT_OK(tree->Append(batch, nullptr));
    if (step % 2 == 1) HEADRACE_EXPECT_OK(tree->Flush());
    if (const auto plan = tree->PickCompaction(step == 11)) {
      HEADRACE_EXPECT_OK(tree->ApplyCompaction(tree->RunCompaction(*plan).ValueOrDie()));
    }
  }
  EXPECT_EQ(tree->max_sequence(), 119);
  const std::vector<DataFileMeta> live = tree->LiveFiles();
  EXPECT_LT(live.size(), 6u);
  EXPECT_EQ(live[0].min_sequence, 0);
  EXPECT_EQ(live.back().max_sequence, 119);
  auto stream = OpenConcatenation(table.Files(), live, {.values = table.ColumnNames()}, 7).ValueOrDie();
  EXPECT_EQ(DrainLines(stream.get(), table.schema->fields), expected);
}

TEST(RowBucket, RefusesRetractions) {
  TestTable table("a INT", {});
  auto tree = BucketTree::Open({table.Files(), "w1"}, {}).ValueOrDie();
  const auto batch = RandomRows(1).Batch(table.schema->fields, 2).ValueOrDie();
  const Status status = tree->Append(batch, KindsOf({0, 3}));
  ASSERT_TRUE(IsKind(status, ErrorKind::kInvalid));
  EXPECT_THAT(status.message(), testing::HasSubstr("row 1"));
  EXPECT_EQ(tree->buffered_rows(), 0);
}

}  // namespace
}  // namespace headrace
