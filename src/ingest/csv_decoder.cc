#include "ingest/csv_decoder.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/json_lines_decoder.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

bool SplitCsvRecord(std::string_view record, char delimiter, std::vector<CsvField>* fields,
                    std::string* why) {
  if (record.ends_with('\r')) record.remove_suffix(1);
  size_t used = 0;
  size_t i = 0;
  while (true) {
    if (used == fields->size()) fields->emplace_back();
    CsvField& field = (*fields)[used++];
    field.text.clear();
    field.quoted = i < record.size() && record[i] == '"';
    if (field.quoted) {
      bool closed = false;
      for (++i; i < record.size() && !closed;) {
        if (record[i] != '"') {
          field.text.push_back(record[i++]);
        } else if (i + 1 < record.size() && record[i + 1] == '"') {
          field.text.push_back('"');
          i += 2;
        } else {
          closed = true;
          ++i;
        }
      }
      if (!closed || (i < record.size() && record[i] != delimiter)) {
        *why = closed ? "text follows the quote that ends a field" : "a quoted field does not end";
        return false;
      }
    } else {
      const size_t end = std::min(record.find(delimiter, i), record.size());
      field.text = record.substr(i, end - i);
      i = end;
    }
    if (i >= record.size()) break;
    ++i;  // the delimiter; a record may end with one: then its last field is empty
  }
  fields->resize(used);
  return true;
}

CsvDecoder::CsvDecoder(TableShape table, CsvOptions options)
    : table_(std::move(table)), options_([&] {
        CsvOptions own = std::move(options);
        if (own.modes.binary == BinaryMode::kUnsaid) own.modes.binary = BinaryMode::kHex;
        return own;
      }()) {}

LineOutcome CsvDecoder::ReadHeader(std::string_view record) {
  if (record.starts_with(kByteOrderMark)) record.remove_prefix(kByteOrderMark.size());
  std::string why;
  if (!IsUtf8(record)) return LineOutcome::Bad("header", "not UTF-8");
  if (!SplitCsvRecord(record, options_.delimiter, &fields_, &why)) return LineOutcome::Bad("header", why);
  columns_.clear();
  names_.clear();
  kind_field_ = -1;
  for (const CsvField& field : fields_) {
    int column = -1;
    for (size_t i = 0; i < table_.fields.size(); ++i) {
      if (table_.fields[i].name == field.text) column = static_cast<int>(i);
    }
    if (!options_.kind_column.empty() && field.text == options_.kind_column) {
      kind_field_ = static_cast<int>(columns_.size());
      if (column < 0) column = kKindColumn;
    }
    if (column == -1)
      return LineOutcome::Bad("header", "names '" + field.text + "', which is no column of the table");
    if (std::find(columns_.begin(), columns_.end(), column) != columns_.end()) {
      return LineOutcome::Bad("header", "names '" + field.text + "' twice");
    }
    columns_.push_back(column);
    names_.push_back(field.text);
  }
  if (!options_.kind_column.empty() && kind_field_ < 0)
    return LineOutcome::Bad("header", "does not name the kind column '" + options_.kind_column + "'");
  return LineOutcome::Ignored("header");
}

LineOutcome CsvDecoder::AppendField(const CsvField& field, int column, bool key_only, RowBuffer* out) {
  ColumnBuffer& cells = out->column(column);
  const int64_t row = out->rows();
  const bool null = !field.quoted &&
                    (field.text.empty() || (!options_.null_text.empty() && field.text == options_.null_text));
  std::string why = "is null, but the column is NOT NULL";
  if (null && cells.type().nullable) {
    cells.AppendNull();
  } else if (null || !AppendTextValue(field.text, options_.modes, &cells, &why)) {
    if (!key_only || table_.is_key(column))
      return LineOutcome::Bad(table_.fields[column].name, std::move(why));
    cells.TruncateTo(row);
    cells.type().nullable ? cells.AppendNull() : cells.AppendZero();
  }
  return LineOutcome::Applied();
}

LineOutcome CsvDecoder::Decode(std::string_view record, std::optional<std::string_view>, CurrentRows*,
                               RowBuffer* out) {
  if (record.empty() || record == "\r") return LineOutcome::Ignored("blank line");
  std::string why;
  if (!IsUtf8(record)) return LineOutcome::Bad("", "not UTF-8");
  if (!SplitCsvRecord(record, options_.delimiter, &fields_, &why))
    return LineOutcome::Bad("", "not CSV: " + why);
  if (fields_.size() != columns_.size()) {
    return LineOutcome::Bad("", "has " + std::to_string(fields_.size()) + " fields, the header has " +
                                    std::to_string(columns_.size()));
  }
  std::optional<RowKind> kind = RowKind::kInsert;
  if (kind_field_ >= 0) {
    kind = ParseRowKind(fields_[kind_field_].text);
    if (!kind)
      return LineOutcome::Bad(options_.kind_column,
                              "is '" + fields_[kind_field_].text + "', one of +I, -U, +U, -D is wanted");
  }
  std::string wrong = WrongKind(*kind, table_);
  if (!wrong.empty()) return LineOutcome::Bad(options_.kind_column, std::move(wrong));

  const int64_t before = out->rows();
  const bool key_only = *kind == RowKind::kDelete;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (columns_[i] == kKindColumn) continue;
    LineOutcome outcome = AppendField(fields_[i], columns_[i], key_only, out);
    if (outcome.fate == LineFate::kApplied) continue;
    out->TruncateTo(before);
    return outcome;
  }
  for (size_t column = 0; column < table_.fields.size(); ++column) {
    ColumnBuffer& cells = out->column(static_cast<int>(column));
    if (cells.size() > before) continue;
    if (!cells.type().nullable && !(key_only && !table_.is_key(static_cast<int>(column)))) {
      out->TruncateTo(before);
      return LineOutcome::Bad(table_.fields[column].name, "is missing, but the column is NOT NULL");
    }
    cells.type().nullable ? cells.AppendNull() : cells.AppendZero();
  }
  out->CloseRow(*kind);
  return LineOutcome::Applied();
}

}  // namespace headrace::ingest
