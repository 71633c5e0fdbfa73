// Whether a table is still the one that was opened: dropped and made anew under the same name it is another, and what was prepared for the first
// does not belong there: kNotFound, whether there is another now or none. Not a conflict, since trying again can never help. Reads one schema
// file. Thread-safe.
#pragma once

#include "base/error.h"
#include "catalog/table.h"

namespace headrace {

Status CheckSameTable(const Table& table);

}  // namespace headrace
