// headrace-modes: what each table mode costs and how fresh it is, as the table of docs/performance.md.
//
// Two tables a mode, all given the same commits: random updates of a fixed set of keys. The first tells cost, each commit waiting for its
// compaction: the CPU of writing, bytes in data, changelog and index files, the least CPU of five scans. The second tells freshness, no
// commit waiting but where the mode does: after each commit, how many of its keys a scan, a read-optimised scan and a follower have seen
// by then, as a mean. Rows after a full compaction must be those of a plain map, else the exit status is 1. MODES_COMMITS (22), MODES_ROWS a
// commit (20000), MODES_KEYS (200000), MODES_FOLDER (made and removed).
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "headrace/engine.h"

namespace headrace::modes {
namespace {

struct Mode {
  const char* name;
  std::map<std::string, std::string> options;
};

const std::vector<Mode>& Modes() {
  static const std::vector<Mode> modes = {
      {"merge-on-read, trigger 5", {}},
      {"merge-on-read, trigger 2", {{"num-sorted-run.compaction-trigger", "2"}}},
      {"merge-on-read, trigger 10", {{"num-sorted-run.compaction-trigger", "10"}}},
      {"merge-on-read, write-only", {{"write-only", "true"}}},
      {"changelog by lookup", {{"changelog-producer", "lookup"}}},
      {"copy-on-write: full compaction every commit", {{"full-compaction.delta-commits", "1"}}},
      {"changelog by full compaction every 5 commits",
       {{"changelog-producer", "full-compaction"}, {"full-compaction.delta-commits", "5"}}},
      {"changelog by lookup, lookup-wait=false",
       {{"changelog-producer", "lookup"}, {"lookup-wait", "false"}}},
      {"deletion vectors", {{"deletion-vectors.enabled", "true"}}},
      {"deletion vectors, lookup-wait=false",
       {{"deletion-vectors.enabled", "true"}, {"lookup-wait", "false"}}},
      {"deletion vectors, changelog by lookup",
       {{"deletion-vectors.enabled", "true"}, {"changelog-producer", "lookup"}}},
  };
  return modes;
}

int64_t NumberFrom(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

double CpuSeconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Load {
  int64_t commits = 0;
  int64_t rows = 0;
  int64_t keys = 0;
};

// The rows of all commits, drawn again from the same seed for each mode.
class Rows {
 public:
  explicit Rows(const Load& load) : load_(load) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() {
    arrow::Int64Builder ids, amounts;
    arrow::StringBuilder states, notes;
    last_.clear();
    for (int64_t row = 0; row < load_.rows; ++row) {
      const auto id = static_cast<int64_t>(random_() % static_cast<uint64_t>(load_.keys));
      state_[id] = last_[id] = ++amount_;
      ARROW_RETURN_NOT_OK(ids.Append(id));
      ARROW_RETURN_NOT_OK(states.Append(random_() % 2 == 0 ? "open" : "shipped"));
      ARROW_RETURN_NOT_OK(amounts.Append(amount_));
      ARROW_RETURN_NOT_OK(notes.Append("note " + std::to_string(random_())));
    }
    arrow::ArrayVector columns(4);
    ARROW_RETURN_NOT_OK(ids.Finish(&columns[0]));
    ARROW_RETURN_NOT_OK(states.Finish(&columns[1]));
    ARROW_RETURN_NOT_OK(amounts.Finish(&columns[2]));
    ARROW_RETURN_NOT_OK(notes.Finish(&columns[3]));
    const auto schema =
        arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("state", arrow::utf8()),
                       arrow::field("amount", arrow::int64()), arrow::field("note", arrow::utf8())});
    return arrow::RecordBatch::Make(schema, load_.rows, std::move(columns));
  }

  const std::map<int64_t, int64_t>& state() const { return state_; }  // amount by key
  const std::map<int64_t, int64_t>& last() const { return last_; }    // of the last commit alone

