// A table's changelog against the table: the changes are replayed on the state they begin with, key by key, and must end in the state that
// a follower of the table is told.
//
// Rows are compared by digests of 128 bits. What is held is a digest a key within `memory_bytes`: larger tables are replayed in several
// passes, each over a share of the keys. A table whose changelog does not promise its state (no producer; raw input that a merge engine
// or a sequence field turns into something else) gets a note instead. One thread.
#pragma once

#include <cstdint>

#include "maintain/check_run.h"

namespace headrace {

// Up to snapshot `options.snapshot` of the run, or the latest. Precondition: root.usable.
void CheckChangelog(CheckRun* run, const Root& root, int64_t memory_bytes);

}  // namespace headrace
