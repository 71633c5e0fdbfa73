// `headrace compact`, `rescale`, `drop`, `rename` and `jobs`.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_signal.h"

namespace headrace::cli {
namespace {

void NoteCompacted(const std::string& name, const CompactResult& result, const Session& session) {
  session.Note(name + ": " + CountText(result.files_before) + " files became " +
               CountText(result.files_after) + ", " + BytesText(result.bytes_written) +
               " written, snapshot " + std::to_string(result.snapshots.back()));
}

Result<int> RunCompact(const std::string& name, bool full, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(name));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(name));
  ARROW_ASSIGN_OR_RAISE(const CompactResult result, table->Compact(full));
  if (!result.expiry.ok()) session.Note(name + ": compacted, but " + result.expiry.message());
  if (!result.snapshots.empty()) NoteCompacted(name, result, session);
  ARROW_RETURN_NOT_OK(result.held_back);
  if (result.snapshots.empty()) session.Note(name + ": nothing to compact");
  return kDone;
}

// Beside writers that leave compaction to others: compacts whenever the table has a new snapshot, until a signal comes. The table is opened
// anew each time, so that altered columns and options count.
class Compactor {
 public:
  Compactor(std::string name, bool full, int64_t every_ms, Session& session)
      : name_(std::move(name)), full_(full), every_ms_(every_ms), session_(session) {}

  Result<int> Run() {
    const std::atomic<bool>& stop = StopRequested();
    ARROW_ASSIGN_OR_RAISE(Engine * engine, session_.engine(name_));
    int64_t compactions = 0;
    while (!stop.load()) {
      ARROW_ASSIGN_OR_RAISE(const bool compacted, Round(engine));
      compactions += compacted ? 1 : 0;
      Sleep(stop);
    }
    session_.Note(name_ + ": stopped after " + CountText(compactions) + " compactions");
    return kDone;
  }

 private:
  Result<bool> Round(Engine* engine) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(name_));
    ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> latest, table->LatestSnapshot());
    if (!latest.has_value() || latest == seen_) return false;
    const Result<CompactResult> result = table->Compact(full_);
    // Others compacted the same files: what they left is looked at again in the next round.
    if (!result.ok() && KindOf(result.status()) == ErrorKind::kCommitConflict) {
      session_.Note(name_ + ": " + result.status().message());
      return false;
    }
    ARROW_RETURN_NOT_OK(result.status());
    if (!result->held_back.ok()) session_.Note(name_ + ": " + result->held_back.message());
    if (!result->expiry.ok()) session_.Note(name_ + ": compacted, but " + result->expiry.message());
    seen_ = result->snapshots.empty() ? latest : std::optional(result->snapshots.back());
    if (result->snapshots.empty()) return false;
    // A snapshot that came meanwhile may lie below ours and not be part of it.
    if (*seen_ > *latest + static_cast<int64_t>(result->snapshots.size())) seen_.reset();
    NoteCompacted(name_, *result, session_);
    return true;
  }

  void Sleep(const std::atomic<bool>& stop) const {
    constexpr int64_t kStepMs = 50;
    for (int64_t slept = 0; slept < every_ms_ && !stop.load(); slept += kStepMs)
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(kStepMs, every_ms_ - slept)));
  }

  const std::string name_;
  const bool full_;
  const int64_t every_ms_;
  Session& session_;
  std::optional<int64_t> seen_;  // the newest snapshot that a round has dealt with
};

Result<int> RunRescale(const std::string& name, const RescaleOptions& options, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(name));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(name));
  ARROW_ASSIGN_OR_RAISE(const RescaledTable result, table->Rescale(options));
  const std::string buckets = CountText(options.buckets) + (options.buckets == 1 ? " bucket" : " buckets");
  if (result.snapshots.empty()) {
    session.Note(name + ": nothing to write anew, all files are of " + buckets);
  } else {
    session.Note(name + ": " + CountText(result.rows) + " rows in " + CountText(result.files_before) +
                 " files became " + CountText(result.files_after) + " files of " + buckets + ", " +
                 BytesText(result.bytes_written) + " written, snapshot " +
                 std::to_string(result.snapshots.back()));
  }
  if (result.option_changed) session.Note("  bucket=" + std::to_string(options.buckets) + " from now on");
  return kDone;
}

// "day=2024-05-17"
Result<int> RunRescaleOf(const std::string& name, int32_t buckets, const std::vector<std::string>& partition,
                         Session& session) {
  RescaleOptions options;
  options.buckets = buckets;
  for (const std::string& part : partition) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return Status::Invalid("--partition ", part, ": expected COLUMN=VALUE");
    options.partition[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return RunRescale(name, options, session);
}

Result<int> RunDrop(const std::string& name, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(name));
  ARROW_RETURN_NOT_OK(engine->DropTable(name));
  session.Note("dropped table " + name);
  return kDone;
}

