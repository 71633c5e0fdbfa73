#include "file/data_file_path.h"

#include <string_view>

#include "io/store_path.h"

namespace headrace {
namespace {

constexpr std::string_view kFileScheme = "file:";

// "s3" of "s3://bucket/x"; empty when there is none.
std::string_view SchemeOf(std::string_view path) {
  const size_t colon = path.find(':');
  return colon == std::string_view::npos || path.find('/') < colon ? std::string_view()
                                                                   : path.substr(0, colon);
}

}  // namespace

Result<std::string> DataFilePath(const std::string& bucket_directory, const DataFileMeta& file) {
  return FilePath(bucket_directory, "data file", file.name, file.external_path);
}

Result<std::string> FilePath(const std::string& directory, std::string_view what, const std::string& name,
                             const std::optional<std::string>& external_path) {
  if (!external_path.has_value()) return directory + "/" + name;
  std::string_view path = *external_path;
  if (path.starts_with(kFileScheme)) {
    path.remove_prefix(kFileScheme.size());
    if (path.starts_with("//")) path.remove_prefix(2);
  } else if (const std::string_view scheme = SchemeOf(path); !scheme.empty()) {
    return Unsupported(what, " ", name, " lies at the external path ", path, ", in a store of scheme ",
                       scheme, "; only files of this machine are read");
  }
  const Status legal = CheckStorePath(path);
  if (!legal.ok() || path == "/") {
    return Corruption(
        what, " ", name, " has the external path '", *external_path,
        "' in its manifest entry, which is not the absolute path of a file without '.' and '..'");
  }
  return std::string(path);
}

}  // namespace headrace
