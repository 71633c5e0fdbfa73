// The newest version of every key written since the last commit, and below it the committed table.
//
// Kept only once an event asked for a row that it does not send. Invariant: after Add of every applied row in order, Find answers as a
// reader would after a commit now; `before_delete` answers with the row that the key's newest delete removed. Grows with what is
// uncommitted: the caller commits and clears when byte_size() passes its bound. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/event.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

class UncommittedRows final : public CurrentRows {
 public:
  // Appends the committed row of a primary key (values in key order) to `into`; false when there is none.
  using FindCommitted = std::function<Result<bool>(const std::vector<Value>& key, RowBuffer* into)>;

  UncommittedRows(const TableShape* table, FindCommitted find_committed);

  Result<std::optional<Row>> Find(const RowBuffer& key_rows, int64_t key_row, bool before_delete) override;

  // Rows `from` … of `rows` were applied.
  void Add(const RowBuffer& rows, int64_t from);
  // All of it is committed now.
  void Clear();
  int64_t byte_size() const { return rows_.byte_size() + key_bytes_; }

 private:
  static constexpr int64_t kNone = -1;       // no row
  static constexpr int64_t kCommitted = -2;  // whatever the committed table has
  struct Entry {
    int64_t row = kCommitted;
    int64_t before_delete = kCommitted;
  };
  std::string KeyOf(const RowBuffer& rows, int64_t row) const;
  Result<int64_t> FetchCommitted(const RowBuffer& key_rows, int64_t key_row);

  const TableShape* table_;
  FindCommitted find_committed_;
  RowBuffer rows_;
  std::unordered_map<std::string, Entry> entries_;
  int64_t key_bytes_ = 0;
};

}  // namespace headrace::ingest
