#include "ingest/uncommitted_rows.h"

namespace headrace::ingest {

UncommittedRows::UncommittedRows(const TableShape* table, FindCommitted find_committed)
    : table_(table), find_committed_(std::move(find_committed)), rows_(table->fields) {}

std::string UncommittedRows::KeyOf(const RowBuffer& rows, int64_t row) const {
  std::string key;
  for (const int column : table_->key_columns) rows.column(column).AppendKeyBytes(row, &key);
  return key;
}

Result<int64_t> UncommittedRows::FetchCommitted(const RowBuffer& key_rows, int64_t key_row) {
  std::vector<Value> key;
  for (const int column : table_->key_columns) key.push_back(key_rows.column(column).ValueAt(key_row));
  HEADRACE_ASSIGN_OR_RETURN(const bool found, find_committed_(key, &rows_));
  return found ? rows_.rows() - 1 : kNone;
}

Result<std::optional<CurrentRows::Row>> UncommittedRows::Find(const RowBuffer& key_rows, int64_t key_row,
                                                              bool before_delete) {
  std::string key = KeyOf(key_rows, key_row);
  auto [found, fresh] = entries_.try_emplace(std::move(key));
  if (fresh) key_bytes_ += static_cast<int64_t>(found->first.size() + sizeof(Entry));
  Entry& entry = found->second;
  int64_t& row = before_delete ? entry.before_delete : entry.row;
  if (row == kCommitted) {
    HEADRACE_ASSIGN_OR_RETURN(row, FetchCommitted(key_rows, key_row));
  }
  if (row == kNone) return std::nullopt;
  return Row{&rows_, row};
}

void UncommittedRows::Add(const RowBuffer& rows, int64_t from) {
  for (int64_t i = from; i < rows.rows(); ++i) {
    const RowKind kind = rows.kind(i);
    if (kind == RowKind::kUpdateBefore) continue;
    auto [found, fresh] = entries_.try_emplace(KeyOf(rows, i));
    if (fresh) key_bytes_ += static_cast<int64_t>(found->first.size() + sizeof(Entry));
    Entry& entry = found->second;
    if (kind == RowKind::kDelete) {
      entry.before_delete = entry.row;
      entry.row = kNone;
    } else {
      rows_.AppendRowFrom(rows, i, RowKind::kInsert);
      entry.row = rows_.rows() - 1;
    }
  }
}

void UncommittedRows::Clear() {
  rows_.TruncateTo(0);
  entries_.clear();
  key_bytes_ = 0;
}

}  // namespace headrace::ingest
