// `headrace why`: every version of a key in the live files, and which wins.
#include <memory>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "cli/help.h"
#include "cli/output.h"
#include "cli/session.h"
#include "headrace/engine.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string table;
  std::vector<std::string> key;
  std::optional<int64_t> snapshot;
  OutputOptions output;
};

// Where each version lies and what becomes of it, then its row.
Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<KeyVersion>& versions) {
  arrow::StringBuilder verdicts, kinds, files, partitions;
  arrow::Int64Builder sequences;
  arrow::Int32Builder levels, buckets;
  arrow::RecordBatchVector rows;
  for (const KeyVersion& version : versions) {
    ARROW_RETURN_NOT_OK(verdicts.Append(version.verdict));
    ARROW_RETURN_NOT_OK(kinds.Append(version.row_kind));
    ARROW_RETURN_NOT_OK(sequences.Append(version.sequence));
    ARROW_RETURN_NOT_OK(levels.Append(version.level));
    ARROW_RETURN_NOT_OK(partitions.Append(version.partition));
    ARROW_RETURN_NOT_OK(buckets.Append(version.bucket));
    ARROW_RETURN_NOT_OK(files.Append(version.file));
    rows.push_back(version.row);
  }
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> joined,
                        arrow::ConcatenateRecordBatches(rows));
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const auto add = [&](const char* name, arrow::ArrayBuilder* builder) -> Status {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> column, builder->Finish());
    fields.push_back(arrow::field(name, column->type()));
    columns.push_back(std::move(column));
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(add("_verdict", &verdicts));
  ARROW_RETURN_NOT_OK(add("_rowkind", &kinds));
  ARROW_RETURN_NOT_OK(add("_sequence", &sequences));
  ARROW_RETURN_NOT_OK(add("_level", &levels));
  ARROW_RETURN_NOT_OK(add("_partition", &partitions));
  ARROW_RETURN_NOT_OK(add("_bucket", &buckets));
  ARROW_RETURN_NOT_OK(add("_file", &files));
  for (int i = 0; i < joined->num_columns(); ++i) {
    fields.push_back(joined->schema()->field(i));
    columns.push_back(joined->column(i));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), joined->num_rows(), std::move(columns));
}

std::string PlaceOf(const SkippedFile& file) {
  return (file.partition.empty() ? "" : file.partition + ", ") + "bucket " + std::to_string(file.bucket) +
         ", level " + std::to_string(file.level);
}

Result<int> RunWhy(const Arguments& arguments, Session& session) {
  std::vector<std::pair<std::string, std::string>> key;
  for (const std::string& part : arguments.key) {
    ARROW_ASSIGN_OR_RAISE(auto pair, ParsePair(part, "key part"));
    key.push_back(std::move(pair));
  }
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const KeyHistory history, table->Why(key, arguments.snapshot));
  if (!history.versions.empty()) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, BatchOf(history.versions));
    ARROW_RETURN_NOT_OK(PrintBatch(arguments.output, *batch));
  }
  for (const SkippedFile& file : history.skipped)
    session.Note("not looked into, by its key range: " + file.file + " (" + PlaceOf(file) + ", " +
                 file.reason + ")");
  const std::string at = history.snapshot ? " at snapshot " + std::to_string(*history.snapshot) : "";
  session.Note(table->info().name + at + ": " + history.conclusion);
  return kDone;
}

}  // namespace

void AddWhy(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("why", "Print every version of a key in the live files, and which wins");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_option("KEY", arguments->key,
                  "column=value for each key column, and for partition columns outside the key where only "
                  "that partition is meant")
      ->required();
  sub->add_option("--snapshot", arguments->snapshot, "As of this snapshot (default: the latest)")
      ->type_name("N")
      ->check(WholeNumber(1));
  AddOutputOptions(sub, &arguments->output);
  sub->footer(
      "\nExample:\n  headrace why shop.customers customer_id=8821\n\nOne line a version, the newest first; "
      "the sentence on stderr "
      "says which\nwins and why. Exit status 0 whether the key has a row or not.");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunWhy(*arguments, session); });
}

}  // namespace headrace::cli
