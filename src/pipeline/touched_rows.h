// The parts of a query's answer that changes concern: the touched keys, and the rows of each source that have them, now and before.
//
// "$touched" has the keys; "$now i" and "$then i" the rows of the branch's i-th source at the ends of its range. By what keys: QueryBranch::keys.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"
#include "pipeline/stage_work.h"
#include "read/pruning.h"

namespace headrace::pipeline {

// " FROM …" of the rows of a table that have the primary keys of a query, at the end of its range, known by `name`; nothing where they are so many that
// a scan costs less.
Result<std::optional<std::string>> FindByPrimaryKey(StageWork* work, size_t table,
                                                    const std::string& keys_query, const std::string& name);

// " FROM …" of the branch's i-th source at the end of its range, without files and pages that have no rows of the keys in a temporary table ("$touched"), or none that meet
// the condition. Others may be there.
Result<std::string> PutPart(StageWork* work, const std::string& keys, const QueryBranch& branch, size_t i,
                            const std::optional<RowCondition>& also = std::nullopt);

// "$touched", of the "$delta"s; false where nothing was.
Result<bool> FindTouched(StageWork* work, const QueryBranch& branch);
// "$now i" and "$then i". Of a source whose rows give their parts of the answer by themselves, and of keys that no other source touched: what came, and what
// went; "$shared" has the other keys then.
Status PutNowAndThen(StageWork* work, const QueryBranch& branch, size_t i);

}  // namespace headrace::pipeline
