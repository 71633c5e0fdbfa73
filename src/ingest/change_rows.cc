#include "ingest/change_rows.h"

#include <algorithm>
#include <utility>

namespace headrace::ingest {
namespace {

constexpr int64_t kNoOldRow = -1;

std::string PathOf(const std::string& place, const std::string& field) {
  if (place.empty() || field.empty()) return place + field;
  return place + "." + field;
}

LineOutcome BadField(const std::string& place, FieldProblem problem) {
  return LineOutcome::Bad(PathOf(place, problem.field), std::move(problem.reason));
}

std::string KeyBytes(const RowBuffer& rows, const std::vector<int>& key_columns, int64_t row) {
  std::string key;
  for (const int column : key_columns) rows.column(column).AppendKeyBytes(row, &key);
  return key;
}

void CopyCell(int64_t row, int column, RowBuffer* rows) {
  ColumnBuffer copy(rows->column(column).type());
  copy.AppendFrom(rows->column(column), row);
  rows->column(column).AppendFrom(copy, 0);
}

constexpr std::string_view kNowhere =
    "was not sent by the source because it did not change, and the table has no row of that key to take it "
    "from";

}  // namespace

const JsonToken* FindInImage(std::span<const ImageField> image, std::string_view name) {
  for (const ImageField& field : image) {
    if (field.name == name) return field.value;
  }
  return nullptr;
}

RowImage ImageOf(const JsonToken& object) {
  RowImage image;
  image.reserve(object.length);
  for (const JsonToken* name = object.begin(); name != object.end(); name = name[1].next())
    image.push_back({name->view(), name + 1});
  return image;
}

RowImage Overlaid(const RowImage& image, const JsonToken& changed) {
  RowImage overlaid = image;
  for (const JsonToken* name = changed.begin(); name != changed.end(); name = name[1].next()) {
    const auto same = std::find_if(overlaid.begin(), overlaid.end(),
                                   [&](const ImageField& field) { return field.name == name->view(); });
    if (same != overlaid.end()) {
      same->value = name + 1;
    } else {
      overlaid.push_back({name->view(), name + 1});
    }
  }
  return overlaid;
}

bool ChangeRows::HasKey(const RowImage& image) const {
  return std::all_of(table_->key_columns.begin(), table_->key_columns.end(), [&](int column) {
    const JsonToken* value = FindInImage(image, table_->fields[column].name);
    return value != nullptr && !value->is_null();
  });
}

// By what came: equal keys written differently are told as delete and insert, which is the same row in the end.
bool ChangeRows::SameKey(const RowChange& change) const {
  return std::all_of(table_->key_columns.begin(), table_->key_columns.end(), [&](int column) {
    const JsonToken* old_value = FindInImage(change.before, table_->fields[column].name);
    const JsonToken* new_value = FindInImage(change.after, table_->fields[column].name);
    return new_value != nullptr && old_value->kind == new_value->kind &&
           old_value->view() == new_value->view();
  });
}

void ChangeRows::BeginLine(int64_t rows) {
  next_to_index_ = rows;
  rows_of_line_.clear();
}

// The newest row of that key that this line put down before `key_row`.
std::optional<int64_t> ChangeRows::FindInLine(const RowBuffer& rows, int64_t key_row) {
  for (; next_to_index_ < key_row; ++next_to_index_)
    rows_of_line_[KeyBytes(rows, table_->key_columns, next_to_index_)] = next_to_index_;
  const auto found = rows_of_line_.find(KeyBytes(rows, table_->key_columns, key_row));
  if (found == rows_of_line_.end()) return std::nullopt;
  return found->second;
}

LineOutcome ChangeRows::Append(const RowChange& change, CurrentRows* current, RowBuffer* out) {
  if (change.op == RowChange::Op::kInsert) {
    FieldProblem problem;
    if (!rows_.Append(change.after, shapes_, RowReader::Strictness::kWhole, out, nullptr, &problem))
      return BadField(change.after_place, std::move(problem));
    out->CloseRow(RowKind::kInsert);
    return LineOutcome::Applied();
  }
  if (table_->key_columns.empty()) {
    return LineOutcome::Bad("", std::string("is ") +
                                    (change.op == RowChange::Op::kUpdate ? "an update" : "a delete") +
                                    ", but the table has no primary key: rows can be inserted alone");
  }
  if (change.op == RowChange::Op::kUpdate) return Update(change, current, out);
  FieldProblem problem;
  if (!rows_.Append(change.before, shapes_, RowReader::Strictness::kKeyOnly, out, nullptr, &problem))
    return BadField(change.before_place, std::move(problem));
  out->CloseRow(RowKind::kDelete);
  return LineOutcome::Applied();
}

LineOutcome ChangeRows::Update(const RowChange& change, CurrentRows* current, RowBuffer* out) {
  if (!HasKey(change.before)) return AppendAfter(change, RowKind::kUpdateAfter, kNoOldRow, current, out);
  const bool same_key = SameKey(change);
  const bool with_before = same_key && table_->keep_update_before && change.before_whole;
  const bool lacks_some = change.omits_unchanged && change.after.size() < table_->fields.size();
  if (same_key && !with_before && !lacks_some)
    return AppendAfter(change, RowKind::kUpdateAfter, kNoOldRow, current, out);
  // Also an old row that is not to be told of is put down, for the values that the new one may take from it.
  const int64_t old_row = out->rows();
  FieldProblem problem;
  const auto strictness = with_before ? RowReader::Strictness::kWhole : RowReader::Strictness::kKeyOnly;
  if (!rows_.Append(change.before, shapes_, strictness, out, nullptr, &problem))
    return BadField(change.before_place, std::move(problem));
  out->CloseRow(same_key ? RowKind::kUpdateBefore : RowKind::kDelete);
  LineOutcome outcome =
      AppendAfter(change, same_key ? RowKind::kUpdateAfter : RowKind::kInsert, old_row, current, out);
  if (outcome.fate != LineFate::kApplied || !same_key || with_before) return outcome;
  RowBuffer row(table_->fields);
  row.AppendRowFrom(*out, old_row + 1, RowKind::kUpdateAfter);
  out->TruncateTo(old_row);
  out->AppendRowFrom(row, 0, RowKind::kUpdateAfter);
  return outcome;
}

LineOutcome ChangeRows::AppendAfter(const RowChange& change, RowKind kind, int64_t old_row,
                                    CurrentRows* current, RowBuffer* out) {
  FieldProblem problem;
  missing_.clear();
  if (!rows_.Append(change.after, shapes_, RowReader::Strictness::kWhole, out,
                    change.omits_unchanged ? &missing_ : nullptr, &problem)) {
    return BadField(change.after_place, std::move(problem));
  }
  if (!missing_.empty()) {
    LineOutcome filled = FillMissing(change, old_row, current, out);
    if (filled.fate != LineFate::kApplied) return filled;
  }
  out->CloseRow(kind);
  return LineOutcome::Applied();
}

LineOutcome ChangeRows::FillMissing(const RowChange& change, int64_t old_row, CurrentRows* current,
                                    RowBuffer* out) {
  std::optional<CurrentRows::Row> found;
  const int64_t key_row = old_row == kNoOldRow ? out->rows() : old_row;
  for (const int column : missing_) {
    const std::string& name = table_->fields[column].name;
    const std::string place = PathOf(change.after_place, name);
    if (table_->is_key(column))
      return LineOutcome::Bad(place, "was not sent by the source, though it is part of the key");
    if (old_row != kNoOldRow && FindInImage(change.before, name) != nullptr) {
      CopyCell(old_row, column, out);
      continue;
    }
    if (const std::optional<int64_t> earlier = FindInLine(*out, key_row)) {
      if (out->kind(*earlier) == RowKind::kDelete) return LineOutcome::Bad(place, std::string(kNowhere));
      CopyCell(*earlier, column, out);
      continue;
    }
    if (current == nullptr) {
      LineOutcome needs;
      needs.fate = LineFate::kNeedsRows;
      return needs;
    }
    if (!found) {
      Result<std::optional<CurrentRows::Row>> answer = current->Find(*out, key_row, false);
      if (!answer.ok()) {
        return LineOutcome::Bad(
            place, "was not sent by the source, and looking it up failed: " + answer.status().ToString());
      }
      found = *answer;
    }
    if (!found) return LineOutcome::Bad(place, std::string(kNowhere));
    out->column(column).AppendFrom(found->rows->column(column), found->row);
  }
  return LineOutcome::Applied();
}

}  // namespace headrace::ingest
