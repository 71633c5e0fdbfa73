// `headrace run`: a pipeline of continuous SQL, once or for ever.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include <arrow/io/interfaces.h>

#include "cli/help.h"
#include "cli/output_stream.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_signal.h"
#include "headrace/pipeline.h"
#include "headrace/pipeline_metrics.h"

namespace headrace::cli {
namespace {

struct RunArguments {
  std::string file;
  std::string name;
  std::string database;
  std::string every = "200ms";
  bool once = false;
  std::vector<std::string> until;  // "db.table=snapshot"
  bool rebuild = false;
  bool explain = false;
  std::string metrics;  // where to listen; empty: nowhere
};

Result<int64_t> ParseMilliseconds(const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string unit = text.substr(digits);
  if (digits == 0 || digits > 9 || (unit != "ms" && unit != "s" && unit != "min"))
    return UsageError("--every ", text, ": a number and ms, s or min, as 200ms");
  return std::stoll(text.substr(0, digits)) * (unit == "ms" ? 1 : unit == "s" ? 1000 : 60'000);
}

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-")
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error))
    return UsageError(path, ": the file cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Result<std::map<std::string, int64_t>> ParseSnapshots(const std::vector<std::string>& texts) {
  ARROW_ASSIGN_OR_RAISE(const auto pairs, ParsePairs(texts, "--until-snapshot"));
  std::map<std::string, int64_t> snapshots;
  for (const auto& [table, text] : pairs) {
    int64_t snapshot = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), snapshot);
    if (error != std::errc() || end != text.data() + text.size() || snapshot < 1)
      return UsageError("--until-snapshot ", table, "=", text, ": a snapshot is a number from 1 on");
    if (!snapshots.emplace(table, snapshot).second)
      return UsageError("--until-snapshot names ", table, " twice");
  }
  return snapshots;
}

// "orders" of "pipelines/orders.sql".
std::string NameOf(const RunArguments& arguments) {
  if (!arguments.name.empty()) return arguments.name;
  return arguments.file == "-" ? "pipeline" : std::filesystem::path(arguments.file).stem().string();
}

// How far behind the stage is that is furthest.
std::string LagText(const std::vector<PipelineStage>& stages) {
  int64_t behind_ms = 0, snapshots = 0;
  for (const PipelineStage& stage : stages) {
    for (const PipelineSource& source : stage.sources) {
      behind_ms = std::max(behind_ms, source.behind_ms.value_or(0));
      if (source.latest_snapshot)
        snapshots = std::max(snapshots, *source.latest_snapshot - source.next_snapshot + 1);
    }
  }
  if (snapshots <= 0) return "up to date";
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.1f s", static_cast<double>(behind_ms) / 1000);
  return Counted(snapshots, "snapshot") + " and " + seconds + " behind";
}

int64_t RowsOf(const std::vector<PipelineStage>& stages) {
  int64_t rows = 0;
  for (const PipelineStage& stage : stages) rows += stage.rows;
  return rows;
}

// Progress on a terminal; a failure, and its end, are told once in any case, as is what went wrong beside commits.
class Teller {
 public:
  Teller(const Session& session, bool once)
      : session_(session),
        failed_(once ? " (other stages go on)" : " (tried again; other stages go on)"),
        progress_("rows", session.quiet()) {}

  void Tell(const std::vector<PipelineStage>& stages) {
    for (const PipelineStage& stage : stages) {
      TellTrouble(stage, "held back", stage.held_back);
      TellTrouble(stage, "expiry",
                  stage.expiry.empty() ? "" : "old snapshots could not be ended: " + stage.expiry);
      std::string& known = errors_[stage.job];
      if (known == stage.error) continue;
      progress_.Clear();
      std::fprintf(
          stderr, "headrace: %s\n",
          stage.error.empty() ? (stage.target + " goes on").c_str() : (stage.error + failed_).c_str());
      known = stage.error;
    }
    progress_.Show(RowsOf(stages), std::nullopt, LagText(stages));
    last_ = stages;
  }

  void Summarise() {
    progress_.Clear();
    for (const PipelineStage& stage : last_) {
      std::string line =
          stage.target + ": " + Counted(stage.rows, "row") + " in " + Counted(stage.commits, "commit");
      if (stage.target_snapshot) line += ", latest snapshot " + std::to_string(*stage.target_snapshot);
      session_.Note(line);
    }
  }

