// `headrace why`: every version of a key in the live files, and which wins.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "cli/help.h"
#include "cli/output.h"
#include "cli/session.h"
#include "headrace/engine.h"
#include "headrace/rows.h"

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

Result<std::string> TextOf(RowFormat format, const arrow::RecordBatch& batch) {
  ARROW_ASSIGN_OR_RAISE(const auto stream, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<RowSink> sink, OpenRowSink(format, batch.schema(), stream));
  ARROW_RETURN_NOT_OK(sink->Write(batch));
  ARROW_RETURN_NOT_OK(sink->Close());
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> text, stream->Finish());
  return text->ToString();
}

// Characters of the longest line.
int WidthOf(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto characters = std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    widest = std::max(widest, static_cast<int>(characters));
  }
  return widest;
}

template <typename Place>
std::string PlaceOf(const Place& file) {
  return (file.partition.empty() ? "" : file.partition + ", ") + "bucket " + std::to_string(file.bucket) +
         ", level " + std::to_string(file.level);
}

Status PrintBlocks(const std::vector<KeyVersion>& versions) {
  for (const KeyVersion& version : versions) {
    ARROW_ASSIGN_OR_RAISE(const std::string row, TextOf(RowFormat::kJsonLines, *version.row));
    std::printf(
        "%s\n    version   %s, sequence number %lld\n    place     %s\n    file      %s\n    row       %s\n",
        version.verdict.c_str(), version.row_kind.c_str(), static_cast<long long>(version.sequence),
        PlaceOf(version).c_str(), version.file.c_str(), row.c_str());
  }
  return Status::OK();
}

// A table that is wider than the terminal would lose what matters most: a version a block instead.
Status PrintVersions(const OutputOptions& output, const std::vector<KeyVersion>& versions) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, BatchOf(versions));
  if (const int width = TerminalWidthFor(output); width > 0) {
    ARROW_ASSIGN_OR_RAISE(const std::string drawn, TextOf(RowFormat::kTable, *batch));
    if (WidthOf(drawn) > width) return PrintBlocks(versions);
  }
  return PrintBatch(output, *batch);
}

Result<int> RunWhy(const Arguments& arguments, Session& session) {
  ARROW_ASSIGN_OR_RAISE(const auto key, ParsePairs(arguments.key, "key part"));
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const KeyHistory history, table->Why(key, arguments.snapshot));
  if (!history.versions.empty()) {
    ARROW_RETURN_NOT_OK(PrintVersions(arguments.output, history.versions));
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
      R"(
Example:
  headrace why shop.customers customer_id=8821

One line a version, the newest first; on a terminal too narrow for that, a block
a version. The sentence on stderr says which wins and why. Exit status 0 whether
the key has a row or not.)");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunWhy(*arguments, session); });
}

}  // namespace headrace::cli
