// The error that what rows of one key make together does not fit its column: a sum, a product.
//
// To the outside it is kInvalid. Inside it can be told from other errors, because it is about one key of one bucket: a flush puts the key's rows
// aside (pieces.h), a compaction leaves its bucket alone, and neither stops the rest. Pure functions.
#pragma once

#include <string>

#include "base/error.h"

namespace headrace {

Status Overflow(std::string message);
// Also with context put before the message.
bool IsOverflow(const Status& status);

}  // namespace headrace
