// The changes that compactions tell, replayed: at any time they add up to what a stream may see of the tree.
#include <algorithm>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file/physical_columns.h"
#include "io/fault_store.h"
#include "lsm/bucket_tree.h"
#include "lsm/levels.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Mode {
  std::string name;
  ChangelogProducer producer = ChangelogProducer::kNone;
  bool vectors = false;
  bool row_deduplicate = false;
  bool sequence_field = false;
  bool gentle = false;
  MergeEngine engine = MergeEngine::kDeduplicate;  // others are given inserts and updates alone
};

std::string ShortKind(int8_t kind) { return std::string(ShortName(static_cast<RowKind>(kind))); }

// A tree whose commits are followed: `shown` is what its changelog adds up to.
class FollowedTree {
 public:
  FollowedTree(const std::string& columns, std::vector<std::string> keys, const Mode& mode, uint64_t seed)
      : table_(columns, std::move(keys)),
        random_(seed),
        versions_(table_.schema, random_.Between(1, 60), seed) {
    TableOptions& options = table_.options;
    options.compaction_trigger = 3;
    options.num_levels = 4;
    options.stop_trigger = 6;
    options.target_file_bytes = random_.OneIn(2) ? 3000 : 128 << 20;
    options.changelog_producer = mode.producer;
    options.deletion_vectors = mode.vectors;
    options.row_deduplicate = mode.row_deduplicate;
    if (mode.gentle) options.lookup_compact = LookupCompact::kGentle;
    options.lookup_compact_max_interval = 3;
    if (mode.sequence_field) options.sequence_fields = {"w"};
    options.merge_engine = mode.engine;
    if (mode.engine == MergeEngine::kAggregation) {
      options.merge_rules.aggregates["v"] = {.function = AggregateFunction::kListagg, .name = "listagg"};
      options.merge_rules.aggregates["w"] = {.function = AggregateFunction::kMin, .name = "min"};
    }
  }

  TestTable& table() { return table_; }
  BucketTree& tree() { return *tree_; }
  Random& random() { return random_; }
  const std::vector<std::string>& told() const { return told_; }

  void Open() {
    BucketTreeSpec spec{Files(), "w" + std::to_string(++opened_)};
    spec.index = index_;
    tree_ = BucketTree::Open(spec, committed_).ValueOrDie();
  }

  BucketFiles Files() {
    BucketFiles files = table_.Files();
    files.index_directory = "/t/index";
    files.deletions = deletions_;
    return files;
  }

  void AppendRandom(int64_t rows) {
    const auto batch = versions_.Batch(rows);
    const auto kinds = versions_.Kinds(rows, table_.options.merge_engine == MergeEngine::kDeduplicate);
    Append(batch, kinds);
  }

  void Append(const std::shared_ptr<arrow::RecordBatch>& batch, const std::shared_ptr<arrow::Array>& kinds) {
    HEADRACE_EXPECT_OK(tree_->Append(batch, kinds));
  }

  void Compact(bool full, bool may_lose = false) {
    const auto plan = tree_->PickCompaction(full);
    if (!plan.has_value()) return;
    // A writer goes on beside its compaction.
    if (random_.OneIn(4)) {
      AppendRandom(random_.Between(1, 10));
      HEADRACE_EXPECT_OK(tree_->Flush());
    }
    auto result = tree_->RunCompaction(*plan);
    ASSERT_TRUE(result.ok()) << result.status();
    if (may_lose && random_.OneIn(6)) {
      HEADRACE_EXPECT_OK(tree_->DropCompaction(&*result));
      return;
    }
    Applied(*result);
  }

  // As a commit does with the change, and then as a follower reads it.
  void Commit() {
    const FileChange change = tree_->TakeChange();
    std::vector<DataFileMeta> changelog;
    for (const FileIncrement* increment : {&change.append, &change.compact}) {
      for (const DataFileMeta& gone : increment->removed) {
        const auto at = std::find(committed_.begin(), committed_.end(), gone);
        ASSERT_NE(at, committed_.end()) << gone.name << " level " << gone.level;
        committed_.erase(at);
      }
      committed_.insert(committed_.end(), increment->added.begin(), increment->added.end());
      changelog.insert(changelog.end(), increment->changelog.begin(), increment->changelog.end());
      for (const IndexManifestEntry& gone : increment->index_removed) {
        ASSERT_EQ(std::erase(index_, gone), 1U);
      }
      index_.insert(index_.end(), increment->index_added.begin(), increment->index_added.end());
    }
    if (applied_ != nullptr) deletions_ = applied_;
    EXPECT_LE(index_.size(), 1U) << "a bucket has one file of vectors";
    Replay(changelog);
    CheckShown();
  }

