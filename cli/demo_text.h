// Rows as the demos show them: JSON lines behind an indent.
//
// The text is what `--format jsonl` prints, so that a user finds it again in the commands' output. Plain functions.
#pragma once

#include <string>

#include <arrow/type_fwd.h>

#include "headrace/error.h"

namespace headrace::cli {

// JSON lines of a batch, each behind `indent`.
Result<std::string> TextOf(const arrow::RecordBatch& batch, const std::string& indent);

}  // namespace headrace::cli
