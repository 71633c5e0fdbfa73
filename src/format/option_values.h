// Values of table options as text: sizes, durations, statistics modes, lists.
//
// Pure; kInvalid says what was found and what is allowed. ParseMemorySize and ParseDurationMs are declared in table_options.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/table_options.h"

namespace headrace {

std::string LowerAscii(std::string_view text);
std::string_view TrimAscii(std::string_view text);
// Parts between commas, trimmed, without empty ones.
std::vector<std::string> SplitList(std::string_view text);

Result<bool> ParseBool(std::string_view text);
Result<int64_t> ParseInt(std::string_view text, int64_t least, int64_t most);
// none, counts, full, truncate(n)
Result<ColumnStatsMode> ParseStatsMode(std::string_view text);
// "0:none,5:full"
Result<std::map<int32_t, ColumnStatsMode>> ParseStatsModeByLevel(std::string_view text);

}  // namespace headrace