  std::vector<std::string> RowsOf(const std::vector<DataFileMeta>& files, bool drop_deletes) {
    const Levels levels = Levels::Make(Order(), files, table_.options.num_levels).ValueOrDie();
    MergeRequest request;
    request.sections = PartitionIntoSections(levels.files());
    request.values = table_.ColumnNames();
    // What looked up is in the lowest level whole: of these rows the newest of a key is all there is to show.
    request.policy = MergePolicyOf(table_.options, drop_deletes);
    request.policy.engine = MergeEngine::kDeduplicate;
    request.key_ordered = true;
    auto stream = OpenMerge(Files(), std::move(request)).ValueOrDie();
    return DrainLines(stream.get(), table_.schema->fields);
  }

  std::vector<DataFileMeta>& committed() { return committed_; }

  void Applied(const CompactionResult& result) {
    HEADRACE_EXPECT_OK(tree_->ApplyCompaction(result));
    if (result.deletions != nullptr) applied_ = result.deletions;
  }
  // What a stream has seen before the tree was opened.
  void Show(int64_t key, const std::string& line) {
    shown_[Order().Encode({Int64s({key})}).ValueOrDie().Encoded(0)] = line;
  }
  // From here on rows may differ from what was told in columns that do not count.
  void Forgive() { forgiving_ = true; }

 private:
  KeyOrder Order() const {
    return KeyOrder::OfKey(table_.schema->TypesOf(table_.schema->TrimmedPrimaryKeys())).ValueOrDie();
  }

  void Replay(const std::vector<DataFileMeta>& changelog) {
    told_.clear();
    for (const DataFileMeta& file : changelog) {
      EXPECT_EQ(file.source, FileSource::kAppend);
      EXPECT_GT(file.level.value, 0);
      auto stream = OpenConcatenation(table_.Files(), {file},
                                      {.sequence = true, .kind = true, .values = table_.ColumnNames()}, 1000)
                        .ValueOrDie();
      while (auto batch = stream->Next().ValueOrDie()) ReplayBatch(*batch);
    }
    EXPECT_TRUE(open_update_.empty()) << "an update without its second half";
  }

  void ReplayBatch(const arrow::RecordBatch& batch) {
    const auto values = arrow::RecordBatch::Make(
        ToArrowSchema(table_.schema->fields), batch.num_rows(),
        std::vector<std::shared_ptr<arrow::Array>>(batch.columns().begin() + 2, batch.columns().end()));
    const std::vector<std::string> lines = LinesOf(table_.schema->fields, *values);
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const std::string& name : table_.schema->TrimmedPrimaryKeys())
      keys.push_back(values->GetColumnByName(name));
    const KeyColumn encoded = Order().Encode(keys).ValueOrDie();
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      const int8_t kind = static_cast<const arrow::Int8Array&>(*batch.column(1)).Value(row);
      const std::string& line = lines[static_cast<size_t>(row)];
      told_.push_back(ShortKind(kind) + line);
      Apply(static_cast<RowKind>(kind), encoded.Encoded(row), line);
    }
  }

  void Apply(RowKind kind, const EncodedKey& key, const std::string& line) {
    const auto shown = shown_.find(key);
    switch (kind) {
      case RowKind::kInsert:
        EXPECT_EQ(shown, shown_.end()) << "+I of a key that is there: " << line;
        shown_[key] = line;
        break;
      case RowKind::kUpdateBefore:
      case RowKind::kDelete:
        ASSERT_NE(shown, shown_.end()) << ShortKind(static_cast<int8_t>(kind)) << " of no row: " << line;
        if (!forgiving_) {
          EXPECT_EQ(shown->second, line);
        }
        if (kind == RowKind::kUpdateBefore) open_update_ = key;
        shown_.erase(shown);
        break;
      case RowKind::kUpdateAfter:
        // A first row is told as it came, and may have come as an update.
        if (table_.options.merge_engine == MergeEngine::kFirstRow) {
          EXPECT_EQ(shown, shown_.end()) << "a second row of a key: " << line;
        } else {
          EXPECT_EQ(open_update_, key) << "+U not after its -U: " << line;
        }
        open_update_.clear();
        shown_[key] = line;
        break;
    }
  }

  // What a stream may see: lookup the levels above 0, full-compaction the top level.
  void CheckShown() {
    std::vector<DataFileMeta> visible;
    for (const DataFileMeta& file : committed_) {
      const bool is_visible = table_.options.changelog_producer == ChangelogProducer::kLookup
                                  ? file.level.value > 0
                                  : file.level == table_.options.max_level();
      if (is_visible) visible.push_back(file);
    }
    std::vector<std::string> expected;
    for (const auto& [key, line] : shown_) expected.push_back(line);
    if (table_.options.row_deduplicate) {
      EXPECT_EQ(RowsOf(visible, true).size(), expected.size());
    } else {
      EXPECT_EQ(RowsOf(visible, true), expected);
    }
  }

  TestTable table_;
  Random random_;
  RandomVersions versions_;
  std::unique_ptr<BucketTree> tree_;
  std::vector<DataFileMeta> committed_;
  std::vector<IndexManifestEntry> index_;
  std::shared_ptr<const DeletionVectors> deletions_;
  std::shared_ptr<const DeletionVectors> applied_;
  std::map<EncodedKey, std::string> shown_;
  EncodedKey open_update_;
  bool forgiving_ = false;
  std::vector<std::string> told_;  // by the last commit
  int opened_ = 0;
};

