// headrace-sustained: five commits a second into a table of four buckets, for an hour, and what must not grow meanwhile.
//
// The rows change a fixed set of keys, so the state is of one size; with the retention of the table everything else is bounded too. Each
// minute is a line. At the end the minutes of the second sixth (10 to 20 of an hour) stand beside the last sixth, and the exit status is 1
// when a figure has grown beyond what is allowed. SOAK_SECONDS (3600), SOAK_COMMITS a second (5), SOAK_FOLDER (a folder of its own below
// the one for temporary files, removed at the end).
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "headrace/engine.h"
#include "tests/soak/measures.h"

namespace headrace::soak {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kTable[] = "soak.orders";
constexpr int64_t kKeys = 20000;
constexpr int64_t kRowsACommit = 200;
constexpr double kAllowed = 1.2;
// No multiple of anything that the table does by itself.
constexpr auto kLookEvery = std::chrono::milliseconds(3700);

int64_t NumberFrom(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

double CpuMillis() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto millis = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return millis(usage.ru_utime) + millis(usage.ru_stime);
}

TableDefinition Definition() {
  TableDefinition definition;
  definition.columns = "order_id BIGINT, status STRING, amount BIGINT, note STRING";
  definition.primary_key = {"order_id"};
  definition.options = {{"bucket", "4"},
                        {"changelog-producer", "input"},
                        {"snapshot.time-retained", "1 min"},
                        {"changelog.time-retained", "2 min"}};
  return definition;
}

struct Rows {
  std::shared_ptr<arrow::RecordBatch> batch;
  std::shared_ptr<arrow::Array> kinds;
};

// Some of the fixed keys, a tenth of them deleted.
Result<Rows> DrawRows(std::mt19937_64* random, const std::shared_ptr<arrow::Schema>& schema) {
  arrow::Int64Builder ids, amounts;
  arrow::StringBuilder states, notes;
  arrow::Int8Builder kinds;
  for (int64_t row = 0; row < kRowsACommit; ++row) {
    ARROW_RETURN_NOT_OK(ids.Append(static_cast<int64_t>((*random)() % kKeys)));
    ARROW_RETURN_NOT_OK(states.Append((*random)() % 2 == 0 ? "open" : "shipped"));
    ARROW_RETURN_NOT_OK(amounts.Append(static_cast<int64_t>((*random)() % 100000)));
    ARROW_RETURN_NOT_OK(notes.Append("note " + std::to_string((*random)())));
    ARROW_RETURN_NOT_OK(kinds.Append((*random)() % 10 == 0 ? 3 : 0));
  }
  std::vector<std::shared_ptr<arrow::Array>> columns(4);
  ARROW_ASSIGN_OR_RAISE(columns[0], ids.Finish());
  ARROW_ASSIGN_OR_RAISE(columns[1], states.Finish());
  ARROW_ASSIGN_OR_RAISE(columns[2], amounts.Finish());
  ARROW_ASSIGN_OR_RAISE(columns[3], notes.Finish());
  Rows rows;
  ARROW_ASSIGN_OR_RAISE(rows.kinds, kinds.Finish());
  rows.batch = arrow::RecordBatch::Make(schema, kRowsACommit, std::move(columns));
  return rows;
}

struct Run {
  std::string warehouse;
  int64_t seconds;
  int64_t commits_a_second;
  std::vector<Minute> minutes = {};
};

Status Write(Run* run) {
  EngineOptions options;
  options.warehouse = run->warehouse;
  options.memory_bytes = 256LL << 20;
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<Engine> engine, Engine::Open(options));
  ARROW_RETURN_NOT_OK(engine->CreateTable(kTable, Definition()).status());
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableHandle> table, engine->OpenTable(kTable));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableWriter> writer, table->OpenWriter());
  const auto schema =
      arrow::schema({arrow::field("order_id", arrow::int64(), false), arrow::field("status", arrow::utf8()),
                     arrow::field("amount", arrow::int64()), arrow::field("note", arrow::utf8())});
  std::mt19937_64 random(8821);
  std::printf("%6s %8s %6s %9s %9s %9s %9s %8s %8s %8s %7s %7s\n", "minute", "commits", "live", "snapshots",
              "files", "MB", "manifest", "plan ms", "p50 ms", "p99 ms", "cpu ms", "RSS MB");
  const auto start = Clock::now();
  const auto pace = std::chrono::nanoseconds(1'000'000'000 / run->commits_a_second);
  const auto minute_of = [&] {
    return std::chrono::duration_cast<std::chrono::minutes>(Clock::now() - start).count();
  };
  Minute minute;
  double cpu = CpuMillis();
  auto next = start;
  auto next_look = start + kLookEvery;
  while (Clock::now() - start < std::chrono::seconds(run->seconds)) {
    std::this_thread::sleep_until(next);
    // What could not be kept up with is not made up for: a pile of commits at once would be another load.
    next = std::max(next + pace, Clock::now());
    ARROW_ASSIGN_OR_RAISE(const Rows rows, DrawRows(&random, schema));
    ARROW_RETURN_NOT_OK(writer->Write(rows.batch, rows.kinds));
    const auto began = Clock::now();
    ARROW_RETURN_NOT_OK(writer->Commit().status());
    ARROW_RETURN_NOT_OK(writer->expiry());
    minute.commit_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    if (Clock::now() >= next_look) {
      const double before = CpuMillis();
      ARROW_ASSIGN_OR_RAISE(Sight sight, Look(run->warehouse, kTable));
      minute.sights.push_back(sight);
      cpu += CpuMillis() - before;
      next_look = Clock::now() + kLookEvery;
    }
    if (minute_of() == static_cast<int64_t>(run->minutes.size())) continue;
    minute.cpu_ms = (CpuMillis() - cpu) / static_cast<double>(minute.commit_ms.size());
    run->minutes.push_back(std::exchange(minute, Minute{}));
    std::printf("%s\n", LineOf(run->minutes.size(), run->minutes.back()).c_str());
    std::fflush(stdout);
    cpu = CpuMillis();
  }
  return Status::OK();
}

