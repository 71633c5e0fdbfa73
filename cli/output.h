// Where rows go and in which form: standard output or a file, chosen by --format and --output.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>
#include <CLI/CLI.hpp>

#include "headrace/rows.h"

namespace headrace::cli {

struct OutputOptions {
  std::string format;  // empty: by the file's extension; a drawn table on a terminal, JSON lines otherwise
  std::string file;    // empty: standard output
};

void AddOutputOptions(CLI::App* sub, OutputOptions* options);
// The same with debezium-json among the forms.
void AddChangesOutput(CLI::App* sub, OutputOptions* options);

Result<std::unique_ptr<RowSink>> OpenOutput(const OutputOptions& options,
                                            std::shared_ptr<arrow::Schema> schema);

// Columns of the terminal that the output goes to when nothing else is asked for; 0: it goes elsewhere.
int TerminalWidthFor(const OutputOptions& options);

// Cuts a batch so that at most `*left` rows remain; -1 is no limit.
std::shared_ptr<arrow::RecordBatch> TakeRows(std::shared_ptr<arrow::RecordBatch> batch, int64_t* left);

// Writes one small batch whole.
Status PrintBatch(const OutputOptions& options, const arrow::RecordBatch& batch);

}  // namespace headrace::cli
