// A bucket that puts rows aside beside one that has all the memory it wants: the same files' rows, whatever fails in between.
#include "lsm/spilled_rows.h"

#include <map>
#include <mutex>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/bucket_tree.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

// A disk in memory that fails at one operation, or from it on.
class TestScratch final : public Scratch {
 public:
  Result<ScratchExtent> Write(std::span<const uint8_t> bytes) override {
    HEADRACE_RETURN_NOT_OK(Step("no space left"));
    const int64_t at = next_++;
    kept_[at] = std::string(bytes.begin(), bytes.end());
    return ScratchExtent{at, static_cast<int64_t>(bytes.size()), 0};
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(const ScratchExtent& extent,
                                              arrow::MemoryPool* pool) const override {
    HEADRACE_RETURN_NOT_OK(Step("unreadable"));
    const std::string& bytes = kept_.at(extent.offset);
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> read,
                              arrow::AllocateBuffer(static_cast<int64_t>(bytes.size()), pool));
    std::copy(bytes.begin(), bytes.end(), read->mutable_data());
    return read;
  }
  void Free(const ScratchExtent& extent) override { EXPECT_EQ(kept_.erase(extent.offset), 1u); }

  void FailAt(int64_t operation) { fail_at_ = operation, operations_ = 0; }
  bool fired() const { return fail_at_ >= 0 && operations_ > fail_at_; }
  size_t kept() const { return kept_.size(); }

 private:
  Status Step(const char* what) const { return operations_++ == fail_at_ ? IoError(what) : Status::OK(); }

  std::map<int64_t, std::string> kept_;
  int64_t next_ = 0;
  int64_t fail_at_ = -1;
  mutable int64_t operations_ = 0;
};

struct Shape {
  std::string columns;
  std::vector<std::string> keys;
  std::vector<std::string> sequence_fields;
  bool descending = false;
  MergeEngine engine = MergeEngine::kDeduplicate;
  MergeRules rules = {};
};

// Engines that put a row together from its versions.
std::vector<Shape> ShapesOfEngines() {
  const std::string columns = "k BIGINT NOT NULL, a INT, g INT, t STRING, v ARRAY<INT>";
  Shape partial{columns, {"k"}, {}, false, MergeEngine::kPartialUpdate, {}};
  partial.rules.remove_on_delete = true;
  Shape grouped{columns, {"k"}, {}, false, MergeEngine::kPartialUpdate, {}};
  grouped.rules.groups = {{{"g"}, {"a", "t"}}};
  Shape sums{columns, {"k"}, {"g"}, false, MergeEngine::kAggregation, {}};
  sums.rules.aggregates["a"] = {AggregateFunction::kMax, "max", true};
  sums.rules.aggregates["g"] = {AggregateFunction::kLastValue, "last_value"};
  sums.rules.aggregates["t"] = {AggregateFunction::kListagg, "listagg", true};
  sums.rules.aggregates["v"] = {AggregateFunction::kCollect, "collect"};
  return {partial, grouped, sums};
}

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (const auto& [columns, keys] : KeyShapes())
    shapes.push_back({columns + ", s INT, t STRING, v ARRAY<INT>", keys, {}, false});
  shapes.push_back({"k BIGINT NOT NULL, s INT, t STRING", {"k"}, {"s"}, false});
  shapes.push_back({"k STRING NOT NULL, s INT, t STRING", {"k"}, {"t", "s"}, true});
  for (Shape& shape : ShapesOfEngines()) shapes.push_back(std::move(shape));
  return shapes;
}

// Two trees of the same table that get the same rows; one of them puts rows aside now and then.
class Twins {
 public:
  Twins(const Shape& shape, bool changelog, uint64_t seed)
      : random_(seed),
        spilling_(shape.columns, shape.keys),
        plain_(shape.columns, shape.keys),
        versions_(plain_.schema, 60, seed) {
    for (TestTable* table : {&spilling_, &plain_}) {
      table->options.changelog_producer = changelog ? ChangelogProducer::kInput : ChangelogProducer::kNone;
      table->options.sequence_fields = shape.sequence_fields;
      table->options.sequence_descending = shape.descending;
      table->options.merge_engine = shape.engine;
      table->options.merge_rules = shape.rules;
      table->options.spill_codec = static_cast<SpillCodec>(random_.Below(3));
      table->options.spill_fan_in = random_.OneIn(2) ? 2 : 128;
    }
    tree_ = Open(&spilling_, &scratch_);
    plain_tree_ = Open(&plain_, nullptr);
  }

