// How far a reader of a table's changes is behind the table.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "catalog/table.h"

namespace headrace {

struct SourceLag {
  std::optional<int64_t> latest;  // the table's newest snapshot
  int64_t snapshots = 0;          // that are not read yet
  // Changes in them, as they tell: rows of changelogs, else rows that were written. Of more than 64 snapshots those of the first 64.
  int64_t rows = 0;
  std::optional<int64_t>
      since_ms;  // when the first of them was made; nothing: there is none, or it has expired
};

// `next`: the first snapshot that is not read.
Result<SourceLag> LagBehind(const Table& table, int64_t next);

}  // namespace headrace
