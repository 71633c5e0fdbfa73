// Folders of numbered files (schema-0, snapshot-1, changelog-7 …) and their hints LATEST and EARLIEST.
//
// Only `<prefix><digits>`, as a decimal number without leading zeros, is a version; temporary files, hints and anything else in the
// folder are passed over. A hint is advice: LATEST counts when its file exists and the next one does not, EARLIEST when its file
// exists; otherwise, or when a hint cannot be read, the folder is listed. Functions of the store, thread-safe.
// Source: FileUtils.listVersionedFiles, HintFileUtils.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/store.h"

namespace headrace {

struct NumberedFolder {
  Store* store = nullptr;
  std::string directory;
  std::string_view prefix;  // "snapshot-"

  std::string PathOf(int64_t number) const {
    return directory + "/" + std::string(prefix) + std::to_string(number);
  }
};

// The number in a file's name, or nothing when it is not a version.
std::optional<int64_t> NumberInName(std::string_view name, std::string_view prefix);

Result<std::vector<int64_t>> ListNumbers(const NumberedFolder& folder);  // ascending
Result<std::optional<int64_t>> FindLatestNumber(const NumberedFolder& folder);
Result<std::optional<int64_t>> FindEarliestNumber(const NumberedFolder& folder);

// Tell later readers where to look first. A failure costs them a listing and nothing else.
Status WriteLatestHint(const NumberedFolder& folder, int64_t number);
Status WriteEarliestHint(const NumberedFolder& folder, int64_t number);

}  // namespace headrace
