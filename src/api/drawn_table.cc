// Drawing: texts of cells, their widths on a terminal, and the lines between them.
#include "api/drawn_table.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/cell_text.h"
#include "base/error.h"

namespace headrace {
namespace {

constexpr size_t kHeldRows = 1000;    // rows that settle the widths
constexpr int kLeastColumnWidth = 5;  // of a column made narrower to fit the terminal
constexpr std::string_view kNullText = "NULL";

// The code point at `at` and its length in bytes; a byte that is no UTF-8 stands for itself.
std::pair<char32_t, size_t> CodePointAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 1 || at + length > text.size()) return {first, 1};
  char32_t point = first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) point = point << 6 | (byte(at + i) & 0x3F);
  return {point, length};
}

// Columns of a terminal that a code point takes: East Asian wide letters and emoji two, combining marks none.
int WidthOf(char32_t c) {
  if ((c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F)) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

int WidthOf(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [point, length] = CodePointAt(text, at);
    width += WidthOf(point);
    at += length;
  }
  return width;
}

// At most `width` columns; a text that was cut ends in an ellipsis.
std::string CutTo(std::string_view text, int width) {
  if (WidthOf(text) <= width) return std::string(text);
  std::string cut;
  int used = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [point, length] = CodePointAt(text, at);
    if (used + WidthOf(point) > width - 1) break;
    used += WidthOf(point);
    cut += text.substr(at, length);
    at += length;
  }
  return cut + "…";
}

// Control characters would break the drawing, or do worse to a terminal.
std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          constexpr char kHex[] = "0123456789abcdef";
          out += {'\\', 'x', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
        } else {
          out += c;
        }
    }
  }
  return out;
}

bool IsNumber(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
    case TypeRoot::kDecimal: return true;
    default: return false;
  }
}

using TextRow = std::vector<std::string>;

class DrawnTable final : public RowSink {
 public:
  DrawnTable(std::vector<DataField> fields, std::shared_ptr<arrow::io::OutputStream> output, int width)
      : fields_(std::move(fields)), output_(std::move(output)), terminal_width_(width) {}

  Status Write(const arrow::RecordBatch& batch) override {
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      TextRow texts(fields_.size());
      for (size_t i = 0; i < fields_.size(); ++i) {
        const arrow::Array& column = *batch.column(static_cast<int>(i));
        std::string text;
        AppendCellText(column, row, fields_[i].type, &text);
        texts[i] = column.IsNull(row) ? std::string(kNullText) : Printable(text);
      }
      HEADRACE_RETURN_NOT_OK(Add(std::move(texts)));
    }
    return Status::OK();
  }

  Status Close() override {
    if (widths_.empty()) HEADRACE_RETURN_NOT_OK(Begin());
    HEADRACE_RETURN_NOT_OK(WriteRule("└", "┴", "┘"));
    const std::string count = std::to_string(rows_) + (rows_ == 1 ? " row\n" : " rows\n");
    HEADRACE_RETURN_NOT_OK(output_->Write(count));
    return output_->Close();
  }

 private:
  Status Add(TextRow texts) {
    ++rows_;
    if (!widths_.empty()) return WriteRow(texts);
    held_.push_back(std::move(texts));
    return held_.size() < kHeldRows ? Status::OK() : Begin();
  }

  // Settles the widths, draws the head and the rows held so far.
  Status Begin() {
    TextRow names;
    for (const DataField& field : fields_) names.push_back(Printable(field.name));
    for (size_t i = 0; i < fields_.size(); ++i) {
      int width = WidthOf(names[i]);
      for (const TextRow& row : held_) width = std::max(width, WidthOf(row[i]));
      widths_.push_back(width);
    }
    FitToTerminal();
    HEADRACE_RETURN_NOT_OK(WriteRule("┌", "┬", "┐"));
    HEADRACE_RETURN_NOT_OK(WriteRow(names));
    HEADRACE_RETURN_NOT_OK(WriteRule("├", "┼", "┤"));
    for (const TextRow& row : held_) HEADRACE_RETURN_NOT_OK(WriteRow(row));
    held_.clear();
    return Status::OK();
  }

  // Narrows the widest column of text again and again until the lines fit. A number that was cut would be another number.
  void FitToTerminal() {
    if (terminal_width_ <= 0) return;
    int total = 1;
    for (const int width : widths_) total += width + 3;
    while (total > terminal_width_) {
      int* widest = nullptr;
      for (size_t i = 0; i < widths_.size(); ++i) {
        if (IsNumber(fields_[i].type) || widths_[i] <= kLeastColumnWidth) continue;
        if (widest == nullptr || widths_[i] > *widest) widest = &widths_[i];
      }
      if (widest == nullptr) return;
      --*widest;
      --total;
    }
  }

  Status WriteRule(std::string_view left, std::string_view middle, std::string_view right) {
    std::string line(left);
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) line += middle;
      for (int n = 0; n < widths_[i] + 2; ++n) line += "─";
    }
    line += right;
    return output_->Write(line + "\n");
  }

  Status WriteRow(const TextRow& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool whole = terminal_width_ <= 0 || IsNumber(fields_[i].type);
      const std::string text = whole ? row[i] : CutTo(row[i], widths_[i]);
      const std::string blanks(std::max(0, widths_[i] - WidthOf(text)), ' ');
      line += "│ ";
      line += IsNumber(fields_[i].type) ? blanks + text : text + blanks;
      line += " ";
    }
    return output_->Write(line + "│\n");
  }

  std::vector<DataField> fields_;
  std::shared_ptr<arrow::io::OutputStream> output_;
  int terminal_width_;
  std::vector<int> widths_;    // empty until settled
  std::vector<TextRow> held_;  // rows before that
  int64_t rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<RowSink>> OpenDrawnTable(std::shared_ptr<arrow::Schema> schema,
                                                std::shared_ptr<arrow::io::OutputStream> output, int width) {
  if (schema->num_fields() == 0) return Invalid("drawing a table: it has no columns");
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, FieldsOfSchema(*schema));
  return std::make_unique<DrawnTable>(std::move(fields), std::move(output), width);
}

}  // namespace headrace
