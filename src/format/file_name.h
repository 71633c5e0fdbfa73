// Names of files as metadata tells them.
//
// A name becomes a path below the table's folder: to be read, and by expiry to be deleted. One that leads elsewhere is refused where
// it is read from disk, so that no later code has to ask again. Pure.
#pragma once

#include <string_view>

namespace headrace {

// nullptr for the name of a file in a given folder; otherwise what is wrong: empty, '.', '..', a slash, a zero byte.
const char* WhyNotAFileName(std::string_view name);

}  // namespace headrace
