// headrace-bench: the engine under the contract of the side-by-side benchmark. Each subcommand is one process that prints one JSON object.
//
//   ingest     --input DIR --options 'k=v;k=v'   one commit for each Parquet file of DIR, in name order
//   compact                                      one full compaction
//   scan       [--check]                         all rows, summed; with --check a checksum over every field
//   filter     --status S                        two columns, one condition
//   lookup     --keys FILE                       point gets, twice over the same keys
//   changelog                                    all changes, counted by kind
//   wide       --rows N --memory SIZE            rows of 1 KiB into 64 buckets in one commit: memory and speed of a short budget
//
// All take --warehouse DIR --table db.t --threads N. Only the public API is used.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/initialize.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/crc32.h>
#include <arrow/util/decimal.h>
#include <parquet/arrow/reader.h>
#include <CLI/CLI.hpp>

#include "headrace/engine.h"

namespace headrace::bench {
namespace {

struct Arguments {
  std::string warehouse, table, input, options, status, keys;
  int threads = 2;
  int64_t rows = 400'000;
  int64_t memory_bytes = 512LL << 20;
  bool check = false;
};

constexpr char kColumns[] =
    "order_id BIGINT NOT NULL, customer_id BIGINT, status STRING, amount DECIMAL(12, 2), note STRING, "
    "updated_at TIMESTAMP(3)";

Result<std::unique_ptr<Engine>> OpenEngine(const Arguments& arguments) {
  return Engine::Open({.warehouse = arguments.warehouse,
                       .memory_bytes = arguments.memory_bytes,
                       .threads = arguments.threads});
}

std::map<std::string, std::string> TableOptionsOf(const std::string& text) {
  std::map<std::string, std::string> options = {{"bucket", "2"},
                                                {"file.compression", "zstd"},
                                                {"snapshot.num-retained.min", "10000"},
                                                {"snapshot.num-retained.max", "10000"}};
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(';', start), text.size());
    const std::string pair = text.substr(start, end - start);
    const size_t equals = pair.find('=');
    if (equals != std::string::npos) options[pair.substr(0, equals)] = pair.substr(equals + 1);
    start = end + 1;
  }
  return options;
}

std::vector<std::string> ParquetFilesOf(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".parquet") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "+I" "-U" "+U" "-D", plain or dictionary-encoded, to RowKind bytes.
Result<std::shared_ptr<arrow::Array>> KindsOf(const arrow::Array& ops) {
  const auto code = [](std::string_view op) -> int8_t {
    return op == "+I" ? 0 : op == "-U" ? 1 : op == "+U" ? 2 : 3;
  };
  arrow::Int8Builder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(ops.length()));
  if (ops.type_id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(ops);
    const auto& words = static_cast<const arrow::StringArray&>(*dictionary.dictionary());
    std::vector<int8_t> codes;
    for (int64_t i = 0; i < words.length(); ++i) codes.push_back(code(words.GetView(i)));
    for (int64_t i = 0; i < ops.length(); ++i) builder.UnsafeAppend(codes[dictionary.GetValueIndex(i)]);
  } else {
    const auto& words = static_cast<const arrow::StringArray&>(ops);
    for (int64_t i = 0; i < ops.length(); ++i) builder.UnsafeAppend(code(words.GetView(i)));
  }
  return builder.Finish();
}

// Writes one file's rows; gives their number.
Result<int64_t> WriteFile(const std::string& file, TableWriter* writer) {
  ARROW_ASSIGN_OR_RAISE(auto input, arrow::io::ReadableFile::Open(file));
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(input));
  parquet::ArrowReaderProperties properties;
  properties.set_batch_size(64 * 1024);
  properties.set_pre_buffer(false);
  properties.set_read_dictionary(6, true);
  std::unique_ptr<parquet::arrow::FileReader> reader;
  ARROW_RETURN_NOT_OK(builder.properties(properties)->Build(&reader));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::RecordBatchReader> batches, reader->GetRecordBatchReader());
  int64_t rows = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(batches->ReadNext(&batch));
    if (batch == nullptr) return rows;
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> kinds, KindsOf(*batch->column(6)));
    ARROW_ASSIGN_OR_RAISE(batch, batch->RemoveColumn(6));
    ARROW_RETURN_NOT_OK(writer->Write(batch, kinds));
    rows += batch->num_rows();
  }
}

