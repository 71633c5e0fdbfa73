// The parts of a query's answer that changes concern: the touched keys, and the rows of each source that have them, now and before.
//
// "$touched" has the keys; "$now i" and "$then i" the rows of the branch's i-th source at the ends of its range. By what keys: QueryBranch::keys.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

// " FROM …" of the rows of a table that have the primary keys of a query, at the end of its range, known by `name`; nothing where they are so many that
// a scan costs less.
Result<std::optional<std::string>> FindByPrimaryKey(StageWork* work, size_t table,
                                                    const std::string& keys_query, const std::string& name);

// "$touched", of the "$delta"s; false where nothing was.
Result<bool> FindTouched(StageWork* work, const QueryBranch& branch);
// "$now i" and "$then i". Of a source whose rows give their parts of the answer by themselves, `linear`: what came, and what went.
Status PutNowAndThen(StageWork* work, const QueryBranch& branch, size_t i, std::optional<size_t> linear);

}  // namespace headrace::pipeline