int Judge(const Run& run) {
  const size_t sixth = run.minutes.size() / 6;
  if (sixth == 0) {
    std::printf("fewer than six minutes: nothing to compare\n");
    return 0;
  }
  const auto at = [&](size_t from) {
    return std::vector<Minute>(run.minutes.begin() + static_cast<ptrdiff_t>(from),
                               run.minutes.begin() + static_cast<ptrdiff_t>(from + sixth));
  };
  size_t commits = 0;
  for (const Minute& minute : run.minutes) commits += minute.commit_ms.size();
  std::printf(
      "\n%zu commits in %zu minutes, %.2f a second; minutes %zu to %zu (early) against the last %zu (late), "
      "at most %.1f times\n",
      commits, run.minutes.size(),
      static_cast<double>(commits) / 60 / static_cast<double>(run.minutes.size()), sixth, 2 * sixth, sixth,
      kAllowed);
  return Compare(at(sixth), at(run.minutes.size() - sixth), kAllowed) == 0 ? 0 : 1;
}

int Main() {
  Run run{.warehouse = "",
          .seconds = NumberFrom("SOAK_SECONDS", 3600),
          .commits_a_second = NumberFrom("SOAK_COMMITS", 5)};
  const char* folder = std::getenv("SOAK_FOLDER");
  const auto place = folder == nullptr ? std::filesystem::temp_directory_path() / "headrace-sustained"
                                       : std::filesystem::path(folder);
  std::filesystem::remove_all(place / "soak.db");
  run.warehouse = place.string();
  Status status = arrow::compute::Initialize();
  if (status.ok()) status = Write(&run);
  if (!status.ok()) std::fprintf(stderr, "headrace-sustained: %s\n", status.ToString().c_str());
  const int judged = Judge(run);
  if (folder == nullptr) std::filesystem::remove_all(place);
  return status.ok() ? judged : 1;
}

}  // namespace
}  // namespace headrace::soak

int main() { return headrace::soak::Main(); }
