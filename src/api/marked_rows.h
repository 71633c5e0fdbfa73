// How many rows of each data file are deleted by position: what deletion vectors mark.
//
// The index manifest says it; where an older writer left the number out it is not known without reading the vector. Reads the index manifest
// of the snapshot alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"

namespace headrace {

class MarkedRows {
 public:
  static Result<MarkedRows> Of(const Table& table, const Snapshot& snapshot);

  // 0 where no vector is; nothing where its number is not told.
  std::optional<int64_t> In(const std::string& data_file) const;
  // All that are known of.
  int64_t known() const;

 private:
  std::map<std::string, std::optional<int64_t>> files_;
};

}  // namespace headrace
