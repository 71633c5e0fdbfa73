// Which files of a split a scan with conditions leaves out by the statistics of their values.
//
// A file that is read as it is: where no row may meet the conditions. A file that is merged: where besides nothing that stays may hold an older row of
// one of its keys, which would be shown in the place of the one left out; so of tables alone whose newest row of a key is the row that is shown.
// Pure, but for reading the schemas of older files; any thread.
#pragma once

#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "read/pruning.h"
#include "read/scan.h"

namespace headrace {

// Splits that hold nothing any more are taken out. Of a table without a primary key FilePruner::MayHold has decided already: nothing is done.
Status PruneSplits(const FilePruner& pruner, const Table& table, std::vector<Split>* splits);

}  // namespace headrace
