// What this build of Headrace is. Constants; any thread.
#pragma once

#include <string_view>

namespace headrace {

// The version of the project, "0.1.0".
std::string_view BuildVersion();

// What a file that we write names as its writer: "headrace 0.1.0".
std::string_view BuildCreator();

}  // namespace headrace