Status RunIngest(const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  TableDefinition definition;
  definition.columns = kColumns;
  definition.primary_key = {"order_id"};
  definition.options = TableOptionsOf(arguments.options);
  ARROW_RETURN_NOT_OK(engine->CreateTable(arguments.table, definition).status());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableWriter> writer, table->OpenWriter());
  int64_t rows = 0;
  const std::vector<std::string> files = ParquetFilesOf(arguments.input);
  for (size_t i = 0; i < files.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const int64_t written, WriteFile(files[i], writer.get()));
    rows += written;
    const bool last = i + 1 == files.size();
    ARROW_RETURN_NOT_OK(writer->Commit(last).status());
  }
  std::printf("{\"rows\": %lld}\n", static_cast<long long>(rows));
  return Status::OK();
}

Status RunCompact(const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const CompactResult result, table->Compact(true));
  std::printf("{\"snapshots\": %zu, \"bytes\": %lld}\n", result.snapshots.size(),
              static_cast<long long>(result.bytes_written));
  return Status::OK();
}

int64_t UnscaledAt(const arrow::Array& decimals, int64_t row) {
  const auto& array = static_cast<const arrow::Decimal128Array&>(decimals);
  return static_cast<int64_t>(arrow::Decimal128(array.GetValue(row)).low_bits());
}

struct Sums {
  int64_t rows = 0, id = 0, customer = 0, amount = 0, ts = 0, length = 0;
  uint64_t crc = 0;
};

void AddRows(const arrow::RecordBatch& batch, bool check, Sums* sums) {
  const auto& id = static_cast<const arrow::Int64Array&>(*batch.column(0));
  const auto& customer = static_cast<const arrow::Int64Array&>(*batch.column(1));
  const auto& status = static_cast<const arrow::StringArray&>(*batch.column(2));
  const auto& note = static_cast<const arrow::StringArray&>(*batch.column(4));
  const auto& updated = static_cast<const arrow::TimestampArray&>(*batch.column(5));
  const int64_t rows = batch.num_rows();
  sums->rows += rows;
  sums->length +=
      status.value_offset(rows) - status.value_offset(0) + note.value_offset(rows) - note.value_offset(0);
  for (int64_t row = 0; row < rows; ++row) {
    sums->id += id.Value(row);
    sums->customer += customer.Value(row);
    sums->amount += UnscaledAt(*batch.column(3), row);
    sums->ts += updated.Value(row);
  }
  if (!check) return;
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    text = std::to_string(id.Value(row)) + '|' + std::to_string(customer.Value(row)) + '|' +
           std::string(status.GetView(row)) + '|' + std::to_string(UnscaledAt(*batch.column(3), row)) + '|' +
           std::string(note.GetView(row)) + '|' + std::to_string(updated.Value(row));
    sums->crc += arrow::internal::crc32(0, text.data(), text.size());
  }
}

Result<std::unique_ptr<arrow::RecordBatchReader>> OpenScan(Engine* engine, const Arguments& arguments,
                                                           std::vector<std::string> columns) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ReadOptions options;
  options.columns = std::move(columns);
  return table->Read(options);
}

Status RunScan(const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::RecordBatchReader> rows,
                        OpenScan(engine.get(), arguments, {}));
  Sums sums;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) break;
    AddRows(*batch, arguments.check, &sums);
  }
  std::printf("{\"rows\": %lld, ", static_cast<long long>(sums.rows));
  if (arguments.check) std::printf("\"crc\": %llu, ", static_cast<unsigned long long>(sums.crc));
  std::printf(
      "\"sums\": {\"rows\": %lld, \"id\": %lld, \"customer\": %lld, \"amount\": %lld, \"ts\": %lld, "
      "\"length\": %lld}}\n",
      static_cast<long long>(sums.rows), static_cast<long long>(sums.id),
      static_cast<long long>(sums.customer), static_cast<long long>(sums.amount),
      static_cast<long long>(sums.ts), static_cast<long long>(sums.length));
  return Status::OK();
}