void RunRandomOperations(const Mode& mode, const std::string& columns, const std::vector<std::string>& keys,
                         uint64_t seed) {
  SCOPED_TRACE(mode.name + ", " + columns + ", seed " + std::to_string(seed));
  FollowedTree tree(columns, keys, mode, seed);
  tree.Open();
  for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
    switch (tree.random().Below(8)) {
      case 0:
      case 1: tree.AppendRandom(tree.random().Between(0, 30)); break;
      case 2: HEADRACE_EXPECT_OK(tree.tree().Flush()); break;
      case 3:
      case 4: tree.Compact(false, /*may_lose=*/true); break;
      case 5: tree.Compact(tree.random().OneIn(2), /*may_lose=*/true); break;
      default:
        HEADRACE_EXPECT_OK(tree.tree().Flush());
        tree.Commit();
        // A crash between the commit of new rows and that of their compaction.
        if (tree.random().OneIn(3)) tree.Open();
        break;
    }
  }
  HEADRACE_EXPECT_OK(tree.tree().Flush());
  tree.Compact(true);
  tree.Commit();
}

std::vector<Mode> FullModes() {
  return {{"full-compaction", ChangelogProducer::kFullCompaction},
          {"full-compaction by sequence", ChangelogProducer::kFullCompaction, false, false, true},
          {"full-compaction without equal rows", ChangelogProducer::kFullCompaction, false, true}};
}

std::vector<Mode> LookupModes() {
  return {{"lookup", ChangelogProducer::kLookup},
          {"lookup with vectors", ChangelogProducer::kLookup, true},
          {"lookup by sequence", ChangelogProducer::kLookup, false, false, true},
          {"lookup with vectors by sequence", ChangelogProducer::kLookup, true, false, true},
          {"lookup without equal rows", ChangelogProducer::kLookup, true, true},
          {"gentle lookup", ChangelogProducer::kLookup, false, false, false, true}};
}

std::vector<Mode> OtherEngines() {
  std::vector<Mode> modes;
  for (const auto& [name, engine] : {std::pair("first-row", MergeEngine::kFirstRow),
                                     std::pair("partial-update", MergeEngine::kPartialUpdate),
                                     std::pair("aggregation", MergeEngine::kAggregation)}) {
    for (const bool vectors : {false, true}) {
      if (vectors && engine == MergeEngine::kFirstRow) continue;
      Mode& mode = modes.emplace_back();
      mode.name = std::string(name) + (vectors ? " with vectors" : "");
      mode.producer = ChangelogProducer::kLookup;
      mode.vectors = vectors;
      mode.engine = engine;
    }
  }
  return modes;
}

void RunModes(const std::vector<Mode>& modes) {
  uint64_t seed = 1;
  for (const Mode& mode : modes) {
    for (const auto& [columns, keys] : KeyShapes()) {
      RunRandomOperations(mode, columns + ", v STRING, w INT", keys, seed++);
    }
  }
}