  BucketTree& tree() { return *tree_; }
  TestScratch& scratch() { return scratch_; }
  Random& random() { return random_; }
  TestTable& table() { return spilling_; }

  void Append(int64_t rows) {
    const auto batch = versions_.Batch(rows);
    const auto kinds = versions_.Kinds(rows, true);
    HEADRACE_EXPECT_OK(tree_->Append(batch, kinds));
    HEADRACE_EXPECT_OK(plain_tree_->Append(batch, kinds));
  }

  void ExpectTheSameFiles() {
    HEADRACE_EXPECT_OK(plain_tree_->Flush());
    const FileIncrement got = tree_->TakeChange().append;
    const FileIncrement expected = plain_tree_->TakeChange().append;
    ExpectTheSame(got.added, expected.added);
    ExpectTheSame(got.changelog, expected.changelog);
  }

 private:
  static std::unique_ptr<BucketTree> Open(TestTable* table, Scratch* scratch) {
    BucketTreeSpec spec{table->Files(), "w", scratch};
    // So small that few runs and small blocks are all a merge may hold.
    spec.files.memory_bytes = 300'000;
    return BucketTree::Open(spec, {}).ValueOrDie();
  }

  // One file each, the same rows in the same order, and the same facts.
  void ExpectTheSame(const std::vector<DataFileMeta>& got, const std::vector<DataFileMeta>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].row_count, expected[i].row_count);
      EXPECT_EQ(got[i].delete_row_count, expected[i].delete_row_count);
      EXPECT_EQ(got[i].min_key, expected[i].min_key);
      EXPECT_EQ(got[i].max_key, expected[i].max_key);
      EXPECT_EQ(got[i].min_sequence, expected[i].min_sequence);
      EXPECT_EQ(got[i].max_sequence, expected[i].max_sequence);
    }
    EXPECT_EQ(Lines(&spilling_, got), Lines(&plain_, expected));
  }

  static std::vector<std::string> Lines(TestTable* table, const std::vector<DataFileMeta>& files) {
    const ReadColumns columns{.keys = true, .sequence = true, .kind = true, .values = table->ColumnNames()};
    auto stream = OpenConcatenation(table->Files(), files, columns, 1000).ValueOrDie();
    std::vector<DataField> fields = KeyValueFields(*table->schema);
    return DrainLines(stream.get(), fields);
  }

  Random random_;
  TestTable spilling_;
  TestTable plain_;
  RandomVersions versions_;
  TestScratch scratch_;
  std::unique_ptr<BucketTree> tree_;
  std::unique_ptr<BucketTree> plain_tree_;
};

TEST(SpilledRows, AFlushWritesWhatItWouldHaveWrittenHadAllFitIntoMemory) {
  uint64_t seed = 1;
  for (const Shape& shape : Shapes()) {
    for (const bool changelog : {false, true}) {
      SCOPED_TRACE(shape.columns + (changelog ? ", changelog, seed " : ", seed ") + std::to_string(++seed));
      Twins twins(shape, changelog, seed);
      for (int flush = 0; flush < 3; ++flush) {
        const int64_t batches = twins.random().Between(1, 12);
        for (int64_t i = 0; i < batches; ++i) {
          twins.Append(twins.random().Between(0, 120));
          if (twins.random().OneIn(2)) {
            EXPECT_TRUE(twins.tree().Spill().ValueOrDie());
          }
        }
        HEADRACE_EXPECT_OK(twins.tree().Flush());
        EXPECT_EQ(twins.tree().buffered_rows(), 0);
        EXPECT_EQ(twins.scratch().kept(), 0u) << "what was put aside is given back";
        twins.ExpectTheSameFiles();
      }
    }
  }
}

TEST(SpilledRows, RowsPutAsideAreBufferedButNotInMemory) {
  Twins twins(Shapes()[0], false, 1);
  twins.Append(100);
  EXPECT_GT(twins.tree().buffered_bytes(), 0);
  EXPECT_TRUE(twins.tree().Spill().ValueOrDie());
  EXPECT_EQ(twins.tree().buffered_bytes(), 0);
  EXPECT_GT(twins.tree().buffered_rows(), 0);
  HEADRACE_EXPECT_OK(twins.tree().Discard());
  EXPECT_EQ(twins.scratch().kept(), 0u);
}