Status RunFilter(const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::RecordBatchReader> rows,
                        OpenScan(engine.get(), arguments, {"status", "amount"}));
  int64_t count = 0;
  int64_t amount = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) break;
    const auto& status = static_cast<const arrow::StringArray&>(*batch->column(0));
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      if (status.GetView(row) != arguments.status) continue;
      ++count;
      amount += UnscaledAt(*batch->column(1), row);
    }
  }
  std::printf("{\"rows\": %lld, \"amount\": %lld}\n", static_cast<long long>(count),
              static_cast<long long>(amount));
  return Status::OK();
}

Status RunLookup(const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Lookup> lookup, table->OpenLookup({}));
  std::vector<std::string> keys;
  std::ifstream file(arguments.keys);
  for (std::string key; file >> key;) keys.push_back(key);
  if (keys.empty()) return Status::Invalid("lookup: no keys in ", arguments.keys);
  int64_t found = 0;
  int64_t amount = 0;
  std::vector<double> micros;
  std::vector<double> first_micros;
  double first_pass_s = 0;
  for (int pass = 0; pass < 2; ++pass) {
    found = amount = 0;
    const Clock::time_point pass_start = Clock::now();
    for (const std::string& key : keys) {
      const Clock::time_point start = Clock::now();
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> row, lookup->Get({{"order_id", key}}));
      (pass == 1 ? micros : first_micros)
          .push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      if (row == nullptr) continue;
      ++found;
      amount += UnscaledAt(*row->column(3), 0);
    }
    if (pass == 0) first_pass_s = std::chrono::duration<double>(Clock::now() - pass_start).count();
  }
  std::sort(micros.begin(), micros.end());
  std::sort(first_micros.begin(), first_micros.end());
  std::printf(
      "{\"keys\": %zu, \"found\": %lld, \"amount\": %lld, \"p50_us\": %.1f, \"p99_us\": %.1f, "
      "\"cold_pass_s\": %.3f, \"cold_p50_us\": %.1f, \"cold_p99_us\": %.1f}\n",
      keys.size(), static_cast<long long>(found), static_cast<long long>(amount), micros[micros.size() / 2],
      micros[micros.size() * 99 / 100], first_pass_s, first_micros[first_micros.size() / 2],
      first_micros[first_micros.size() * 99 / 100]);
  return Status::OK();
}

Status RunChangelog(const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ChangeReader> changes, table->Changes({}));
  std::map<std::string, int64_t> kinds = {{"+I", 0}, {"-U", 0}, {"+U", 0}, {"-D", 0}};
  int64_t rows = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, changes->Next());
    if (batch == nullptr) break;
    const auto& kind = static_cast<const arrow::StringArray&>(*batch->GetColumnByName("_rowkind"));
    for (int64_t row = 0; row < batch->num_rows(); ++row) ++kinds[kind.GetString(row)];
    rows += batch->num_rows();
  }
  std::printf("{\"rows\": %lld, \"kinds\": {\"+I\": %lld, \"-U\": %lld, \"+U\": %lld, \"-D\": %lld}}\n",
              static_cast<long long>(rows), static_cast<long long>(kinds["+I"]),
              static_cast<long long>(kinds["-U"]), static_cast<long long>(kinds["+U"]),
              static_cast<long long>(kinds["-D"]));
  return Status::OK();
}

constexpr int64_t kWideBatchRows = 2048;

// Half of each value repeats in others, as field names do; half is its own.
std::shared_ptr<arrow::Array> WideValues(std::mt19937_64* random) {
  std::string common;
  for (int i = 0; i < 4096; ++i) common.push_back(static_cast<char>('a' + (*random)() % 26));
  arrow::StringBuilder builder;
  for (int64_t row = 0; row < kWideBatchRows; ++row) {
    std::string value;
    while (value.size() < 1000) {
      value += common.substr((*random)() % 4000, 32);
      for (int i = 0; i < 32; ++i) value.push_back("0123456789abcdefghijklmnopqrstuv"[(*random)() % 32]);
    }
    value.resize(1000);
    (void)builder.Append(value);
  }
  return builder.Finish().ValueOrDie();
}