TEST(Changelog, OfLookupsAddsUpToTheLevelsAboveZeroAtEveryCommit) { RunModes(LookupModes()); }

TEST(Changelog, OfEveryMergeEngineAddsUpToTheLevelsAboveZero) { RunModes(OtherEngines()); }

TEST(Changelog, OfFullCompactionsAddsUpToTheTopLevelAtEveryCommit) { RunModes(FullModes()); }

// Rows of "k BIGINT NOT NULL, v INT, w INT".
std::shared_ptr<arrow::RecordBatch> RowOf(const TestTable& table, int64_t k, int32_t v, int32_t w) {
  arrow::Int32Builder vs, ws;
  EXPECT_TRUE(vs.Append(v).ok() && ws.Append(w).ok());
  return arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 1,
                                  {Int64s({k}), vs.Finish().ValueOrDie(), ws.Finish().ValueOrDie()});
}

class ToldTree : public FollowedTree {
 public:
  explicit ToldTree(const Mode& mode) : FollowedTree("k BIGINT NOT NULL, v INT, w INT", {"k"}, mode, 1) {
    table().options.target_file_bytes = 128 << 20;
  }

  void Put(int8_t kind, int32_t v, int32_t w = 0) { Append(RowOf(table(), 1, v, w), KindsOf({kind})); }

  std::vector<std::string> Told(bool full = false) {
    HEADRACE_EXPECT_OK(tree().Flush());
    while (const auto plan = tree().PickCompaction(full)) {
      const auto result = tree().RunCompaction(*plan);
      EXPECT_TRUE(result.ok()) << result.status();
      Applied(*result);
    }
    Commit();
    return told();
  }

  // A file with one version, as if it had come to its level long ago. Each tree of its own begins with the same number.
  DataFileMeta FileOn(int32_t level, int32_t v) {
    auto alone = BucketTree::Open({Files(), "f" + std::to_string(level)}, {}).ValueOrDie();
    HEADRACE_EXPECT_OK(alone->Append(RowOf(table(), 1, v, 0), KindsOf({0})));
    HEADRACE_EXPECT_OK(alone->Flush());
    DataFileMeta file = alone->TakeChange().append.added.at(0);
    file.level = Level(level);
    return file;
  }
};

const Mode kLookup = {"lookup", ChangelogProducer::kLookup};

TEST(Changelog, OfEqualNumbersInTwoLevelsTheLowerLevelCounts) {
  ToldTree tree(kLookup);
  tree.committed() = {tree.FileOn(1, 2), tree.FileOn(2, 1)};
  tree.Show(1, R"({"k":1,"v":2,"w":0})");
  tree.Open();
  EXPECT_THAT(tree.Told(/*full=*/true), IsEmpty());
  EXPECT_THAT(tree.RowsOf(tree.committed(), true), ElementsAre(R"({"k":1,"v":2,"w":0})"));
}

TEST(Changelog, TellsTheStepFromTheLowestLevelAboveZero) {
  ToldTree tree(kLookup);
  tree.committed() = {tree.FileOn(1, 1), tree.FileOn(2, 2)};
  tree.Show(1, R"({"k":1,"v":1,"w":0})");
  tree.Open();
  tree.Put(2, 3);
  EXPECT_THAT(tree.Told(), ElementsAre(R"(-U{"k":1,"v":1,"w":0})", R"(+U{"k":1,"v":3,"w":0})"));
}

TEST(Changelog, OfAKeyThatComesBackAsItWasIsAnInsertWhateverItsVectorHides) {
  for (const bool vectors : {false, true}) {
    ToldTree tree({"lookup", ChangelogProducer::kLookup, vectors, /*row_deduplicate=*/true});
    tree.table().options.row_deduplicate_ignored = {"w"};
    tree.Open();
    tree.Put(0, 7, 1);
    EXPECT_THAT(tree.Told(/*full=*/true), ElementsAre(R"(+I{"k":1,"v":7,"w":1})"));
    tree.Put(2, 7, 2);
    tree.Forgive();
    EXPECT_THAT(tree.Told(), IsEmpty()) << "only an ignored column changed";
    tree.Put(3, 7, 2);
    EXPECT_THAT(tree.Told(), ElementsAre(R"(-D{"k":1,"v":7,"w":2})"));
    tree.Put(0, 7, 3);
    EXPECT_THAT(tree.Told(), ElementsAre(R"(+I{"k":1,"v":7,"w":3})"));
  }
}

