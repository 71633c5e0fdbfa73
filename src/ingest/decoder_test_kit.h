// For tests of decoders: a table that is a map, fed line by line; rows as text; the expected rows of a capture.
//
// Header only, included by tests alone. A table is a column list and its keys; Feed gives each line's outcome; Rows gives the last row of
// each key as "a=1|b=x", in key order of that text.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include "format/data_type.h"
#include "format/value.h"
#include "ingest/debezium_decoder.h"
#include "ingest/uncommitted_rows.h"

namespace headrace::ingest {

inline TableShape ShapeOf(const std::string& columns, const std::vector<std::string>& keys,
                          bool keep_update_before = false) {
  TableShape table;
  table.fields = *ParseColumns(columns);
  for (const std::string& key : keys) {
    for (size_t i = 0; i < table.fields.size(); ++i) {
      if (table.fields[i].name != key) continue;
      table.fields[i].type.nullable = false;
      table.key_columns.push_back(static_cast<int>(i));
    }
  }
  table.keep_update_before = keep_update_before;
  return table;
}

// As the expected files write it: instants without zeros at the end of the fraction, arrays as JSON.
inline std::string CellText(const ColumnBuffer& column, int64_t row) {
  if (column.IsNull(row)) return "null";
  const TypeRoot root = column.type().root;
  if (!column.type().is_nested()) {
    std::string text = ToText(column.ValueAt(row), column.type());
    if (root != TypeRoot::kTimestamp && root != TypeRoot::kTimestampLtz && root != TypeRoot::kTime)
      return text;
    const bool zoned = text.back() == 'Z';
    if (zoned) text.pop_back();
    while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) text.pop_back();
    return zoned ? text + "+00:00" : text;
  }
  ColumnBuffer one(column.type());
  one.AppendFrom(column, row);
  const std::vector<ColumnBuffer>& children = one.children();
  std::string text = "[";
  for (int64_t i = 0; i < children[0].size(); ++i) {
    for (const ColumnBuffer& child : children) {
      if (text.size() > 1) text += ",";
      if (child.type().root == TypeRoot::kVarChar && !child.IsNull(i)) {
        AppendJsonString(child.BytesAt(i), &text);
      } else {
        text += CellText(child, i);
      }
    }
  }
  return text + "]";
}

inline std::string RowText(const RowBuffer& rows, int64_t row) {
  static constexpr const char* kKinds[] = {"+I", "-U", "+U", "-D"};
  std::string text = kKinds[static_cast<int>(rows.kind(row))];
  for (int i = 0; i < rows.num_columns(); ++i) text += "|" + CellText(rows.column(i), row);
  return text;
}

class MapTable {
 public:
  MapTable(TableShape shape, DebeziumOptions options = {})
      : shape_(std::move(shape)),
        buffer_(shape_.fields),
        current_(&shape_, [](const std::vector<Value>&, RowBuffer*) -> Result<bool> { return false; }),
        decoder_(std::make_unique<DebeziumDecoder>(shape_, std::move(options))) {}

  void UseDecoder(std::unique_ptr<LineDecoder> decoder) { decoder_ = std::move(decoder); }

  LineOutcome Feed(const std::string& line, std::optional<std::string_view> key_line = std::nullopt) {
    buffer_.TruncateTo(0);
    const LineOutcome outcome = decoder_->Decode(line, key_line, &current_, &buffer_);
    if (outcome.fate == LineFate::kTruncate) {
      rows_.clear();
      current_.Clear();
    }
    current_.Add(buffer_, 0);
    for (int64_t i = 0; i < buffer_.rows(); ++i) {
      changes_.push_back(RowText(buffer_, i));
      std::string key;
      for (const int column : shape_.key_columns) buffer_.column(column).AppendKeyBytes(i, &key);
      if (shape_.key_columns.empty()) key = std::to_string(next_row_++);
      if (buffer_.kind(i) == RowKind::kDelete) {
        rows_.erase(key);
      } else if (buffer_.kind(i) != RowKind::kUpdateBefore) {
        std::map<std::string, std::string> row;
        for (size_t c = 0; c < shape_.fields.size(); ++c) {
          row[shape_.fields[c].name] = CellText(buffer_.column(static_cast<int>(c)), i);
        }
        rows_[key] = std::move(row);
      }
    }
    return outcome;
  }

  const std::map<std::string, std::map<std::string, std::string>>& rows() const { return rows_; }
  // The rows as "a=1|b=x", sorted.
  std::vector<std::string> Rows(const std::vector<std::string>& leave_out = {}) const {
    std::vector<std::string> texts;
    for (const auto& [key, row] : rows_) {
      std::string text;
      for (const auto& [name, value] : row) {
        if (std::find(leave_out.begin(), leave_out.end(), name) == leave_out.end())
          text += (text.empty() ? "" : "|") + name + "=" + value;
      }
      texts.push_back(std::move(text));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  const std::vector<std::string>& changes() const { return changes_; }
  const LineDecoder& decoder() const { return *decoder_; }

 private:
  TableShape shape_;
  RowBuffer buffer_;
  UncommittedRows current_;
  std::unique_ptr<LineDecoder> decoder_;
  std::map<std::string, std::map<std::string, std::string>> rows_;
  std::vector<std::string> changes_;
  int64_t next_row_ = 0;
};

inline std::string ReadFixture(const std::string& name) {
  const std::string path = std::string(HEADRACE_FIXTURES) + "/cdc/" + name;
  if (name.ends_with(".zst")) {
    auto codec = *arrow::util::Codec::Create(arrow::Compression::ZSTD);
    auto stream = *arrow::io::CompressedInputStream::Make(codec.get(), *arrow::io::ReadableFile::Open(path));
    std::string text;
    while (true) {
      const auto part = *stream->Read(1 << 20);
      if (part->size() == 0) return text;
      text += part->ToString();
    }
  }
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The rows of one table in an expected file, as MapTable::Rows writes them; columns in `leave_out` are not there.
inline std::vector<std::string> ExpectedRows(const std::string& fixture, const std::string& table,
                                             const std::vector<std::string>& leave_out = {}) {
  std::vector<std::string> rows;
  JsonTape tape;
  for (const std::string& line : LinesOf(ReadFixture(fixture))) {
    EXPECT_TRUE(tape.Parse(line)) << tape.error();
    if (FindMember(tape.root(), "table")->view() != table) continue;
    std::map<std::string, std::string> row;
    const JsonToken& object = *FindMember(tape.root(), "row");
    for (const JsonToken* name = object.begin(); name != object.end(); name = name[1].next()) {
      if (std::find(leave_out.begin(), leave_out.end(), name->view()) != leave_out.end()) continue;
      std::string text;
      if (name[1].kind == JsonKind::kString || name[1].kind == JsonKind::kNumber) {
        text = name[1].view();
        if (text.starts_with("\\x")) text.erase(0, 2);  // PostgreSQL's bytes
      } else {
        AppendJson(name[1], &text);
      }
      row[std::string(name->view())] = text;
    }
    std::string text;
    for (const auto& [name, value] : row) text += (text.empty() ? "" : "|") + name + "=" + value;
    rows.push_back(std::move(text));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace headrace::ingest