Status RunWide(const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, OpenEngine(arguments));
  TableDefinition definition;
  definition.columns = "id BIGINT NOT NULL, customer BIGINT, payload STRING";
  definition.primary_key = {"id"};
  definition.options = TableOptionsOf("bucket=64;write-only=true;" + arguments.options);
  ARROW_RETURN_NOT_OK(engine->CreateTable(arguments.table, definition).status());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableWriter> writer, table->OpenWriter());
  std::mt19937_64 random(1);
  std::vector<std::shared_ptr<arrow::Array>> values;
  for (int i = 0; i < 4; ++i) values.push_back(WideValues(&random));
  const auto schema =
      arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("customer", arrow::int64()),
                     arrow::field("payload", arrow::utf8())});
  const Clock::time_point start = Clock::now();
  for (int64_t row = 0; row < arguments.rows; row += kWideBatchRows) {
    arrow::Int64Builder ids, customers;
    for (int64_t i = 0; i < kWideBatchRows; ++i) {
      ARROW_RETURN_NOT_OK(
          ids.Append(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * arguments.rows))));
      ARROW_RETURN_NOT_OK(customers.Append(static_cast<int64_t>(random() % 100'000)));
    }
    ARROW_ASSIGN_OR_RAISE(auto id, ids.Finish());
    ARROW_ASSIGN_OR_RAISE(auto customer, customers.Finish());
    const auto& value = values[static_cast<size_t>(row / kWideBatchRows) % values.size()];
    ARROW_RETURN_NOT_OK(
        writer->Write(arrow::RecordBatch::Make(schema, kWideBatchRows, {id, customer, value}), nullptr));
  }
  ARROW_RETURN_NOT_OK(writer->Commit(true).status());
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  std::printf("{\"rows\": %lld, \"seconds\": %.2f, \"cpu_s\": %.2f, \"rss_mb\": %ld}\n",
              static_cast<long long>(arguments.rows), seconds, cpu, usage.ru_maxrss / 1024);
  return Status::OK();
}

int Main(int argc, char** argv) {
  Arguments arguments;
  Status (*run)(const Arguments&) = nullptr;
  CLI::App app("The engine under the contract of the side-by-side benchmark.", "headrace-bench");
  app.require_subcommand(1);
  const auto add = [&](const char* name, Status (*command)(const Arguments&)) {
    CLI::App* sub = app.add_subcommand(name);
    sub->add_option("--warehouse", arguments.warehouse)->required();
    sub->add_option("--table", arguments.table)->required();
    sub->add_option("--threads", arguments.threads);
    sub->callback([&run, command] { run = command; });
    return sub;
  };
  CLI::App* ingest = add("ingest", RunIngest);
  ingest->add_option("--input", arguments.input)->required();
  ingest->add_option("--options", arguments.options);
  add("compact", RunCompact);
  add("scan", RunScan)->add_flag("--check", arguments.check);
  add("filter", RunFilter)->add_option("--status", arguments.status)->required();
  add("lookup", RunLookup)->add_option("--keys", arguments.keys)->required();
  add("changelog", RunChangelog);
  CLI::App* wide = add("wide", RunWide);
  wide->add_option("--rows", arguments.rows);
  wide->add_option("--memory", arguments.memory_bytes)->transform(CLI::AsSizeValue(false));
  wide->add_option("--options", arguments.options);
  CLI11_PARSE(app, argc, argv);
  Status status = arrow::compute::Initialize();
  if (status.ok()) status = run(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "headrace-bench: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace headrace::bench

int main(int argc, char** argv) {
  try {
    return headrace::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headrace-bench: unexpected: %s\n", error.what());
    return 1;
  }
}
