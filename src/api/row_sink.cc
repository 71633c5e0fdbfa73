// The forms rows are written in: JSON lines, CSV, Parquet and Arrow IPC; a drawn table is a file of its own.
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "api/cell_text.h"
#include "api/drawn_table.h"
#include "base/error.h"
#include "file/json_lines.h"
#include "format/option_values.h"
#include "headrace/rows.h"
#include "io/store_path.h"

namespace headrace {
namespace {

class JsonLinesSink final : public RowSink {
 public:
  JsonLinesSink(std::vector<DataField> fields, std::shared_ptr<arrow::io::OutputStream> output)
      : encoder_(std::move(fields)), output_(std::move(output)) {}

  Status Write(const arrow::RecordBatch& batch) override {
    text_.clear();
    HEADRACE_RETURN_NOT_OK(encoder_.Append(batch, &text_));
    return output_->Write(text_);
  }
  Status Close() override { return output_->Close(); }

 private:
  JsonLines encoder_;
  std::shared_ptr<arrow::io::OutputStream> output_;
  std::string text_;
};

// RFC 4180 with a header line. A null is an empty field, an empty text is "".
class CsvSink final : public RowSink {
 public:
  CsvSink(std::vector<DataField> fields, std::shared_ptr<arrow::io::OutputStream> output)
      : fields_(std::move(fields)), output_(std::move(output)) {
    for (const DataField& field : fields_) AppendField(field.name);
    EndLine();
  }

  Status Write(const arrow::RecordBatch& batch) override {
    std::string cell;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      for (size_t i = 0; i < fields_.size(); ++i) {
        const arrow::Array& column = *batch.column(static_cast<int>(i));
        if (column.IsNull(row)) {
          text_ += ',';
          continue;
        }
        cell.clear();
        AppendCellText(column, row, fields_[i].type, &cell);
        AppendField(cell);
      }
      EndLine();
    }
    return WriteText();
  }

  Status Close() override {
    HEADRACE_RETURN_NOT_OK(WriteText());
    return output_->Close();
  }

 private:
  void AppendField(std::string_view cell) {
    const bool quote = cell.empty() || cell.find_first_of(",\"\r\n") != std::string_view::npos;
    if (quote) text_ += '"';
    for (const char c : cell) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    if (quote) text_ += '"';
    text_ += ',';
  }
  void EndLine() { text_.back() = '\n'; }

  Status WriteText() {
    HEADRACE_RETURN_NOT_OK(output_->Write(text_));
    text_.clear();
    return Status::OK();
  }

  std::vector<DataField> fields_;
  std::shared_ptr<arrow::io::OutputStream> output_;
  std::string text_;
};

// Parquet and Arrow IPC: the libraries' writers take whole batches.
template <typename Writer>
class WriterSink final : public RowSink {
 public:
  WriterSink(std::shared_ptr<Writer> writer, std::shared_ptr<arrow::io::OutputStream> output)
      : writer_(std::move(writer)), output_(std::move(output)) {}

  Status Write(const arrow::RecordBatch& batch) override { return writer_->WriteRecordBatch(batch); }
  Status Close() override {
    HEADRACE_RETURN_NOT_OK(writer_->Close());
    return output_->Close();
  }

 private:
  std::shared_ptr<Writer> writer_;
  std::shared_ptr<arrow::io::OutputStream> output_;
};
using ParquetSink = WriterSink<parquet::arrow::FileWriter>;
using ArrowSink = WriterSink<arrow::ipc::RecordBatchWriter>;

Result<std::unique_ptr<RowSink>> OpenParquetSink(const std::shared_ptr<arrow::Schema>& schema,
                                                 std::shared_ptr<arrow::io::OutputStream> output) {
  std::shared_ptr<parquet::WriterProperties> properties =
      parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
  HEADRACE_ASSIGN_OR_RETURN(
      std::unique_ptr<parquet::arrow::FileWriter> writer,
      parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), output, properties));
  return std::make_unique<ParquetSink>(std::move(writer), std::move(output));
}

}  // namespace

Result<RowFormat> ParseRowFormat(std::string_view name) {
  if (name == "table") return RowFormat::kTable;
  if (name == "jsonl") return RowFormat::kJsonLines;
  if (name == "csv") return RowFormat::kCsv;
  if (name == "parquet") return RowFormat::kParquet;
  if (name == "arrow") return RowFormat::kArrow;
  if (name == "arrow-stream") return RowFormat::kArrowStream;
  return Invalid("format ", name, " is not known; use table, jsonl, csv, parquet, arrow or arrow-stream");
}

Result<RowFormat> RowFormatOfFile(std::string_view path) {
  const std::string_view name = NameIn(path);
  const size_t dot = name.rfind('.');
  const std::string extension = dot == name.npos ? "" : LowerAscii(name.substr(dot + 1));
  if (extension == "jsonl" || extension == "json" || extension == "ndjson") return RowFormat::kJsonLines;
  if (extension == "csv") return RowFormat::kCsv;
  if (extension == "parquet") return RowFormat::kParquet;
  if (extension == "arrow" || extension == "ipc" || extension == "feather") return RowFormat::kArrow;
  if (extension == "arrows") return RowFormat::kArrowStream;
  if (extension == "txt") return RowFormat::kTable;
  return Invalid("the format of ", path,
                 " cannot be told by its extension; give it by name: table, jsonl, csv, parquet, arrow");
}

Result<std::unique_ptr<RowSink>> OpenRowSink(RowFormat format, std::shared_ptr<arrow::Schema> schema,
                                             std::shared_ptr<arrow::io::OutputStream> output, int width) {
  switch (format) {
    case RowFormat::kTable: return OpenDrawnTable(std::move(schema), std::move(output), width);
    case RowFormat::kJsonLines: {
      HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, FieldsOfSchema(*schema));
      return std::make_unique<JsonLinesSink>(std::move(fields), std::move(output));
    }
    case RowFormat::kCsv: {
      HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, FieldsOfSchema(*schema));
      return std::make_unique<CsvSink>(std::move(fields), std::move(output));
    }
    case RowFormat::kParquet: return OpenParquetSink(schema, std::move(output));
    case RowFormat::kArrow: {
      HEADRACE_ASSIGN_OR_RETURN(auto writer, arrow::ipc::MakeFileWriter(output, schema));
      return std::make_unique<ArrowSink>(std::move(writer), std::move(output));
    }
    case RowFormat::kArrowStream: {
      HEADRACE_ASSIGN_OR_RETURN(auto writer, arrow::ipc::MakeStreamWriter(output, schema));
      return std::make_unique<ArrowSink>(std::move(writer), std::move(output));
    }
  }
  return Invalid("unknown row format");
}

}  // namespace headrace
