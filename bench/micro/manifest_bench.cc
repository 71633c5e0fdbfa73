// Planning: manifests to entries, and a table of many files from its latest snapshot to splits.
//
// Files are made up, with the names, keys and statistics that a table of eight columns has; their data is not there, and planning never asks
// for it. `entries_per_second` is of one core. The planned table lies in a temporary folder of the local disk, in partitions of 16
// buckets each, its manifests of the size that commits make; every iteration opens the table anew, with nothing kept in memory but what
// the operating system caches.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/random.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "format/manifest.h"
#include "io/local_store.h"
#include "read/scan.h"

namespace headrace {
namespace {

constexpr int kBuckets = 16;
constexpr int kFilesABucket = 64;

std::vector<DataField> Fields() {
  return ParseColumns(
             "order_id BIGINT NOT NULL, region STRING, customer_id BIGINT, status STRING, amount DECIMAL(12, "
             "2), "
             "note STRING, updated_at TIMESTAMP(3), quantity INT")
      .ValueOrDie();
}

BinaryRow Row(const std::vector<Value>& values, const std::vector<DataType>& types) {
  return EncodeBinaryRow(values, types).ValueOrDie();
}

class FilesMade {
 public:
  FilesMade() {
    for (const DataField& field : Fields()) types_.push_back(field.type);
  }

  DataFileMeta Next(int64_t low) {
    const std::vector<DataType> key = {types_[0]};
    const int64_t high = low + 999;
    DataFileMeta file;
    char name[64];
    std::snprintf(name, sizeof(name), "data-%016llx-%016llx-0.parquet",
                  static_cast<unsigned long long>(random_.Next()),
                  static_cast<unsigned long long>(random_.Next()));
    file.name = name;
    file.size_bytes = 1 << 20;
    file.row_count = 1000;
    file.min_key = Row({low}, key);
    file.max_key = Row({high}, key);
    file.key_stats = {file.min_key, file.max_key, {0}};
    const Value text = std::string("a prefix of 16 b");
    file.value_stats = {
        Row({low, text, low, text, arrow::Decimal128(low), text, Timestamp{low, 0}, int32_t{1}}, types_),
        Row({high, text, high, text, arrow::Decimal128(high), text, Timestamp{high, 0}, int32_t{9}}, types_),
        {0, 0, 0, 0, 0, 0, 0, 0}};
    file.min_sequence = low;
    file.max_sequence = high;
    file.level = Level(5);
    file.creation_local_ms = 1'700'000'000'000;
    file.delete_row_count = 0;
    file.source = FileSource::kCompact;
    return file;
  }

 private:
  std::vector<DataType> types_;
  Random random_{7};
};

std::string ManifestOf(int64_t entries) {
  FilesMade files;
  std::vector<ManifestEntry> made;
  for (int64_t i = 0; i < entries; ++i) {
    ManifestEntry entry;
    entry.bucket = BucketId(static_cast<int32_t>(i % kBuckets));
    entry.total_buckets = kBuckets;
    entry.file = files.Next(i * 1000);
    made.push_back(std::move(entry));
  }
  return EncodeManifest(made, {}).ValueOrDie();
}

void ReportEntries(benchmark::State& state, int64_t entries) {
  state.counters["entries_per_second"] = benchmark::Counter(
      static_cast<double>(entries) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void DecodeWhole(benchmark::State& state) {
  const std::string bytes = ManifestOf(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(DecodeManifest(bytes, "manifest").ValueOrDie());
  ReportEntries(state, state.range(0));
}
BENCHMARK(DecodeWhole)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// As planning wants them.
void DecodeWithoutStatistics(benchmark::State& state) {
  const std::string bytes = ManifestOf(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        DecodeManifestWhere(bytes, "manifest", nullptr, EntryDetail::kWithoutStatistics).ValueOrDie());
  }
  ReportEntries(state, state.range(0));
}
BENCHMARK(DecodeWithoutStatistics)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// A table of state.range(0) files, made once, dropped with the program.
class PlannedTable {
 public:
  explicit PlannedTable(int64_t files)
      : folder_(std::filesystem::temp_directory_path() /
                ("headrace-plan-" + std::to_string(getpid()) + "-" + std::to_string(files))) {
    NewTable definition;
    definition.fields = Fields();
    definition.primary_keys = {"order_id", "region"};
    definition.partition_keys = {"region"};
    definition.options = {{"bucket", std::to_string(kBuckets)}};
    Table table = Catalog(store_, clock_, folder_.string())
                      .CreateTable({"db", "t"}, std::move(definition))
                      .ValueOrDie();
    path_ = table.path;
    FilesMade made;
    int64_t identifier = 0;
    const std::vector<DataType> text = {table.schema->fields[1].type};
    for (int64_t done = 0; done < files; ++identifier) {
      PreparedCommit prepared;
      prepared.user = "bench";
      prepared.identifier = identifier;
      prepared.base_snapshot = SnapshotId(identifier);
      for (int32_t bucket = 0; bucket < kBuckets && done < files; ++bucket) {
        BucketChange change;
        change.partition = Row({"region-" + std::to_string(identifier)}, text);
        change.bucket = BucketId(bucket);
        change.total_buckets = kBuckets;
        for (int i = 0; i < kFilesABucket && done < files; ++i, ++done) {
          change.change.append.added.push_back(made.Next(i * 1000));
        }
        prepared.changes.push_back(std::move(change));
      }
      Commit(table, prepared).ValueOrDie();
    }
  }
  ~PlannedTable() { std::filesystem::remove_all(folder_); }

  int64_t Plan() const {
    const Table table = OpenTableAt(store_, clock_, path_, "db.t", Access::kRead).ValueOrDie();
    const Snapshot snapshot = *ReadLatestSnapshot(table).ValueOrDie();
    const std::vector<Split> splits = PlanScan(table, snapshot).ValueOrDie();
    int64_t files = 0;
    for (const Split& split : splits) files += static_cast<int64_t>(split.files.size());
    return files;
  }

 private:
  const std::filesystem::path folder_;
  std::shared_ptr<Store> store_ = std::make_shared<LocalStore>(LocalStoreOptions{.sync = false});
  std::shared_ptr<Clock> clock_ = std::make_shared<SystemClock>();
  std::string path_;
};

void PlanTable(benchmark::State& state) {
  const PlannedTable table(state.range(0));
  for (auto _ : state) {
    const int64_t files = table.Plan();
    if (files != state.range(0)) state.SkipWithError("a file is missing from the plan");
  }
  ReportEntries(state, state.range(0));
}
BENCHMARK(PlanTable)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headrace
