// `headrace read` and `get`: rows of a snapshot, and of a key.
#include <fstream>
#include <iostream>
#include <memory>

#include <arrow/record_batch.h>

#include "cli/help.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace headrace::cli {
namespace {

struct ReadArguments {
  std::string table;
  ReadOptions read;
  int64_t limit = -1;
  OutputOptions output;
};

Result<int> RunRead(const ReadArguments& arguments, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::RecordBatchReader> rows, table->Read(arguments.read));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSink> sink, OpenOutput(arguments.output, rows->schema()));
  // A scrolling table is its own progress.
  Progress progress("rows", session.quiet() || arguments.output.file.empty());
  int64_t left = arguments.limit;
  int64_t count = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (left != 0) {
    ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) break;
    batch = TakeRows(std::move(batch), &left);
    count += batch->num_rows();
    ARROW_RETURN_NOT_OK(sink->Write(*batch));
    progress.Show(count, std::nullopt);
  }
  ARROW_RETURN_NOT_OK(sink->Close());
  if (!arguments.output.file.empty()) session.Note(CountText(count) + " rows in " + arguments.output.file);
  return kDone;
}

struct GetArguments {
  std::string table;
  std::vector<std::string> key;
  std::string keys_file;
  ReadOptions read;
  OutputOptions output;
};

// A key a line; the rows come out in the order of their keys.
Result<int> RunGetMany(const GetArguments& arguments, TableHandle* table, Session& session) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Lookup> lookup,
                        table->OpenLookup({arguments.read.columns, arguments.read.snapshot}));
  std::ifstream file;
  if (arguments.keys_file != "-") {
    file.open(arguments.keys_file);
    if (!file) return UsageError("--keys ", arguments.keys_file, ": the file cannot be opened");
  }
  std::istream& lines = arguments.keys_file == "-" ? std::cin : file;
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSink> sink, OpenOutput(arguments.output, lookup->schema()));
  int64_t number = 0;
  int64_t asked = 0;
  int64_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++asked;
    auto key = ParseKeyLine(line);
    Result<std::shared_ptr<arrow::RecordBatch>> row =
        key.ok() ? lookup->Get(*key) : Result<std::shared_ptr<arrow::RecordBatch>>(key.status());
    if (!row.ok()) {
      return row.status().WithMessage("--keys ", arguments.keys_file, ", line ", number, ": ",
                                      row.status().message());
    }
    if (*row == nullptr) continue;
    ++found;
    ARROW_RETURN_NOT_OK(sink->Write(**row));
  }
  ARROW_RETURN_NOT_OK(sink->Close());
  if (found < asked) {
    session.Note(table->info().name + " has no row for " + CountText(asked - found) + " of " +
                 CountText(asked) + " keys");
  }
  return found > 0 || asked == 0 ? kDone : kFailed;
}

Result<int> RunGet(const GetArguments& arguments, Session& session) {
  if (arguments.key.empty() == arguments.keys_file.empty())
    return UsageError("get: give a key as column=value, or a file of keys with --keys");
  if (!arguments.keys_file.empty()) {
    ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
    return RunGetMany(arguments, table.get(), session);
  }
  ARROW_ASSIGN_OR_RAISE(const auto key, ParsePairs(arguments.key, "key part"));
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> row, table->Get(key, arguments.read));
  if (row == nullptr) {
    std::string text;
    for (const std::string& pair : arguments.key) text += " " + pair;
    session.Note(table->info().name + " has no row" + text);
    return kFailed;
  }
  ARROW_RETURN_NOT_OK(PrintBatch(arguments.output, *row));
  return kDone;
}

}  // namespace

void AddRead(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<ReadArguments>();
  CLI::App* sub = app->add_subcommand("read", "Print the rows of a snapshot");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_option("--columns", arguments->read.columns, "Only these, in this order")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--limit", arguments->limit, "At most so many rows")->type_name("N")->check(WholeNumber(0));
  sub->add_option("--snapshot", arguments->read.snapshot, "As of this snapshot (default: the latest)")
      ->type_name("N")
      ->check(WholeNumber(1));
  sub->add_flag("--ordered", arguments->read.key_ordered, "Rows of each bucket in key order");
  sub->add_flag("--read-optimized", arguments->read.read_optimized,
                "Only what compactions have brought to the deepest level: fast, and behind");
  AddOutputOptions(sub, &arguments->output);
  sub->footer(R"(
Examples:
  headrace read shop.customers --columns customer_id,plan --limit 10
  headrace read shop.customers --snapshot 3 --output then.parquet)");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunRead(*arguments, session); });
}

void AddGet(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<GetArguments>();
  CLI::App* sub = app->add_subcommand("get", "Print the current row of a key");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_option("KEY", arguments->key, "column=value for each key column, values as JSON lines show them");
  sub->add_option("--keys", arguments->keys_file,
                  "A key a line, column=value … or a JSON object; - for standard input")
      ->type_name("FILE");
  sub->add_option("--columns", arguments->read.columns, "Only these, in this order")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--snapshot", arguments->read.snapshot, "As of this snapshot (default: the latest)")
      ->type_name("N")
      ->check(WholeNumber(1));
  AddOutputOptions(sub, &arguments->output);
  sub->footer(
      "\nExamples:\n  headrace get shop.customers customer_id=8821\n"
      "  headrace get shop.customers --keys wanted.jsonl --output found.parquet\n\n"
      "Exit status 1 when there is no such row, of many keys not one.");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunGet(*arguments, session); });
}

}  // namespace headrace::cli