 private:
  const Load load_;
  std::mt19937_64 random_{8821};
  int64_t amount_ = 0;
  std::map<int64_t, int64_t> state_;
  std::map<int64_t, int64_t> last_;
};

Result<std::map<int64_t, int64_t>> Amounts(TableHandle* table, const ReadOptions& options, double* cpu) {
  std::map<int64_t, int64_t> amounts;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  const double before = CpuSeconds();
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::RecordBatchReader> reader, table->Read(options));
  ARROW_ASSIGN_OR_RAISE(batches, reader->ToRecordBatches());
  *cpu = CpuSeconds() - before;
  for (const auto& batch : batches) {
    const auto& ids = static_cast<const arrow::Int64Array&>(*batch->GetColumnByName("id"));
    const auto& values = static_cast<const arrow::Int64Array&>(*batch->GetColumnByName("amount"));
    for (int64_t row = 0; row < batch->num_rows(); ++row) amounts[ids.Value(row)] = values.Value(row);
  }
  return amounts;
}

// Keys of the last commit whose newest amount a follower has been told.
Result<int64_t> Told(TableHandle* table, const std::map<int64_t, int64_t>& last) {
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<ChangeReader> changes, table->Changes({}));
  std::set<int64_t> told;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, changes->Next());
    if (batch == nullptr) return static_cast<int64_t>(told.size());
    const auto& ids = static_cast<const arrow::Int64Array&>(*batch->GetColumnByName("id"));
    const auto& values = static_cast<const arrow::Int64Array&>(*batch->GetColumnByName("amount"));
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      const auto found = last.find(ids.Value(row));
      if (found != last.end() && found->second == values.Value(row)) told.insert(found->first);
    }
  }
}

int64_t BytesOfRows(const std::filesystem::path& table) {
  int64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(table)) {
    const std::string folder = file.path().parent_path().filename().string();
    if (file.is_regular_file() && (folder.starts_with("bucket-") || folder == "index"))
      bytes += static_cast<int64_t>(file.file_size());
  }
  return bytes;
}

// The share of `last` that has its newest amount in `seen`.
double ShareSeen(const std::map<int64_t, int64_t>& seen, const std::map<int64_t, int64_t>& last) {
  int64_t shown = 0;
  for (const auto& [id, amount] : last) {
    const auto found = seen.find(id);
    shown += found != seen.end() && found->second == amount ? 1 : 0;
  }
  return static_cast<double>(shown) / static_cast<double>(last.size());
}

struct Outcome {
  double write_cpu = 0;
  int64_t bytes = 0;
  double scan_cpu = 0;
  double shown = 0;  // shares of a commit's keys, right after it
  double shown_optimized = 0;
  double told = 0;
  bool right = false;
};

Result<std::unique_ptr<TableHandle>> Create(Engine* engine, const Mode& mode, const std::string& name) {
  TableDefinition definition;
  definition.columns = "id BIGINT NOT NULL, state STRING, amount BIGINT, note STRING";
  definition.primary_key = {"id"};
  definition.options = {{"bucket", "2"}, {"snapshot.time-retained", "1 d"}};
  definition.options.insert(mode.options.begin(), mode.options.end());
  ARROW_RETURN_NOT_OK(engine->CreateTable(name, definition).status());
  return engine->OpenTable(name);
}

Status MeasureCost(TableHandle* table, const Load& load, Outcome* outcome) {
  Rows rows(load);
  {
    ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableWriter> writer, table->OpenWriter());
    for (int64_t commit = 0; commit < load.commits; ++commit) {
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, rows.Next());
      const double before = CpuSeconds();
      ARROW_RETURN_NOT_OK(writer->Write(batch, nullptr));
      ARROW_RETURN_NOT_OK(writer->Commit(/*wait_for_compaction=*/true).status());
      outcome->write_cpu += CpuSeconds() - before;
    }
  }
  outcome->bytes = BytesOfRows(table->info().path);
  for (int scan = 0; scan < 5; ++scan) {
    double cpu = 0;
    ARROW_RETURN_NOT_OK(Amounts(table, {}, &cpu).status());
    outcome->scan_cpu = scan == 0 ? cpu : std::min(outcome->scan_cpu, cpu);
  }
  ARROW_RETURN_NOT_OK(table->Compact(/*full=*/true).status());
  double unused = 0;
  ARROW_ASSIGN_OR_RAISE(const auto compacted, Amounts(table, {}, &unused));
  outcome->right = compacted == rows.state();
  return Status::OK();
}

