// Debezium events to rows: the captures of the fixtures, repeated, decoded into batches. Bytes a second of one core.
//
// Lines are decoded in batches of 8192 rows, as an ingest does; reading and writing are not part of it.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <benchmark/benchmark.h>

#include "ingest/debezium_decoder.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kBatchRows = 8192;

std::vector<std::string> Lines(const std::string& name) {
  std::string text;
  const std::string path = "tests/fixtures/cdc/" + name;
  if (name.ends_with(".zst")) {
    auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
    auto file = arrow::io::ReadableFile::Open(path).ValueOrDie();
    auto stream = arrow::io::CompressedInputStream::Make(codec.get(), file).ValueOrDie();
    while (true) {
      const auto part = stream->Read(1 << 20).ValueOrDie();
      if (part->size() == 0) break;
      text += part->ToString();
    }
  } else {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

void Decode(benchmark::State& state, const std::string& fixture, const std::string& columns,
            const std::string& source) {
  const std::vector<std::string> lines = Lines(fixture);
  if (lines.empty()) {
    state.SkipWithError("run from the project's folder: tests/fixtures/cdc is not here");
    return;
  }
  TableShape table;
  table.fields = ParseColumns(columns).ValueOrDie();
  table.key_columns = {0};
  DebeziumOptions options;
  options.source_table = source;
  DebeziumDecoder decoder(table, options);
  RowBuffer rows(table.fields);
  int64_t bytes = 0;
  int64_t events = 0;
  for (auto _ : state) {
    for (const std::string& line : lines) {
      const LineOutcome outcome = decoder.Decode(line, std::nullopt, nullptr, &rows);
      if (outcome.fate == LineFate::kBad) state.SkipWithError(outcome.reason.c_str());
      bytes += static_cast<int64_t>(line.size()) + 1;
      if (rows.rows() >= kBatchRows) benchmark::DoNotOptimize(rows.Finish().ValueOrDie());
    }
    events += static_cast<int64_t>(lines.size());
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(events);
}

void BM_Debezium_Plain(benchmark::State& state) {
  Decode(state, "pgbench.debezium.jsonl.zst", "aid INT NOT NULL, bid INT, abalance INT, filler STRING",
         "accounts");
}
void BM_Debezium_Text(benchmark::State& state) {
  Decode(state, "customers.debezium.jsonl",
         "customer_id BIGINT NOT NULL, name STRING, email STRING, plan STRING, address STRING", "");
}
void BM_Debezium_WithSchema(benchmark::State& state) {
  Decode(state, "customers.debezium-schema.jsonl",
         "customer_id BIGINT NOT NULL, name STRING, email STRING, plan STRING, address STRING", "");
}

BENCHMARK(BM_Debezium_Plain);
BENCHMARK(BM_Debezium_Text);
BENCHMARK(BM_Debezium_WithSchema);

}  // namespace
}  // namespace headrace::ingest
