// The answers of a step, "$new" and "$old", and their difference, written into the target.
//
// Both are temporary tables in the target's columns and types. What is written is exact: -D, +I, or -U and +U where a row is another one. Before
// that, what the target's primary key cannot hold is an error that shows the row: no value in the key, two rows of one key.
#pragma once

#include <string>

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// The statement that makes it.
std::string EmptyAnswer(const StageWork& work, const std::string& name);
Status EmptyAnswers(StageWork* work);
// The query over what the branch's sources stand for at the moment.
Status AddAnswer(StageWork* work, const std::string& name, const QueryBranch& branch);
// The query over the temporary tables `now i` and `then i`: to "$new" and "$old".
Status AddAnswers(StageWork* work, const QueryBranch& branch, const char* now, const char* then);

// `all_new`: "$old" is empty, and nothing need be compared or ordered.
Status WriteDifference(StageWork* work, bool all_new = false);
// The failure of a query's rows to fit the target, with the row that does not, where it can be told. `has_kind`: the query gives a kind behind its columns.
Status WithMisfit(StageWork* work, const std::string& text, bool has_kind, const Status& status);
// Rows that a query gives: the columns of the target, then the kind.
Status WriteRows(StageWork* work, const std::string& query);

// Sources that only grow (but for those that are looked up), row by row into a table with a key: of two rows of a key the later one counts.
bool AppendsOnly(const StageWork& work);

}  // namespace headrace::pipeline
