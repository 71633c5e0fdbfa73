// Writing rows for people and programs: a drawn table, JSON lines, CSV, Parquet, Arrow IPC.
//
// JSON lines hold every Paimon type without loss: decimals as strings with their scale, binary as hex, timestamps with as many
// fraction digits as the type has, maps as sorted [key,value] pairs. A sink belongs to one thread; Close() completes the output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "headrace/error.h"

namespace headrace {

enum class RowFormat {
  kTable,
  kJsonLines,
  kCsv,
  kParquet,
  kArrow,        // the IPC file form, with a footer
  kArrowStream,  // the IPC stream form, for pipes
};

Result<RowFormat> ParseRowFormat(std::string_view name);  // table, jsonl, csv, parquet, arrow, arrow-stream
// By the extension: .jsonl .json .ndjson, .csv, .parquet, .arrow .ipc .feather, .arrows, .txt (a table); kInvalid otherwise.
Result<RowFormat> RowFormatOfFile(std::string_view path);

class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  virtual Status Close() = 0;
};

// `width` is the terminal's, for kTable; 0: as wide as needed.
Result<std::unique_ptr<RowSink>> OpenRowSink(RowFormat format, std::shared_ptr<arrow::Schema> schema,
                                             std::shared_ptr<arrow::io::OutputStream> output, int width = 0);

}  // namespace headrace
