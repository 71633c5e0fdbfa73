// Sorting a write buffer, and merging many overlapping runs by each plan: one bucket of 1M keys, 40 runs of 90 000 rows.
//
// `ns_per_row` counts input rows. Files lie in a memory store; decoding them is part of the merge figures, and `decode` is that part
// alone. "dense" keys are 0 … 1M, "sparse" ones are spread over 64 bits (no slots, so the loser tree or the hash table runs).
#include <benchmark/benchmark.h>

#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/clock.h"
#include "base/random.h"
#include "io/memory_store.h"
#include "lsm/flush.h"
#include "lsm/merge.h"
#include "lsm/write_buffer.h"

namespace headrace {
namespace {

constexpr int64_t kKeys = 1'000'000;
constexpr int64_t kRowsARun = 90'000;
constexpr int kRuns = 40;

enum class Keys { kDense, kSparse, kText };

std::shared_ptr<const TableSchema> SchemaOf(Keys keys) {
  auto schema = std::make_shared<TableSchema>();
  const std::string key = keys == Keys::kText ? "order_id STRING NOT NULL" : "order_id BIGINT NOT NULL";
  schema->fields =
      ParseColumns(
          key +
          ", customer_id BIGINT, status STRING, amount DECIMAL(12, 2), note STRING, updated_at TIMESTAMP(3)")
          .ValueOrDie();
  schema->primary_keys = {"order_id"};
  return schema;
}

std::string HexOf(uint64_t number) {
  std::string text = "order-";
  for (int i = 0; i < 14; ++i, number >>= 4) text.push_back("0123456789abcdef"[number & 15]);
  return text;
}

std::shared_ptr<arrow::Array> KeyArray(Keys keys, const std::vector<int64_t>& numbers) {
  if (keys != Keys::kText) {
    arrow::Int64Builder builder;
    for (const int64_t number : numbers) {
      (void)builder.Append(keys == Keys::kDense
                               ? number
                               : static_cast<int64_t>(static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15ull));
    }
    return builder.Finish().ValueOrDie();
  }
  arrow::StringBuilder builder;
  for (const int64_t number : numbers)
    (void)builder.Append(HexOf(static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15ull));
  return builder.Finish().ValueOrDie();
}

// Rows as they come in, in no order; some keys twice.
std::shared_ptr<arrow::RecordBatch> Rows(const TableSchema& schema, Keys keys, int64_t rows, Random* random) {
  static const char* const kStatus[] = {"NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"};
  std::vector<int64_t> numbers;
  arrow::Int64Builder customers;
  arrow::StringBuilder status, notes;
  arrow::Decimal128Builder amounts(arrow::decimal128(12, 2));
  arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MILLI), arrow::default_memory_pool());
  for (int64_t row = 0; row < rows; ++row) {
    numbers.push_back(static_cast<int64_t>(random->Below(kKeys)));
    (void)customers.Append(static_cast<int64_t>(random->Below(100'000)));
    (void)status.Append(kStatus[random->Below(5)]);
    (void)amounts.Append(arrow::Decimal128(static_cast<int64_t>(random->Below(10'000'000))));
    std::string note(30 + random->Below(21), ' ');
    for (char& c : note) c = static_cast<char>('a' + random->Below(26));
    (void)notes.Append(note);
    (void)times.Append(1'700'000'000'000 + static_cast<int64_t>(random->Below(1'000'000'000)));
  }
  return arrow::RecordBatch::Make(
      ToArrowSchema(schema.fields), rows,
      {KeyArray(keys, numbers), customers.Finish().ValueOrDie(), status.Finish().ValueOrDie(),
       amounts.Finish().ValueOrDie(), notes.Finish().ValueOrDie(), times.Finish().ValueOrDie()});
}

std::shared_ptr<arrow::Array> Kinds(int64_t rows, Random* random) {
  arrow::Int8Builder builder;
  for (int64_t row = 0; row < rows; ++row) (void)builder.Append(random->OneIn(20) ? int8_t{3} : int8_t{2});
  return builder.Finish().ValueOrDie();
}

void ReportRows(benchmark::State& state, int64_t rows) {
  state.counters["ns_per_row"] =
      benchmark::Counter(static_cast<double>(rows) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void SortBuffer(benchmark::State& state) {
  const Keys keys = static_cast<Keys>(state.range(0));
  const bool gather = state.range(1) != 0;
  constexpr int64_t kBatches = 8;
  constexpr int64_t kBatchRows = 32'768;
  const std::shared_ptr<const TableSchema> schema = SchemaOf(keys);
  Random random(1);
  WriteBuffer buffer = WriteBuffer::Make(*schema, {}, arrow::default_memory_pool()).ValueOrDie();
  for (int64_t i = 0; i < kBatches; ++i) {
    (void)buffer.Append(Rows(*schema, keys, kBatchRows, &random), Kinds(kBatchRows, &random), i * kBatchRows);
  }
  for (auto _ : state) {
    const Segments segments = buffer.Sort().ValueOrDie();
    const std::vector<RowRef> newest = buffer.Newest(segments);
    benchmark::DoNotOptimize(newest.data());
    if (!gather) continue;
    for (size_t begin = 0; begin < newest.size(); begin += kBatchRows) {
      const std::span<const RowRef> rest = std::span(newest).subspan(begin);
      benchmark::DoNotOptimize(
          buffer.Gather(rest.first(std::min<size_t>(kBatchRows, rest.size()))).ValueOrDie());
    }
  }
  ReportRows(state, kBatches * kBatchRows);
}
BENCHMARK(SortBuffer)
    ->ArgNames({"keys", "gather"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

// The bucket, made once a kind of keys.
struct Bucket {
  explicit Bucket(Keys keys) : schema(SchemaOf(keys)) {
    options.target_file_bytes = 128 << 20;
    files.store = &store;
    files.directory = "/t/bucket-0";
    files.schema = schema;
    files.schema_by_id = [this](SchemaId) -> Result<std::shared_ptr<const TableSchema>> { return schema; };
    files.options = &options;
    files.clock = &clock;
    files.pool = arrow::default_memory_pool();
    const KeyOrder order = KeyOrder::OfKey({schema->fields[0].type}).ValueOrDie();
    FileNames names("bench", options);
    Random random(2);
    for (int run = 0; run < kRuns; ++run) {
      WriteBuffer buffer = WriteBuffer::Make(*schema, {}, files.pool).ValueOrDie();
      (void)buffer.Append(Rows(*schema, keys, kRowsARun, &random), Kinds(kRowsARun, &random),
                          run * kRowsARun);
      for (const DataFileMeta& meta : FlushToLevelZero(buffer, files, &names, false).ValueOrDie().added) {
        metas.push_back(meta);
        rows += meta.row_count;
        tree_files.push_back(MakeTreeFile(order, meta).ValueOrDie());
      }
    }
  }

  static Bucket& Of(Keys keys) {
    static std::unique_ptr<Bucket> buckets[3];
    std::unique_ptr<Bucket>& bucket = buckets[static_cast<int>(keys)];
    if (bucket == nullptr) bucket = std::make_unique<Bucket>(keys);
    return *bucket;
  }

  std::shared_ptr<const TableSchema> schema;
  TableOptions options;
  MemoryStore store;
  SystemClock clock;
  BucketFiles files;
  std::vector<DataFileMeta> metas;
  std::vector<TreeFilePtr> tree_files;
  int64_t rows = 0;
};

int64_t Drain(RowStream* stream) {
  int64_t rows = 0;
  while (true) {
    const std::shared_ptr<arrow::RecordBatch> batch = stream->Next().ValueOrDie();
    if (batch == nullptr) return rows;
    rows += batch->num_rows();
  }
}

MergeRequest RequestOf(const Bucket& bucket, bool all_columns) {
  MergeRequest request;
  request.sections = PartitionIntoSections(bucket.tree_files);
  if (all_columns) {
    for (const DataField& field : bucket.schema->fields) request.values.push_back(field.name);
  } else {
    request.values = {"order_id"};
  }
  request.policy.drop_deletes = true;
  return request;
}

void Merging(benchmark::State& state, MergePlan plan, bool key_ordered, bool all_columns) {
  Bucket& bucket = Bucket::Of(static_cast<Keys>(state.range(0)));
  for (auto _ : state) {
    MergeRequest request = RequestOf(bucket, all_columns);
    request.key_ordered = key_ordered;
    benchmark::DoNotOptimize(Drain(OpenMerge(bucket.files, std::move(request), plan).ValueOrDie().get()));
  }
  ReportRows(state, bucket.rows);
}
void WinnersFirst(benchmark::State& state) { Merging(state, MergePlan::kWinnersFirst, false, true); }
void WholeRows(benchmark::State& state) { Merging(state, MergePlan::kWholeRows, false, true); }
void WholeRowsOrdered(benchmark::State& state) { Merging(state, MergePlan::kWholeRows, true, true); }
void KeysAlone(benchmark::State& state) { Merging(state, MergePlan::kWholeRows, false, false); }
void KeysAloneOrdered(benchmark::State& state) { Merging(state, MergePlan::kWholeRows, true, false); }

void Decode(benchmark::State& state) {
  Bucket& bucket = Bucket::Of(static_cast<Keys>(state.range(0)));
  const ReadColumns columns{.kind = true, .values = RequestOf(bucket, state.range(1) != 0).values};
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Drain(OpenConcatenation(bucket.files, bucket.metas, columns, 32768).ValueOrDie().get()));
  }
  ReportRows(state, bucket.rows);
}

#define HEADRACE_MERGE_BENCHMARK(name) \
  BENCHMARK(name)->ArgName("keys")->DenseRange(0, 2)->Unit(benchmark::kMillisecond)
BENCHMARK(Decode)->ArgNames({"keys", "all"})->ArgsProduct({{0, 1, 2}, {0, 1}})->Unit(benchmark::kMillisecond);
HEADRACE_MERGE_BENCHMARK(KeysAlone);
HEADRACE_MERGE_BENCHMARK(KeysAloneOrdered);
HEADRACE_MERGE_BENCHMARK(WinnersFirst);
HEADRACE_MERGE_BENCHMARK(WholeRows);
HEADRACE_MERGE_BENCHMARK(WholeRowsOrdered);

}  // namespace
}  // namespace headrace
