#include "cli/demo_text.h"

#include <memory>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>

#include "headrace/rows.h"

namespace headrace::cli {

Result<std::string> TextOf(const arrow::RecordBatch& batch, const std::string& indent) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSink> sink,
                        OpenRowSink(RowFormat::kJsonLines, batch.schema(), buffer));
  ARROW_RETURN_NOT_OK(sink->Write(batch));
  ARROW_RETURN_NOT_OK(sink->Close());
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> bytes, buffer->Finish());
  std::string text;
  bool line_start = true;
  for (const char c : bytes->ToString()) {
    if (line_start) text += indent;
    text += c;
    line_start = c == '\n';
  }
  return text;
}

}  // namespace headrace::cli
