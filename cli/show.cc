// `headrace show` and `inspect`: what a warehouse and a table are made of.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "cli/help.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string what;
  std::string table;
  std::optional<int64_t> snapshot;
  OutputOptions output;
};

Result<std::shared_ptr<arrow::RecordBatch>> ListTables(Engine* engine, const std::string& only_database) {
  arrow::StringBuilder databases, tables;
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> all, engine->ListDatabases());
  if (!only_database.empty() && std::find(all.begin(), all.end(), only_database) == all.end()) {
    return UsageError("show tables: there is no database ", only_database, " in the warehouse");
  }
  for (const std::string& database : all) {
    if (!only_database.empty() && database != only_database) continue;
    ARROW_ASSIGN_OR_RAISE(std::vector<std::string> names, engine->ListTables(database));
    for (const std::string& name : names) {
      ARROW_RETURN_NOT_OK(databases.Append(database));
      ARROW_RETURN_NOT_OK(tables.Append(name));
    }
  }
  std::shared_ptr<arrow::Array> database_column, table_column;
  ARROW_RETURN_NOT_OK(databases.Finish(&database_column));
  ARROW_RETURN_NOT_OK(tables.Finish(&table_column));
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("database", arrow::utf8()), arrow::field("table", arrow::utf8())}),
      database_column->length(), {database_column, table_column});
}

Result<std::shared_ptr<arrow::RecordBatch>> Lookup(const Arguments& arguments, Engine* engine) {
  if (arguments.what == "tables") return ListTables(engine, arguments.table);
  if (arguments.table.empty()) return UsageError("show ", arguments.what, " needs a TABLE");
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  if (arguments.what == "schemas") return table->ShowSchemas();
  if (arguments.what == "snapshots") return table->ShowSnapshots();
  if (arguments.what == "options") return table->ShowOptions();
  if (arguments.what == "files") return table->ShowFiles(arguments.snapshot);
  if (arguments.what == "manifests") return table->ShowManifests(arguments.snapshot);
  return table->ShowJobs();
}

Result<int> RunShow(const Arguments& arguments, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, Lookup(arguments, engine));
  ARROW_RETURN_NOT_OK(PrintBatch(arguments.output, *batch));
  return kDone;
}

std::string RunLine(const RunInfo& run) {
  std::string line =
      "  L" + std::to_string(run.level) + "  " + Counted(run.files, "file") + ", " + Counted(run.rows, "row");
  std::string gone = run.deletes && *run.deletes > 0 ? Counted(*run.deletes, "delete") : "";
  if (!run.marked || *run.marked > 0)
    gone += (gone.empty() ? "" : ", ") + (run.marked ? CountText(*run.marked) : std::string("some")) +
            " marked deleted";
  const int64_t live = run.rows - run.deletes.value_or(0) - run.marked.value_or(0);
  if (!gone.empty()) line += " (" + gone + ": at most " + CountText(live) + " live)";
  line += ", " + BytesText(run.bytes);
  if (!run.min_key.empty() || !run.max_key.empty()) {
    line += ", keys " + (run.min_key == run.max_key ? run.min_key : run.min_key + " … " + run.max_key);
  }
  line += ", sequence " + (run.min_sequence == run.max_sequence
                               ? std::to_string(run.min_sequence)
                               : std::to_string(run.min_sequence) + "–" + std::to_string(run.max_sequence));
  return line;
}

Result<int> RunInspect(const Arguments& arguments, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::optional<int64_t> latest, table->LatestSnapshot());
  const std::optional<int64_t> shown = arguments.snapshot ? arguments.snapshot : latest;
  if (!shown) {
    std::printf("%s: no snapshot yet\n", table->info().name.c_str());
    return kDone;
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<BucketInfo> buckets, table->Tree(shown));
  std::printf("%s at snapshot %lld: %s with files\n", table->info().name.c_str(),
              static_cast<long long>(*shown),
              Counted(static_cast<int64_t>(buckets.size()), "bucket").c_str());
  for (const BucketInfo& bucket : buckets) {
    const std::string of = bucket.total_buckets > 0 ? " of " + std::to_string(bucket.total_buckets) : "";
    const std::string partition = bucket.partition.empty() ? "" : bucket.partition + ", ";
    std::printf("\n%sbucket %d%s: %s\n", partition.c_str(), bucket.bucket, of.c_str(),
                Counted(static_cast<int64_t>(bucket.runs.size()), "sorted run").c_str());
    for (const RunInfo& run : bucket.runs) std::printf("%s\n", RunLine(run).c_str());
    if (bucket.changelog_files > 0) {
      std::printf("  changelog  %s, %s\n", Counted(bucket.changelog_files, "file").c_str(),
                  Counted(bucket.changelog_rows, "change").c_str());
    }
  }
  return kDone;
}

}  // namespace

void AddShow(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("show", "List tables, schemas, snapshots, options, files, manifests or jobs");
  sub->add_option("WHAT", arguments->what, "tables, schemas, snapshots, options, files, manifests or jobs")
      ->required()
      ->check(CLI::IsMember({"tables", "schemas", "snapshots", "options", "files", "manifests", "jobs"}));
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder; for tables, a database");
  sub->add_option("--snapshot", arguments->snapshot,
                  "files and manifests as of this snapshot (default: the latest)")
      ->type_name("N")
      ->check(WholeNumber(1));
  AddOutputOptions(sub, &arguments->output);
  sub->footer("\nExamples:\n  headrace show tables\n  headrace show files shop.customers --format csv");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunShow(*arguments, session); });
}

void AddInspect(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("inspect", "Draw each bucket's tree: levels, runs, rows, key ranges, changelog");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_option("--snapshot", arguments->snapshot, "As of this snapshot (default: the latest)")
      ->type_name("N")
      ->check(WholeNumber(1));
  sub->footer("\nExample:\n  headrace inspect shop.customers");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunInspect(*arguments, session); });
}

}  // namespace headrace::cli