TEST(SpilledRows, NothingIsPutAsideBeyondTheDiskAllowedNorWhereTheOptionForbidsIt) {
  Twins twins(Shapes()[0], false, 1);
  twins.table().options.spill_disk_bytes = 1;
  twins.Append(100);
  EXPECT_TRUE(twins.tree().Spill().ValueOrDie()) << "the share is passed once, as in Java";
  twins.Append(100);
  EXPECT_FALSE(twins.tree().Spill().ValueOrDie());
  EXPECT_GT(twins.tree().buffered_bytes(), 0);
  TestTable table("k INT NOT NULL", {"k"});
  table.options.write_buffer_spillable = false;
  auto tree = BucketTree::Open({table.Files(), "w", &twins.scratch()}, {}).ValueOrDie();
  EXPECT_FALSE(tree->Spill().ValueOrDie());
}

// Whatever operation of the disk fails: the error is told, no row is lost, no file is left, and it can be tried again.
TEST(SpilledRows, AFailingDiskLosesNothing) {
  for (const bool changelog : {false, true}) {
    for (int64_t at = 0;; ++at) {
      ASSERT_LT(at, 2000);
      SCOPED_TRACE(std::to_string(at));
      Twins twins(Shapes()[at % 2 == 0 ? 0 : 4], changelog, 7);
      twins.scratch().FailAt(at);
      for (int i = 0; i < 7; ++i) {
        twins.Append(90);
        const int64_t rows = twins.tree().buffered_rows();
        const auto spilled = twins.tree().Spill();
        if (spilled.ok()) continue;
        EXPECT_EQ(KindOf(spilled.status()), ErrorKind::kIo);
        EXPECT_EQ(twins.tree().buffered_rows(), rows);
        EXPECT_GT(twins.tree().buffered_bytes(), 0) << "still in memory";
      }
      const Status flushed = twins.tree().Flush();
      if (!flushed.ok()) {
        EXPECT_EQ(KindOf(flushed), ErrorKind::kIo) << flushed;
        EXPECT_TRUE(twins.table().FileNamesOnDisk().empty());
        HEADRACE_EXPECT_OK(twins.tree().Flush());
      }
      twins.ExpectTheSameFiles();
      EXPECT_EQ(twins.scratch().kept(), 0u);
      if (!twins.scratch().fired()) break;
    }
  }
}

// What a flush holds does not grow with what was put aside.
TEST(SpilledRows, MergingStaysWithinItsMemory) {
  constexpr int64_t kMemory = 2 << 20;
  const auto peak_of = [&](int runs) {
    TestTable table("k BIGINT NOT NULL, v STRING", {"k"});
    arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
    TestScratch scratch;
    BucketTreeSpec spec{table.Files(), "w", &scratch};
    spec.files.memory_bytes = kMemory;
    spec.files.pool = &pool;
    auto tree = BucketTree::Open(spec, {}).ValueOrDie();
    Random random(3);
    for (int run = 0; run < runs; ++run) {
      arrow::Int64Builder keys;
      arrow::StringBuilder values;
      for (int row = 0; row < 500; ++row) {
        HEADRACE_EXPECT_OK(keys.Append(static_cast<int64_t>(random.Below(1 << 30))));
        HEADRACE_EXPECT_OK(values.Append(std::string(1000, static_cast<char>('a' + random.Below(26)))));
      }
      const auto batch = arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), 500,
                                                  {keys.Finish().ValueOrDie(), values.Finish().ValueOrDie()});
      HEADRACE_EXPECT_OK(tree->Append(batch, nullptr));
      EXPECT_TRUE(tree->Spill().ValueOrDie());
    }
    HEADRACE_EXPECT_OK(tree->Flush());
    return pool.max_memory();
  };
  const int64_t few = peak_of(20);
  const int64_t many = peak_of(120);
  EXPECT_LT(few, 4 * kMemory);
  EXPECT_LT(many, 4 * kMemory);
}

}  // namespace
}  // namespace headrace
