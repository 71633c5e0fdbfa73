// Where a data or index file lies: in its folder, or at the external path that its manifest entry tells.
//
// An external path is read and never deleted: the table does not own what lies outside its folder. Of external paths those of the local
// machine are read: "/data/x.parquet", "file:/data/x.parquet", "file:///data/x.parquet". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "format/data_file_meta.h"

namespace headrace {

// kUnsupported names another store's scheme; kCorruption: a path that is neither absolute nor with a scheme, or has '..' in it.
Result<std::string> DataFilePath(const std::string& bucket_directory, const DataFileMeta& file);
// `what` stands before the name in errors: "data file", "index file".
Result<std::string> FilePath(const std::string& directory, std::string_view what, const std::string& name,
                             const std::optional<std::string>& external_path);

}  // namespace headrace
