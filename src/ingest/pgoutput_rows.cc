#include "ingest/pgoutput_rows.h"

#include "ingest/postgres_values.h"

namespace headrace::ingest {

using pgoutput::Cell;
using pgoutput::CellKind;
using pgoutput::OldTuple;
using pgoutput::Tuple;

PgoutputRows::PgoutputRows(const TableShape* table)
    : table_(table), from_(table->fields.size(), kNowhere), key_row_(table->fields) {}

void PgoutputRows::SetRelation(const pgoutput::Relation& relation) {
  relation_columns_ = relation.columns.size();
  from_.assign(table_->fields.size(), kNowhere);
  not_in_table_.clear();
  for (size_t i = 0; i < relation.columns.size(); ++i) {
    bool found = false;
    for (size_t c = 0; c < table_->fields.size() && !found; ++c) {
      found = table_->fields[c].name == relation.columns[i].name;
      if (found) from_[c] = static_cast<int>(i);
    }
    if (!found && not_in_table_.empty()) not_in_table_ = relation.columns[i].name;
  }
}

bool PgoutputRows::CheckTuple(const Tuple& tuple, LineOutcome* bad) const {
  if (tuple.size() != relation_columns_) {
    *bad = LineOutcome::Bad("", "it has " + std::to_string(tuple.size()) + " values, its relation has " +
                                    std::to_string(relation_columns_) + " columns");
    return false;
  }
  if (!not_in_table_.empty()) {
    *bad = LineOutcome::Bad(not_in_table_, "is no column of the table");
    return false;
  }
  return true;
}

bool PgoutputRows::AppendCell(int column, const Tuple& tuple, const Unsent& unsent, RowBuffer* out,
                              LineOutcome* bad) {
  const DataField& field = table_->fields[column];
  ColumnBuffer& cells = out->column(column);
  Cell cell;
  if (from_[column] != kNowhere) cell = tuple[from_[column]];
  if (cell.kind == CellKind::kUnchanged && unsent.old_row != nullptr) cell = (*unsent.old_row)[from_[column]];
  if (cell.kind == CellKind::kUnchanged && unsent.current != nullptr) {
    cells.AppendFrom(unsent.current->rows->column(column), unsent.current->row);
    return true;
  }
  std::string why;
  switch (cell.kind) {
    case CellKind::kText:
      if (AppendPostgresText(cell.text, &cells, &why)) return true;
      *bad = LineOutcome::Bad(field.name, std::move(why));
      return false;
    case CellKind::kNull:
      if (field.type.nullable) {
        cells.AppendNull();
        return true;
      }
      *bad = LineOutcome::Bad(field.name, from_[column] == kNowhere
                                              ? "is NOT NULL, but PostgreSQL's table has no such column"
                                              : "is null, the column is NOT NULL");
      return false;
    case CellKind::kUnchanged: break;
  }
  *bad = LineOutcome::Bad(
      field.name, "was not sent again because it did not change, and the table has no row with this key");
  return false;
}

bool PgoutputRows::AppendRow(const Tuple& tuple, const Unsent& unsent, RowKind kind, RowBuffer* out,
                             LineOutcome* bad) {
  for (int c = 0; c < out->num_columns(); ++c) {
    if (!AppendCell(c, tuple, unsent, out, bad)) return false;
  }
  out->CloseRow(kind);
  return true;
}

// Only the key counts: what else was sent is taken where it fits.
bool PgoutputRows::AppendDelete(const Tuple& tuple, bool whole, RowBuffer* out, LineOutcome* bad) {
  const int64_t before = out->rows();
  for (int c = 0; c < out->num_columns(); ++c) {
    ColumnBuffer& cells = out->column(c);
    if (table_->is_key(c) || whole) {
      if (AppendCell(c, tuple, {}, out, bad)) continue;
      if (table_->is_key(c)) {
        if (!whole) bad->reason += "; of the old row only the replica identity was sent";
        return false;
      }
      cells.TruncateTo(before);
    }
    if (table_->fields[c].type.nullable) {
      cells.AppendNull();
    } else {
      cells.AppendZero();
    }
  }
  out->CloseRow(RowKind::kDelete);
  return true;
}

LineOutcome PgoutputRows::Insert(const pgoutput::Insert& insert, RowBuffer* out) {
  const int64_t before = out->rows();
  LineOutcome bad;
  if (!CheckTuple(insert.row, &bad)) return bad;
  if (AppendRow(insert.row, {}, RowKind::kInsert, out, &bad)) return LineOutcome::Applied();
  out->TruncateTo(before);
  return bad;
}

LineOutcome PgoutputRows::Delete(const pgoutput::Delete& deleted, RowBuffer* out) {
  if (table_->key_columns.empty())
    return LineOutcome::Bad("", "it deletes a row, and the table has no primary key to find it by");
  const int64_t before = out->rows();
  LineOutcome bad;
  if (!CheckTuple(deleted.old_row, &bad)) return bad;
  if (AppendDelete(deleted.old_row, deleted.old_kind == OldTuple::kWhole, out, &bad))
    return LineOutcome::Applied();
  out->TruncateTo(before);
  return bad;
}

bool PgoutputRows::KeyMoved(const pgoutput::Update& update) const {
  if (update.old_kind == OldTuple::kNone) return false;
  for (const int column : table_->key_columns) {
    if (from_[column] == kNowhere) continue;
    const Cell& old_cell = update.old_row[from_[column]];
    const Cell& cell = update.row[from_[column]];
    if (cell.kind != CellKind::kUnchanged && (cell.kind != old_cell.kind || cell.text != old_cell.text))
      return true;
  }
  return false;
}

// A value that neither the new row nor a whole old row has.
bool PgoutputRows::HasUnsent(const pgoutput::Update& update) const {
  for (size_t c = 0; c < from_.size(); ++c) {
    if (from_[c] == kNowhere || update.row[from_[c]].kind != CellKind::kUnchanged) continue;
    if (update.old_kind == OldTuple::kWhole) continue;
    // A key's old value is in the old key.
    if (update.old_kind == OldTuple::kKey && table_->is_key(static_cast<int>(c))) continue;
    return true;
  }
  return false;
}

Result<std::optional<CurrentRows::Row>> PgoutputRows::FindCurrent(const pgoutput::Update& update,
                                                                  CurrentRows* current, LineOutcome* bad) {
  key_row_.TruncateTo(0);
  const Tuple& key = update.old_kind == OldTuple::kKey ? update.old_row : update.row;
  for (int c = 0; c < key_row_.num_columns(); ++c) {
    if (!table_->is_key(c)) {
      key_row_.column(c).AppendNull();
    } else if (!AppendCell(c, key, {}, &key_row_, bad)) {
      key_row_.TruncateTo(0);
      return std::optional<CurrentRows::Row>();
    }
  }
  key_row_.CloseRow(RowKind::kInsert);
  return current->Find(key_row_, 0, /*before_delete=*/false);
}

LineOutcome PgoutputRows::Update(const pgoutput::Update& update, CurrentRows* current, RowBuffer* out) {
  if (table_->key_columns.empty())
    return LineOutcome::Bad("", "it updates a row, and the table has no primary key to find it by");
  const int64_t before = out->rows();
  const bool whole = update.old_kind == OldTuple::kWhole;
  LineOutcome bad;
  if (!CheckTuple(update.row, &bad)) return bad;
  if (update.old_kind != OldTuple::kNone && !CheckTuple(update.old_row, &bad)) return bad;

  Unsent unsent;
  if (update.old_kind != OldTuple::kNone) unsent.old_row = &update.old_row;
  std::optional<CurrentRows::Row> row;
  if (HasUnsent(update)) {
    if (current == nullptr) {
      LineOutcome needs;
      needs.fate = LineFate::kNeedsRows;
      return needs;
    }
    unsent.old_row = nullptr;
    Result<std::optional<CurrentRows::Row>> found = FindCurrent(update, current, &bad);
    if (!found.ok()) return LineOutcome::Bad("", found.status().message());
    row = *found;
    if (row) unsent.current = &*row;
  }
  bool taken = true;
  const bool moved = KeyMoved(update);
  if (moved) {
    taken = AppendDelete(update.old_row, whole, out, &bad);
  } else if (whole && table_->keep_update_before) {
    taken = AppendRow(update.old_row, {}, RowKind::kUpdateBefore, out, &bad);
  }
  taken = taken && AppendRow(update.row, unsent, moved ? RowKind::kInsert : RowKind::kUpdateAfter, out, &bad);
  if (taken) return LineOutcome::Applied();
  out->TruncateTo(before);
  return bad;
}

}  // namespace headrace::ingest
