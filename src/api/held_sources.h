// What a job of continuous SQL holds back in the tables that it reads: its consumers, by which expiry waits for it.
//
// They are looked for in every table of the warehouse. A failure may leave some of them; ending them again does no harm. Any thread.
#pragma once

#include <string>

#include "base/error.h"
#include "catalog/table.h"

namespace headrace {

// Whether a stage of a pipeline that writes the table ("db.table") would have the job: NAME.db.table, or NAME.db.table.N.
bool IsStageOf(const std::string& job, const std::string& table);

// Ends the consumers of a job in all tables of the target's warehouse, whatever the job's position says: it may never have had one. Whether there were any.
Result<bool> ReleaseHeldSources(const Table& target, const std::string& job);

}  // namespace headrace
