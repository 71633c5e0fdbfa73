// The version comes from project(VERSION) by the room's CMakeLists.txt.
#include "base/build_info.h"

namespace headrace {

std::string_view BuildVersion() { return HEADRACE_VERSION; }
std::string_view BuildCreator() { return "headrace " HEADRACE_VERSION; }

}  // namespace headrace