 private:
  // Once, until it is another one.
  void TellTrouble(const PipelineStage& stage, const std::string& which, const std::string& trouble) {
    std::string& known = troubles_[{stage.job, which}];
    if (trouble.empty() || known == trouble) return;
    progress_.Clear();
    session_.Note(stage.target + ": rows are committed, but " + trouble);
    known = trouble;
  }

  const Session& session_;
  const std::string failed_;
  Progress progress_;
  std::map<std::pair<std::string, std::string>, std::string> troubles_;
  std::map<std::string, std::string> errors_;
  std::vector<PipelineStage> last_;
};

Result<int> RunPipeline(const RunArguments& arguments, Session& session) {
  PipelineOptions options;
  ARROW_ASSIGN_OR_RAISE(options.script, ReadFile(arguments.file));
  PipelineRunOptions run;
  ARROW_ASSIGN_OR_RAISE(run.every_ms, ParseMilliseconds(arguments.every));
  run.once = arguments.once;
  ARROW_ASSIGN_OR_RAISE(run.until_snapshots, ParseSnapshots(arguments.until));
  options.name = NameOf(arguments);
  options.database = arguments.database;
  options.rebuild = arguments.rebuild;
  options.threads = std::max(1, session.global().threads);
  options.spill_directory = session.global().spill_directory;
  ARROW_ASSIGN_OR_RAISE(options.memory_bytes, ParseBytes(session.global().memory));
  options.cancel = &StopRequested();
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine("db.table"));
  std::vector<std::string> notes;
  const auto pipeline = Pipeline::Open(engine, options, &notes);
  for (const std::string& note : notes) session.Note(note);
  ARROW_RETURN_NOT_OK(pipeline.status());
  if (arguments.explain) {
    ARROW_ASSIGN_OR_RAISE(const auto output, OpenStandardOutput());
    ARROW_RETURN_NOT_OK(output->Write((*pipeline)->Explain()));
    ARROW_RETURN_NOT_OK(output->Close());
    return kDone;
  }
  Teller teller(session, arguments.once);
  std::unique_ptr<PipelineMetrics> metrics;
  if (!arguments.metrics.empty()) {
    ARROW_ASSIGN_OR_RAISE(metrics, PipelineMetrics::Open(arguments.metrics));
    session.Note("metrics at " + metrics->url());
  }
  run.status = [&](const std::vector<PipelineStage>& stages) {
    if (metrics != nullptr) metrics->Update(stages);
    teller.Tell(stages);
  };
  const Status done = (*pipeline)->Run(run);
  teller.Summarise();
  ARROW_RETURN_NOT_OK(done);
  return kDone;
}

}  // namespace

void AddRun(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* sub = app->add_subcommand("run", "Keep tables true to SQL over other tables: a pipeline");
  sub->add_option(
         "FILE", arguments->file,
         "CREATE TABLE and INSERT INTO … SELECT statements, USE, SET 'copies' = 'true'; - is standard input")
      ->required();
  sub->add_option("--name", arguments->name,
                  "Positions are kept under it in the targets; the file's name if not given")
      ->type_name("NAME");
  sub->add_option("--database", arguments->database, "The database of tables named without one")
      ->type_name("DB");
  sub->add_option("--every", arguments->every,
                  "How often a statement looks for what is new in its tables (200ms)")
      ->type_name("TIME");
  sub->add_option("--metrics", arguments->metrics,
                  "Listen here for Prometheus: a port on loopback, or ADDRESS:PORT")
      ->type_name("PORT");
  auto* once = sub->add_flag("--once", arguments->once, "End when no statement has anything new to take in");
  sub->add_option("--until-snapshot", arguments->until,
                  "End when the table is taken in to this snapshot, at least, wherever it is read, and what "
                  "is made of it "
                  "has followed; may be said of several tables")
      ->type_name("DB.TABLE=N")
      ->excludes(once);
  sub->add_flag("--rebuild", arguments->rebuild,
                "Compute every target anew and write what differs, one commit each");
  sub->add_flag("--explain", arguments->explain,
                "Tell how each statement is kept true, and run nothing; tables that are absent are made");
  sub->footer(
      "\nExamples:\n  headrace run pipeline.sql --explain\n  headrace run pipeline.sql\n"
      "  headrace run pipeline.sql --once --rebuild");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunPipeline(*arguments, session); });
}

}  // namespace headrace::cli
