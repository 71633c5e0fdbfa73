// The sources of a stage: what each has that the target does not, the state of each at the ends of a step, and what a stage holds of it against expiry.
//
// All of it is about `work->sources`; nothing here moves a position. Errors about what has expired, or is another table now, name --rebuild.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/snapshot.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// Opens the plan's tables, each at its first snapshot.
Status OpenSources(StageWork* work);
// Rows of the source may read otherwise than they did although no change tells so: where a name is another column's now.
Status CheckSameColumns(const StageWork& work, const Table& source, SchemaId was);
// Expiry waits for the state that the next step begins with; until there is a position, for all that there is.
Status HoldSources(StageWork* work);
Status ReleaseSources(const StageWork& work);
// Of tables that are sources no more; those that are gone hold nothing.
Status ReleaseTables(const StageWork& work, const std::vector<std::string>& tables);

// The ranges of the step at hand. Whether any has changes. That of a table that is looked up goes to its newest snapshot then.
Result<bool> FindRanges(StageWork* work);
bool Overwritten(const StageWork& work);
// " with shop.orders snapshots 5 to 7": the input of a step that failed.
std::string RangesText(const StageWork& work);

// "state i": the i-th source at the end of its range.
Status ReadState(StageWork* work, size_t i);
// The state that the range begins with.
Result<std::optional<Snapshot>> ReadStateBefore(const StageWork& work, const StageSource& source);
// "$delta i": the rows of the source that went and came.
Status SumChanges(StageWork* work, size_t i);

// Whether the branch's i-th source has changes, and its rows give their parts of the answer by themselves: a key that it alone touched asks for no other
// rows of it than those that came and went.
bool GivesAlone(const StageWork& work, const QueryBranch& branch, size_t i);
// Whether another one of the branch's sources has changes.
bool OthersChanged(const StageWork& work, const QueryBranch& branch, size_t i);

}  // namespace headrace::pipeline
