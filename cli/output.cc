// Opening the output of a command.
#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "cli/output_stream.h"
#include "cli/session.h"

namespace headrace::cli {
namespace {

// Columns of the terminal that standard output is, or 0 when it is none.
int TerminalWidth() {
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

Result<RowFormat> FormatOf(const OutputOptions& options) {
  if (!options.format.empty()) {
    const Result<RowFormat> parsed = ParseRowFormat(options.format);
    if (!parsed.ok()) return UsageError(parsed.status().message());
    const RowFormat format = *parsed;
    // A pipe is read from the front; the file form has its index at the end.
    if (format == RowFormat::kArrow && options.file.empty()) return RowFormat::kArrowStream;
    return format;
  }
  if (!options.file.empty()) return RowFormatOfFile(options.file);
  return isatty(STDOUT_FILENO) ? RowFormat::kTable : RowFormat::kJsonLines;
}

void AddForms(CLI::App* sub, OutputOptions* options, const char* forms) {
  sub->add_option("--format", options->format, forms)->type_name("FORMAT");
  sub->add_option("-o,--output", options->file, "Write to a file; its extension tells the format")
      ->type_name("FILE");
}

}  // namespace

int TerminalWidthFor(const OutputOptions& options) {
  return options.format.empty() && options.file.empty() ? TerminalWidth() : 0;
}

void AddOutputOptions(CLI::App* sub, OutputOptions* options) {
  AddForms(sub, options, "table, jsonl, csv, parquet, arrow or arrow-stream");
}

void AddChangesOutput(CLI::App* sub, OutputOptions* options) {
  AddForms(sub, options, "debezium-json, table, jsonl, csv, parquet, arrow or arrow-stream");
}

Result<std::unique_ptr<RowSink>> OpenOutput(const OutputOptions& options,
                                            std::shared_ptr<arrow::Schema> schema) {
  ARROW_ASSIGN_OR_RAISE(RowFormat format, FormatOf(options));
  const bool binary = format == RowFormat::kParquet || format == RowFormat::kArrowStream;
  if (options.file.empty() && binary && isatty(STDOUT_FILENO)) {
    return UsageError("this format is not for a terminal; name a file with --output, or redirect");
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::io::OutputStream> stream,
                        options.file.empty() ? OpenStandardOutput() : OpenOutputFile(options.file));
  return OpenRowSink(format, std::move(schema), std::move(stream),
                     options.file.empty() ? TerminalWidth() : 0);
}

std::shared_ptr<arrow::RecordBatch> TakeRows(std::shared_ptr<arrow::RecordBatch> batch, int64_t* left) {
  if (*left < 0) return batch;
  batch = batch->Slice(0, std::min(*left, batch->num_rows()));
  *left -= batch->num_rows();
  return batch;
}

Status PrintBatch(const OutputOptions& options, const arrow::RecordBatch& batch) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSink> sink, OpenOutput(options, batch.schema()));
  ARROW_RETURN_NOT_OK(sink->Write(batch));
  return sink->Close();
}

}  // namespace headrace::cli
