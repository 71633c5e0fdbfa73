// Lookup joins: each change of the first source is joined with the other tables as they stand at the step's snapshots of them.
//
// Their own changes change nothing, so what the target holds is no longer what the query would answer: a row that was written is taken back as it is in
// the target, found by the target's primary key, which the first source's row tells alone. Changes of a table without primary key go through in their order.
#pragma once

#include <string>

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// For the first source as it stands for at the moment: the rows of the others that it looks up.
Status PutLookedUp(StageWork* work, const QueryBranch& branch);
// The answer to rows of the first source, which has no primary key, written in their order. `rows`: behind SELECT *, to which it adds kChangeKindColumn
// if need be.
Status WriteInOrder(StageWork* work, const QueryBranch& branch, const std::string& rows);

// "state i" is each source at the end of its range.
Status AnswerByLookups(StageWork* work);

}  // namespace headrace::pipeline