TEST(Changelog, OfAnOverwriteIsNone) {
  ToldTree tree(kLookup);
  BucketTreeSpec spec{tree.Files(), "o"};
  spec.overwrites = true;
  auto overwriting = BucketTree::Open(spec, {}).ValueOrDie();
  HEADRACE_EXPECT_OK(overwriting->Append(RowOf(tree.table(), 1, 2, 0), KindsOf({0})));
  HEADRACE_EXPECT_OK(overwriting->Flush());
  const auto plan = overwriting->PickCompaction(false);
  ASSERT_TRUE(plan.has_value());
  HEADRACE_EXPECT_OK(overwriting->ApplyCompaction(overwriting->RunCompaction(*plan).ValueOrDie()));
  const FileChange change = overwriting->TakeChange();
  EXPECT_THAT(change.compact.changelog, IsEmpty());
  EXPECT_EQ(change.compact.added.at(0).level, Level(3));
}

std::shared_ptr<arrow::RecordBatch> Keys(const TestTable& table, int64_t rows, int32_t v) {
  std::vector<int64_t> keys;
  arrow::Int32Builder values;
  for (int64_t k = 0; k < rows; ++k) {
    keys.push_back(k);
    EXPECT_TRUE(values.Append(v).ok());
  }
  return arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), rows,
                                  {Int64s(keys), values.Finish().ValueOrDie()});
}

// A compaction that looks up, tells and marks, with one operation of the store failing. Gives whether the fault came.
bool LookUpWithFault(int64_t at) {
  SCOPED_TRACE("operation " + std::to_string(at));
  TestTable table("k BIGINT NOT NULL, v INT", {"k"});
  table.options.changelog_producer = ChangelogProducer::kLookup;
  table.options.deletion_vectors = true;
  const auto store = std::make_shared<FaultStore>(std::make_shared<MemoryStore>());
  BucketFiles files = table.Files();
  files.store = store.get();
  files.index_directory = "/t/index";
  const auto on_disk = [&] {
    std::vector<std::string> names;
    for (const char* folder : {"/t/bucket-0", "/t/index"})
      for (const FileInfo& info : store->List(folder).ValueOrDie()) names.push_back(info.path);
    return names;
  };
  const auto tree = BucketTree::Open({files, "w"}, {}).ValueOrDie();
  HEADRACE_EXPECT_OK(tree->Append(Keys(table, 20000, 1), nullptr));
  HEADRACE_EXPECT_OK(tree->Flush());
  HEADRACE_EXPECT_OK(tree->ApplyCompaction(tree->RunCompaction(*tree->PickCompaction(true)).ValueOrDie()));
  (void)tree->TakeChange();
  HEADRACE_EXPECT_OK(tree->Append(Keys(table, 10, 2), nullptr));
  HEADRACE_EXPECT_OK(tree->Flush());
  const std::vector<std::string> before = on_disk();
  store->SetPlan({FaultKind::kFail, at, [](StoreOperation op, const std::string&) {
                    return op != StoreOperation::kDelete && op != StoreOperation::kList;
                  }});
  auto plan = tree->PickCompaction(false);
  auto result = tree->RunCompaction(*plan);
  if (!result.ok()) {
    EXPECT_EQ(on_disk(), before);
    HEADRACE_EXPECT_OK(tree->DropCompaction());
    plan = tree->PickCompaction(false);
    EXPECT_TRUE(plan.has_value()) << "it can be tried again";
    result = tree->RunCompaction(*plan);
  }
  EXPECT_TRUE(result.ok()) << result.status();
  HEADRACE_EXPECT_OK(tree->ApplyCompaction(*result));
  const FileChange change = tree->TakeChange();
  EXPECT_EQ(change.compact.changelog.at(0).row_count, 20);
  EXPECT_EQ(change.compact.index_added.size(), 1U);
  EXPECT_EQ(change.compact.index_added.at(0).deletion_vectors->at(0).cardinality, 10);
  EXPECT_EQ(change.compact.removed.size(), 1U) << "the large file stays where it is";
  return store->fired();
}

TEST(Changelog, AnyFailureOfTheStoreWhileLookingUpLeavesNoFileAndCanBeTriedAgain) {
  int64_t at = 0;
  while (LookUpWithFault(at) && !testing::Test::HasFailure()) ++at;
  EXPECT_GT(at, 10);
}

}  // namespace
}  // namespace headrace
