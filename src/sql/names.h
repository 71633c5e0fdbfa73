// Names and texts as SQL writes them, and names compared as DuckDB compares them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

// The text between two of `quote`, which is doubled inside.
std::string Quoted(std::string_view text, char quote);
// "name" and 'text'.
std::string QuotedName(std::string_view name);
std::string QuotedText(std::string_view text);

// Whether the names differ in the case of their letters at most: they are then one.
bool IsSameName(std::string_view a, std::string_view b);

}  // namespace headrace
