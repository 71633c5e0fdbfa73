#include "format/file_name.h"

namespace headrace {

const char* WhyNotAFileName(std::string_view name) {
  if (name.empty()) return "an empty file name";
  if (name == "." || name == "..") return "a file name of dots alone";
  if (name.find('/') != std::string_view::npos) return "a file name with a slash";
  if (name.find('\0') != std::string_view::npos) return "a file name with a zero byte";
  return nullptr;
}

}  // namespace headrace
