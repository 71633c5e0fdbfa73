// The changes of one PostgreSQL table to rows of one table, as pgoutput sends them.
//
// An insert is +I; an update +U, after a -U when the whole old row came and the table wants it; an update that moves the key -D and +I; a
// delete -D. Values that PostgreSQL did not send again, because they are large and did not change, are taken from the old row, else from the
// table's current row. As other decoders: kApplied appended rows, every other fate nothing. The relation must be set first. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ingest/event.h"
#include "ingest/pgoutput_decoder.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

class PgoutputRows {
 public:
  explicit PgoutputRows(const TableShape* table);

  // What the tuples are of from here on. Columns of the table that it lacks are null from here on; columns that the table lacks are
  // refused when a row comes: whoever can adds them before.
  void SetRelation(const pgoutput::Relation& relation);

  LineOutcome Insert(const pgoutput::Insert& insert, RowBuffer* out);
  LineOutcome Update(const pgoutput::Update& update, CurrentRows* current, RowBuffer* out);
  LineOutcome Delete(const pgoutput::Delete& deleted, RowBuffer* out);

 private:
  static constexpr int kNowhere = -1;
  // Where a value that was not sent is to be taken from.
  struct Unsent {
    const pgoutput::Tuple* old_row = nullptr;
    const CurrentRows::Row* current = nullptr;
  };

  bool CheckTuple(const pgoutput::Tuple& tuple, LineOutcome* bad) const;
  bool AppendRow(const pgoutput::Tuple& tuple, const Unsent& unsent, RowKind kind, RowBuffer* out,
                 LineOutcome* bad);
  bool AppendCell(int column, const pgoutput::Tuple& tuple, const Unsent& unsent, RowBuffer* out,
                  LineOutcome* bad);
  bool AppendDelete(const pgoutput::Tuple& tuple, bool whole, RowBuffer* out, LineOutcome* bad);
  bool KeyMoved(const pgoutput::Update& update) const;
  bool HasUnsent(const pgoutput::Update& update) const;
  Result<std::optional<CurrentRows::Row>> FindCurrent(const pgoutput::Update& update, CurrentRows* current,
                                                      LineOutcome* bad);

  const TableShape* table_;
  size_t relation_columns_ = 0;
  std::vector<int> from_;     // by the table's column: the relation's, or kNowhere
  std::string not_in_table_;  // the relation's first column that the table lacks
  RowBuffer key_row_;
};

}  // namespace headrace::ingest
