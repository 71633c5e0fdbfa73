// Text for messages and small tables, and the bytes of UTF-8. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// "a, b, c".
std::string Joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

// Bytes of the well-formed UTF-8 character that `text` begins with; 0 when it begins with none.
size_t Utf8CharacterBytes(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace headrace
