#include "catalog/numbered_files.h"

#include <algorithm>
#include <charconv>

#include "io/store_path.h"

namespace headrace {
namespace {

std::optional<int64_t> ParseDigits(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A hint that is missing, unreadable or not a number is no hint: the listing decides.
std::optional<int64_t> ReadHint(const NumberedFolder& folder, std::string_view name) {
  const Result<std::string> bytes = folder.store->ReadAll(folder.directory + "/" + std::string(name));
  if (!bytes.ok()) return std::nullopt;
  std::string_view text = *bytes;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  return ParseDigits(text);
}

Result<bool> Exists(const NumberedFolder& folder, int64_t number) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, folder.store->Stat(folder.PathOf(number)));
  return info.has_value();
}

}  // namespace

std::optional<int64_t> NumberInName(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  return ParseDigits(name.substr(prefix.size()));
}

Result<std::vector<int64_t>> ListNumbers(const NumberedFolder& folder) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, folder.store->List(folder.directory));
  std::vector<int64_t> numbers;
  for (const FileInfo& file : files) {
    if (file.is_directory) continue;
    if (const auto number = NumberInName(NameIn(file.path), folder.prefix)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<std::optional<int64_t>> FindLatestNumber(const NumberedFolder& folder) {
  if (const auto hint = ReadHint(folder, "LATEST"); hint.has_value() && *hint < INT64_MAX) {
    HEADRACE_ASSIGN_OR_RETURN(const bool newer, Exists(folder, *hint + 1));
    if (!newer) {
      HEADRACE_ASSIGN_OR_RETURN(const bool there, Exists(folder, *hint));
      if (there) return hint;
    }
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ListNumbers(folder));
  if (numbers.empty()) return std::nullopt;
  return numbers.back();
}

Result<std::optional<int64_t>> FindEarliestNumber(const NumberedFolder& folder) {
  // A hint above the truth would hide history that is there: it counts only when nothing stands before it.
  if (const auto hint = ReadHint(folder, "EARLIEST")) {
    HEADRACE_ASSIGN_OR_RETURN(const bool there, Exists(folder, *hint));
    HEADRACE_ASSIGN_OR_RETURN(const bool earlier, Exists(folder, *hint - 1));
    if (there && !earlier) return hint;
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ListNumbers(folder));
  if (numbers.empty()) return std::nullopt;
  return numbers.front();
}

Status WriteLatestHint(const NumberedFolder& folder, int64_t number) {
  return folder.store->Replace(folder.directory + "/LATEST", std::to_string(number));
}

Status WriteEarliestHint(const NumberedFolder& folder, int64_t number) {
  return folder.store->Replace(folder.directory + "/EARLIEST", std::to_string(number));
}

}  // namespace headrace
