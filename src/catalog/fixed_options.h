// Which options of a table may still change.
//
// Pure. kInvalid names the option and why it stays. Source: CoreOptions' immutable options, SchemaManager.checkAlterTableOption.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace headrace {

struct OptionFreedom {
  bool has_snapshots = true;  // some options are free until there are
  bool rescaling = false;     // `bucket` may become another number
};

// `value`: nothing, when the option is to be unset. `options` are those of the table.
Status CheckOptionMayChange(const std::map<std::string, std::string>& options, const std::string& key,
                            const std::optional<std::string>& value, const OptionFreedom& freedom);

}  // namespace headrace
