// What a store that has no better way does.
#include "io/store.h"

#include "io/store_path.h"

namespace headrace {

Result<std::vector<std::string>> Store::ListNames(const std::string& directory, std::string_view prefix) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<FileInfo> children, List(directory));
  std::vector<std::string> names;
  for (const FileInfo& child : children)
    if (const std::string_view name = NameIn(child.path); name.starts_with(prefix)) names.emplace_back(name);
  return names;
}

}  // namespace headrace
