// Checks and joins of paths.
#include "io/store_path.h"

namespace headrace {

Status CheckStorePath(std::string_view path) {
  if (path.empty() || path.front() != '/')
    return Invalid("the path '", path, "' of a store must be absolute: begin with '/'");
  if (path == "/") return Status::OK();
  if (path.find('\0') != path.npos) return Invalid("the path '", path, "' contains a zero byte");
  size_t begin = 1;
  while (begin <= path.size()) {
    const size_t slash = path.find('/', begin);
    const size_t end = slash == path.npos ? path.size() : slash;
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == "..") {
      return Invalid("the path '", path, "' of a store must not contain '//', '.' or '..' nor end in '/'");
    }
    begin = end + 1;
  }
  return Status::OK();
}

Status CheckFolderMove(std::string_view from, std::string_view to) {
  if (from == to || IsBelow(to, from))
    return Invalid("moving the folder ", from, " to ", to, ": it would lie in itself");
  return Status::OK();
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (path.empty() || path.back() != '/') path += '/';
  return path.append(name);
}

std::string_view NameIn(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? "/" : std::string(path.substr(0, slash));
}

bool IsBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.size() > 1 && path.front() == '/';
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

}  // namespace headrace