Status MeasureFreshness(TableHandle* table, const Load& load, Outcome* outcome) {
  Rows rows(load);
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableWriter> writer, table->OpenWriter());
  const auto commits = static_cast<double>(load.commits);
  for (int64_t commit = 0; commit < load.commits; ++commit) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, rows.Next());
    ARROW_RETURN_NOT_OK(writer->Write(batch, nullptr));
    ARROW_RETURN_NOT_OK(writer->Commit(/*wait_for_compaction=*/false).status());
    double unused = 0;
    ARROW_ASSIGN_OR_RAISE(const auto seen, Amounts(table, {}, &unused));
    outcome->shown += ShareSeen(seen, rows.last()) / commits;
    ReadOptions optimized;
    optimized.read_optimized = true;
    ARROW_ASSIGN_OR_RAISE(const auto deep, Amounts(table, optimized, &unused));
    outcome->shown_optimized += ShareSeen(deep, rows.last()) / commits;
    ARROW_ASSIGN_OR_RAISE(const int64_t told, Told(table, rows.last()));
    outcome->told += static_cast<double>(told) / static_cast<double>(rows.last().size()) / commits;
  }
  return Status::OK();
}

Result<Outcome> Measure(Engine* engine, const Mode& mode, const std::string& name, const Load& load) {
  Outcome outcome;
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableHandle> waiting, Create(engine, mode, name));
  ARROW_RETURN_NOT_OK(MeasureCost(waiting.get(), load, &outcome));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableHandle> hurried, Create(engine, mode, name + "_hurried"));
  ARROW_RETURN_NOT_OK(MeasureFreshness(hurried.get(), load, &outcome));
  return outcome;
}

int Main() {
  const Load load{.commits = NumberFrom("MODES_COMMITS", 22),
                  .rows = NumberFrom("MODES_ROWS", 20000),
                  .keys = NumberFrom("MODES_KEYS", 200000)};
  const char* folder = std::getenv("MODES_FOLDER");
  const auto place = folder == nullptr ? std::filesystem::temp_directory_path() / "headrace-modes"
                                       : std::filesystem::path(folder);
  std::filesystem::remove_all(place);
  EngineOptions options;
  options.warehouse = place.string();
  auto engine = Engine::Open(options);
  bool right = engine.ok();
  std::printf(
      "| mode | writing, CPU s | MB written | scan, CPU s | a scan shows | read-optimised | a follower was "
      "told |\n"
      "|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; engine.ok() && i < Modes().size(); ++i) {
    const Mode& mode = Modes()[i];
    const auto outcome = Measure(engine->get(), mode, "modes.t" + std::to_string(i), load);
    right = right && outcome.ok() && outcome->right;
    if (!outcome.ok()) {
      std::printf("| %s | failed: %s |\n", mode.name, outcome.status().message().c_str());
      continue;
    }
    std::printf("| %s | %.2f | %.1f | %.3f | %.0f%% | %.0f%% | %.0f%% |%s\n", mode.name, outcome->write_cpu,
                static_cast<double>(outcome->bytes) / 1e6, outcome->scan_cpu, 100 * outcome->shown,
                100 * outcome->shown_optimized, 100 * outcome->told, outcome->right ? "" : " WRONG ROWS");
    std::fflush(stdout);
  }
  std::filesystem::remove_all(place);
  return right ? 0 : 1;
}

}  // namespace
}  // namespace headrace::modes

int main() {
  const arrow::Status ready = arrow::compute::Initialize();
  if (!ready.ok()) return 1;
  return headrace::modes::Main();
}
