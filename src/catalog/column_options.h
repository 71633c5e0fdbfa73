// Options that name columns: which follow a column that is renamed, and which must be changed before it is renamed or dropped.
//
// Pure. Source: SchemaManager.applyRenameColumnsToOptions; what Java leaves behind with a name that is gone is refused here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// `bucket-key`, `sequence.field` and `fields.<f>.…` with the new name, at the place in `order` that they had.
void RenameInOptions(const std::string& from, const std::string& to,
                     std::map<std::string, std::string>* options, std::vector<std::string>* order);

// An option that keeps `column` from being dropped or renamed; empty: none.
std::string FindOptionThatNames(const std::map<std::string, std::string>& options, std::string_view column,
                                bool renaming);

}  // namespace headrace
