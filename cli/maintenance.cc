// `headrace compact`, `drop`, `rename` and `jobs`.
#include <memory>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace headrace::cli {
namespace {

Result<int> RunCompact(const std::string& name, bool full, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(name));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(name));
  ARROW_ASSIGN_OR_RAISE(const CompactResult result, table->Compact(full));
  if (!result.expiry.ok()) session.Note(name + ": compacted, but " + result.expiry.message());
  if (result.snapshots.empty()) {
    session.Note(name + ": nothing to compact");
    return kDone;
  }
  session.Note(name + ": " + CountText(result.files_before) + " files became " +
               CountText(result.files_after) + ", " + BytesText(result.bytes_written) +
               " written, snapshot " + std::to_string(result.snapshots.back()));
  return kDone;
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
  OutputOptions output;
};

}  // namespace

void AddMaintenance(CLI::App* app, Chosen* chosen) {
  auto compact = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("compact", "Merge sorted runs, as the table's options ask or all into one");
  sub->add_option("TABLE", compact->table, "db.table or a table's folder")->required();
  sub->add_flag("--full", compact->full, "Merge everything into the deepest level");
  sub->footer("\nExample:\n  headrace compact shop.customers --full");
  OnGiven(sub, chosen,
          [compact](Session& session) { return RunCompact(compact->table, compact->full, session); });

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
