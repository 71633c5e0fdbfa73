// What became of a source table between two snapshots: the changes as its changelog tells them, and the rows that went and came in sum.
//
// The changes of snapshots [from, to] lead from the state at from-1 to that at `to`, both as a stream shows them. Where the changelog need not tell
// the rows before (producers `none` and `input` hold what was written), the rows of the touched keys are looked up at both states, so that the sum
// is right whatever was written. Reads the store, keeps nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "sql/relation.h"

namespace headrace {
class LookupCache;  // lsm/lookup_cache.h
}

namespace headrace::pipeline {

struct SourceRange {
  int64_t from = 1;          // the first snapshot whose changes count
  int64_t to = 0;            // the last; before `from`: nothing is new
  bool overwritten = false;  // a snapshot among them is an OVERWRITE, whose changes no stream shows
  int64_t rows = 0;          // that changed, about

  bool empty() const { return to < from; }
};

// From `next` on, as many snapshots as hold `most_rows` changed rows, at least one if there is one, and up to one whose state can be read.
// kSnapshotExpired when `next` is gone.
Result<SourceRange> FindRange(const Table& table, int64_t next, int64_t most_rows);

// Whether the rows before and after a change are to be looked up.
bool NeedsLookups(const Table& table);

// The snapshot with the state that changes from `from` on begin with; nothing: the table was empty. kSnapshotExpired when it is gone.
Result<std::optional<Snapshot>> StateBefore(const Table& table, int64_t from);

// The changes of the range in their order: the table's columns, then kChangeKindColumn (int8).
std::shared_ptr<Relation> ChangesOf(const Table& table, const SourceRange& range);

// Whether a lookup by key at the snapshot finds what a stream has shown by then.
Result<bool> CanLookUp(const Table& table, const std::optional<Snapshot>& snapshot);

// The rows of these primary keys at a snapshot: batches of the table's columns. `keys` has the key columns in their order, in any types of their values.
Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> RowsOfKeys(
    const Table& table, const std::optional<Snapshot>& snapshot,
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& keys, LookupCache* cache);

}  // namespace headrace::pipeline
