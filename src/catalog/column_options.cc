#include "catalog/column_options.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "format/option_values.h"

namespace headrace {
namespace {

constexpr std::string_view kFields = "fields.";
constexpr std::string_view kSequenceGroup = ".sequence-group";
constexpr std::array<std::string_view, 2> kFollowing = {"bucket-key", "sequence.field"};
constexpr std::array<std::string_view, 10> kStaying = {"rowkind.field",
                                                       "partial-update.remove-record-on-sequence-group",
                                                       "record-level.time-field",
                                                       "file-index.bloom-filter.columns",
                                                       "file-index.bitmap.columns",
                                                       "file-index.bsi.columns",
                                                       "file-index.range-bitmap.columns",
                                                       "clustering.columns",
                                                       "blob-field",
                                                       "blob-descriptor-field"};

bool IsAmong(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Renamed(const std::string& list, const std::string& from, const std::string& to) {
  std::vector<std::string> names = SplitList(list);
  if (!IsAmong(names, from)) return list;
  std::replace(names.begin(), names.end(), from, to);
  return Joined(names, ",");
}

// "fields.a,b.sequence-group": where "a,b" ends; npos: an option of another kind.
size_t EndOfFields(const std::string& key) {
  if (!key.starts_with(kFields) || key == "fields.default-aggregate-function") return std::string::npos;
  return key.find('.', kFields.size());
}

}  // namespace

void RenameInOptions(const std::string& from, const std::string& to,
                     std::map<std::string, std::string>* options, std::vector<std::string>* order) {
  std::map<std::string, std::string> renamed;
  for (const auto& [key, value] : *options) {
    std::string new_key = key;
    std::string new_value = value;
    if (const size_t end = EndOfFields(key); end != std::string::npos) {
      new_key = std::string(kFields) + Renamed(key.substr(kFields.size(), end - kFields.size()), from, to) +
                key.substr(end);
    }
    if (IsAmong({kFollowing.begin(), kFollowing.end()}, key) || key.ends_with(kSequenceGroup))
      new_value = Renamed(value, from, to);
    std::replace(order->begin(), order->end(), key, new_key);
    renamed[new_key] = new_value;
  }
  *options = std::move(renamed);
}

std::string FindOptionThatNames(const std::map<std::string, std::string>& options, std::string_view column,
                                bool renaming) {
  for (const auto& [key, value] : options) {
    const bool stays = std::find(kStaying.begin(), kStaying.end(), key) != kStaying.end();
    const bool follows = std::find(kFollowing.begin(), kFollowing.end(), key) != kFollowing.end() ||
                         (key.starts_with(kFields) && key.ends_with(kSequenceGroup));
    if ((stays || (follows && !renaming)) && IsAmong(SplitList(value), column)) return key;
    const size_t end = EndOfFields(key);
    if (!renaming && end != std::string::npos &&
        IsAmong(SplitList(key.substr(kFields.size(), end - kFields.size())), column))
      return key;
  }
  return "";
}

}  // namespace headrace
