// `headrace read`, `get` and `changes`: rows of a snapshot, of a key, and the ordered changes.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include <arrow/record_batch.h>

#include "cli/help.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_signal.h"

namespace headrace::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(200);

struct ReadArguments {
  std::string table;
  ReadOptions read;
  int64_t limit = -1;
  OutputOptions output;
};

// Cuts a batch so that at most `*left` rows remain; -1 is no limit.
std::shared_ptr<arrow::RecordBatch> Take(std::shared_ptr<arrow::RecordBatch> batch, int64_t* left) {
  if (*left < 0) return batch;
  batch = batch->Slice(0, std::min(*left, batch->num_rows()));
  *left -= batch->num_rows();
  return batch;
}

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
    batch = Take(std::move(batch), &left);
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

struct ChangesArguments {
  std::string table;
  std::string from;
  int64_t from_snapshot = 0;
  int64_t to_snapshot = 0;
  int64_t limit = -1;
  ChangesOptions changes;
  OutputOptions output;
};

Status FillOptions(ChangesArguments* arguments) {
  ChangesOptions& changes = arguments->changes;
  if (arguments->to_snapshot != 0) changes.to_snapshot = arguments->to_snapshot;
  if (arguments->from_snapshot != 0) {
    changes.from = ChangesOptions::From::kSnapshot;
    changes.from_snapshot = arguments->from_snapshot;
  } else if (arguments->from.empty() || arguments->from == "earliest") {
    changes.from = ChangesOptions::From::kEarliest;
  } else if (arguments->from == "latest") {
    changes.from = ChangesOptions::From::kLatest;
  } else if (arguments->from == "full") {
    changes.from = ChangesOptions::From::kFull;
  } else {
    return UsageError("--from ", arguments->from,
                      ": write earliest, latest or full, or give --from-snapshot N");
  }
  return Status::OK();
}

Status CopyChanges(ChangeReader* reader, RowSink* sink, int64_t limit) {
  const std::atomic<bool>& stop = StopRequested();
  while (!stop && limit != 0) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    if (batch != nullptr) {
      ARROW_RETURN_NOT_OK(sink->Write(*Take(std::move(batch), &limit)));
    } else if (reader->at_end()) {
      break;
    } else {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  return Status::OK();
}

Result<int> RunChanges(ChangesArguments arguments, Session& session) {
  ARROW_RETURN_NOT_OK(FillOptions(&arguments));
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ChangeReader> reader, table->Changes(arguments.changes));
  if (arguments.changes.from == ChangesOptions::From::kEarliest && reader->next_snapshot() > 1) {
    session.Note("earlier changes have expired; begins at snapshot " +
                 std::to_string(reader->next_snapshot()));
  }
  // A drawn table waits for its widths; who follows wants to see each change when it comes.
  if (arguments.changes.follow && arguments.output.format.empty() && arguments.output.file.empty()) {
    arguments.output.format = "jsonl";
  }
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSink> sink, OpenOutput(arguments.output, reader->schema()));
  const Status copied = CopyChanges(reader.get(), sink.get(), arguments.limit);
  ARROW_RETURN_NOT_OK(sink->Close());
  if (reader->skipped_overwrites() > 0) {
    session.Note("passed over " + CountText(reader->skipped_overwrites()) +
                 " overwrites: a stream does not show what an overwrite replaced");
  }
  ARROW_RETURN_NOT_OK(copied);
  session.Note("resume with --from-snapshot " + std::to_string(reader->next_snapshot()));
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

void AddChanges(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<ChangesArguments>();
  CLI::App* sub =
      app->add_subcommand("changes", "Print a table's changes in order, with _rowkind and _snapshot");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_option("--from", arguments->from,
                  "earliest (default), latest, or full: the current rows, then what follows")
      ->type_name("PLACE");
  sub->add_option("--from-snapshot", arguments->from_snapshot, "From this snapshot on, itself included")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->excludes("--from");
  sub->add_option("--to-snapshot", arguments->to_snapshot, "Up to this snapshot, itself included")
      ->type_name("N")
      ->check(WholeNumber(1));
  sub->add_flag("--follow", arguments->changes.follow, "Wait for new snapshots until interrupted");
  sub->add_option("--limit", arguments->limit, "At most so many changes")
      ->type_name("N")
      ->check(WholeNumber(0));
  sub->add_option("--columns", arguments->changes.columns, "Only these, in this order")
      ->delimiter(',')
      ->type_name("COLUMNS");
  AddOutputOptions(sub, &arguments->output);
  sub->footer(R"(
The resume point is told on stderr at the end. With --limit it is the snapshot
in which the output stopped, if it stopped in its middle.

Examples:
  headrace changes shop.customers --from-snapshot 5
  headrace changes shop.customers --from full --follow --format jsonl)");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunChanges(*arguments, session); });
}

}  // namespace headrace::cli