Result<int> RunRename(const std::string& from, const std::string& to, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(from));
  ARROW_RETURN_NOT_OK(engine->RenameTable(from, to));
  session.Note("renamed table " + from + " to " + to);
  return kDone;
}

Result<int> RunJobs(const std::string& name, const std::string& dropped, const OutputOptions& output,
                    Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(name));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(name));
  if (!dropped.empty()) {
    ARROW_RETURN_NOT_OK(table->DropJob(dropped));
    session.Note("dropped job " + dropped + " of table " + name + "; its position is gone");
    return kDone;
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> jobs, table->ShowJobs());
  ARROW_RETURN_NOT_OK(PrintBatch(output, *jobs));
  return kDone;
}

struct Arguments {
  std::string table;
  std::string second;
  bool full = false;
  bool follow = false;
  double every_seconds = 1;
  int32_t buckets = 0;
  std::vector<std::string> partition;
  OutputOptions output;
};

}  // namespace

void AddMaintenance(CLI::App* app, Chosen* chosen) {
  auto compact = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("compact", "Merge sorted runs, as the table's options ask or all into one");
  sub->add_option("TABLE", compact->table, "db.table or a table's folder")->required();
  sub->add_flag("--full", compact->full, "Merge everything into the deepest level");
  CLI::Option* follow =
      sub->add_flag("--follow", compact->follow,
                    "Go on whenever the table has new rows, until interrupted: beside write-only writers");
  sub->add_option("--every", compact->every_seconds, "With --follow: seconds between two looks at the table")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.05, 86400.0))
      ->needs(follow);
  sub->footer(R"(
Where compactions make the changelog (changelog-producer lookup and
full-compaction), this one makes it; with full-compaction it is always full.
Rows that wait (bucket=-2) get their buckets first.

Examples:
  headrace compact shop.customers --full
  headrace compact shop.customers --follow --every 5)");
  OnGiven(sub, chosen, [compact](Session& session) {
    if (!compact->follow) return RunCompact(compact->table, compact->full, session);
    const auto every_ms = static_cast<int64_t>(compact->every_seconds * 1000);
    return Compactor(compact->table, compact->full, every_ms, session).Run();
  });

  auto rescale = std::make_shared<Arguments>();
  sub = app->add_subcommand("rescale", "Write a table or a partition anew in other buckets");
  sub->add_option("TABLE", rescale->table, "db.table or a table's folder")->required();
  sub->add_option("--buckets", rescale->buckets, "How many buckets a partition gets")
      ->required()
      ->type_name("N");
  sub->add_option("--partition", rescale->partition, "Only partitions with this value, repeatable")
      ->type_name("COLUMN=VALUE");
  sub->footer(
      "\nExamples:\n  headrace rescale shop.customers --buckets 16\n"
      "  headrace rescale shop.events --buckets 4 --partition day=2024-05-17");
  OnGiven(sub, chosen, [rescale](Session& session) {
    return RunRescaleOf(rescale->table, rescale->buckets, rescale->partition, session);
  });

  auto drop = std::make_shared<Arguments>();
  sub = app->add_subcommand("drop", "Remove a table with all its data");
  sub->add_option("TABLE", drop->table, "db.table or a table's folder")->required();
  sub->footer("\nExample:\n  headrace drop shop.customers");
  OnGiven(sub, chosen, [drop](Session& session) { return RunDrop(drop->table, session); });

  auto rename = std::make_shared<Arguments>();
  sub = app->add_subcommand("rename", "Give a table another name");
  sub->add_option("TABLE", rename->table, "db.table")->required();
  sub->add_option("NEW_NAME", rename->second, "db.table")->required();
  sub->footer("\nExample:\n  headrace rename shop.customers shop.clients");
  OnGiven(sub, chosen,
          [rename](Session& session) { return RunRename(rename->table, rename->second, session); });

  auto jobs = std::make_shared<Arguments>();
  sub = app->add_subcommand("jobs", "List a table's ingest jobs and their positions, or end one");
  sub->add_option("TABLE", jobs->table, "db.table or a table's folder")->required();
  sub->add_option("--drop", jobs->second, "Forget this job's position")->type_name("JOB");
  AddOutputOptions(sub, &jobs->output);
  sub->footer("\nExamples:\n  headrace jobs shop.customers\n  headrace jobs shop.customers --drop nightly");
  OnGiven(sub, chosen,
          [jobs](Session& session) { return RunJobs(jobs->table, jobs->second, jobs->output, session); });
}

}  // namespace headrace::cli
