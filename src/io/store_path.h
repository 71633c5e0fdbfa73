// The form of paths in a store: absolute, '/' between names, no empty name, no '.' or '..', no trailing '/'. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace headrace {

// kInvalid, with the reason, for a path of another form. "/" is the root folder.
Status CheckStorePath(std::string_view path);

// kInvalid when a folder would be moved onto or into itself.
Status CheckFolderMove(std::string_view from, std::string_view to);

// "/a" and "b" give "/a/b"; "/" and "b" give "/b".
std::string JoinPath(std::string_view directory, std::string_view name);

// The last name of a path: "c" of "/a/b/c".
std::string_view NameIn(std::string_view path);

// The folder that a path lies in: "/a" of "/a/b"; "/" of "/a" and of "/" itself.
std::string ParentOf(std::string_view path);

// Whether `path` lies below `directory`, at any depth.
bool IsBelow(std::string_view path, std::string_view directory);

}  // namespace headrace
