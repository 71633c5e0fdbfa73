// Writing and reading the data files of one key-value table: nine columns, 90 000 rows a file, in key order.
//
// The counter `ns_per_row` is what docs and comparisons quote. "warm" files lie in the memory store: no disk is involved.
#include <benchmark/benchmark.h>

#include <arrow/builder.h>
#include <arrow/record_batch.h>

#include "base/clock.h"
#include "base/random.h"
#include "file/data_file_reader.h"
#include "file/data_file_writer.h"
#include "file/physical_columns.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

constexpr int64_t kRows = 90'000;
constexpr int64_t kBatchRows = 32'768;

std::shared_ptr<const TableSchema> EventsSchema() {
  auto schema = std::make_shared<TableSchema>();
  schema->fields = ParseColumns(
                       "id BIGINT NOT NULL, customer_id BIGINT, amount BIGINT, status STRING, note STRING, "
                       "updated_at TIMESTAMP(3)")
                       .ValueOrDie();
  schema->primary_keys = {"id"};
  return schema;
}

// Words of a small vocabulary with a number: about 40 bytes that compress to half.
std::string Note(Random* random) {
  static const char* const kWords[] = {"delivery", "express", "gift",  "return", "priority", "paid",
                                       "invoice",  "partial", "night", "urgent", "repeat",   "fragile"};
  std::string note;
  for (int i = 0; i < 4; ++i) note.append(kWords[random->Below(std::size(kWords))]).push_back(' ');
  return note + std::to_string(random->Below(1'000'000'000));
}

// Keys rise by small steps; everything else is random as in a flushed write buffer.
std::vector<std::shared_ptr<arrow::RecordBatch>> Events(const TableSchema& schema) {
  static const char* const kStatus[] = {"NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"};
  Random random(42);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  int64_t key = 0;
  for (int64_t done = 0; done < kRows; done += kBatchRows) {
    const int64_t rows = std::min(kBatchRows, kRows - done);
    arrow::Int64Builder ids, sequences, customers, amounts;
    arrow::Int8Builder kinds;
    arrow::StringBuilder status, notes;
    arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MILLI), arrow::default_memory_pool());
    Status ok;
    for (int64_t row = 0; row < rows; ++row) {
      key += 1 + static_cast<int64_t>(random.Below(20));
      ok &= ids.Append(key);
      ok &= sequences.Append(5'000'000 + static_cast<int64_t>(random.Below(250'000)));
      ok &= kinds.Append(random.OneIn(25) ? 3 : 0);
      ok &= customers.Append(static_cast<int64_t>(random.Below(200'000)));
      ok &= amounts.Append(static_cast<int64_t>(random.Below(10'000'000)));
      ok &= status.Append(kStatus[random.Below(std::size(kStatus))]);
      ok &= notes.Append(Note(&random));
      ok &= times.Append(1'760'000'000'000 + static_cast<int64_t>(random.Below(3'600'000)));
    }
    const auto id = ids.Finish().ValueOrDie();
    batches.push_back(arrow::RecordBatch::Make(
        ToArrowSchema(KeyValueFields(schema)), rows,
        arrow::ArrayVector{id, sequences.Finish().ValueOrDie(), kinds.Finish().ValueOrDie(), id,
                           customers.Finish().ValueOrDie(), amounts.Finish().ValueOrDie(),
                           status.Finish().ValueOrDie(), notes.Finish().ValueOrDie(),
                           times.Finish().ValueOrDie()}));
  }
  return batches;
}

struct Bench {
  MemoryStore store;
  SystemClock clock;
  TableOptions options;
  FileNames names{"bench", options};
  std::shared_ptr<const TableSchema> schema = EventsSchema();
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches = Events(*schema);

  Bench() { options.target_file_bytes = 128 << 20; }

  Result<DataFileMeta> Write() {
    FileWriteSpec spec{.store = &store,
                       .directory = "/b",
                       .schema = schema,
                       .options = &options,
                       .names = &names,
                       .clock = &clock};
    HEADRACE_ASSIGN_OR_RETURN(auto writer, OpenKeyValueWriter(spec));
    for (const auto& batch : batches) HEADRACE_RETURN_NOT_OK(writer->Write(*batch));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<DataFileMeta> files, writer->Close());
    return files.at(0);
  }

  Result<int64_t> Read(const DataFileMeta& file, const ReadColumns& columns) {
    FileReadOptions read{.table_schema = schema, .schema_by_id = {}, .columns = columns};
    HEADRACE_ASSIGN_OR_RETURN(auto reader, OpenDataFile(&store, "/b/" + file.name, file, read));
    int64_t rows = 0;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
      if (batch == nullptr) return rows;
      rows += batch->num_rows();
    }
  }
};

void PerRow(benchmark::State& state, int64_t bytes) {
  state.counters["ns_per_row"] =
      benchmark::Counter(static_cast<double>(kRows) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_row"] = static_cast<double>(bytes) / kRows;
}

void WriteKeyValueFile(benchmark::State& state, const std::string& compression, bool thin) {
  Bench bench;
  bench.options.file_compression = compression;
  bench.options.thin_mode = thin;
  int64_t bytes = 0;
  for (auto _ : state) {
    auto file = bench.Write();
    if (!file.ok()) return state.SkipWithError(file.status().ToString().c_str());
    bytes = file->size_bytes;
    state.PauseTiming();
    (void)bench.store.Delete("/b/" + file->name);
    state.ResumeTiming();
  }
  PerRow(state, bytes);
}
BENCHMARK_CAPTURE(WriteKeyValueFile, zstd, "zstd", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WriteKeyValueFile, zstd_thin, "zstd", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WriteKeyValueFile, lz4, "lz4", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WriteKeyValueFile, none, "none", false)->Unit(benchmark::kMillisecond);

void ReadKeyValueFile(benchmark::State& state, const ReadColumns& columns) {
  Bench bench;
  const auto file = bench.Write();
  if (!file.ok()) return state.SkipWithError(file.status().ToString().c_str());
  for (auto _ : state) {
    const auto rows = bench.Read(*file, columns);
    if (!rows.ok() || *rows != kRows) return state.SkipWithError(rows.status().ToString().c_str());
  }
  PerRow(state, file->size_bytes);
}
BENCHMARK_CAPTURE(
    ReadKeyValueFile, all,
    ReadColumns{true, true, true, {"id", "customer_id", "amount", "status", "note", "updated_at"}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReadKeyValueFile, keys_and_kinds, ReadColumns{true, false, true, {}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReadKeyValueFile, two_values, ReadColumns{false, false, false, {"amount", "status"}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headrace
