#include "catalog/fixed_options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headrace {
namespace {

// Options that decide where rows lie or what they mean; data written under one value is wrong under another.
constexpr std::array<std::string_view, 18> kFixedOnceWritten = {
    "bucket-key",
    "bucket-function.type",
    "merge-engine",
    "rowkind.field",
    "sequence.snapshot-ordering",
    "primary-key.nullable",
    "row-tracking.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "data-file.path-directory",
    "force-lookup",
    "aggregation.remove-record-on-delete",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "dynamic-bucket.initial-buckets",
    "pk-clustering-override",
    "blob-field",
    "blob-descriptor-field",
};
// May be switched on, and then stay.
constexpr std::array<std::string_view, 2> kNeverOffAgain = {"ignore-delete", "ignore-update-before"};

std::string ValueOr(const std::map<std::string, std::string>& options, std::string_view key,
                    std::string_view fallback) {
  const auto it = options.find(std::string(key));
  return it == options.end() ? std::string(fallback) : it->second;
}

template <size_t N>
bool IsAmong(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Status CheckBucket(const std::string& before, const std::string& after, const OptionFreedom& freedom) {
  if (before.starts_with('-') || after.starts_with('-'))
    return Invalid("option 'bucket' cannot change from ", before, " to ", after,
                   ": a number of buckets may only become another one; make a new table instead");
  if (freedom.rescaling) return Status::OK();
  return Invalid("option 'bucket' does not change from ", before, " to ", after,
                 " alone: 'headrace rescale TABLE --buckets ", after, "' also writes the rows anew");
}

}  // namespace

Status CheckOptionMayChange(const std::map<std::string, std::string>& options, const std::string& key,
                            const std::optional<std::string>& value, const OptionFreedom& freedom) {
  const auto found = options.find(key);
  const std::optional<std::string> before =
      found == options.end() ? std::nullopt : std::optional(found->second);
  if (before == value) return Status::OK();
  if (key == "type" || key == "path")
    return Invalid("option '", key, "' cannot change: it was fixed when the table was made");
  if (!freedom.has_snapshots) return Status::OK();
  const auto told = [](const std::optional<std::string>& text) {
    return text.has_value() ? "'" + *text + "'" : std::string("unset");
  };
  if (IsAmong(kFixedOnceWritten, key))
    return Invalid("option '", key, "' cannot change from ", told(before), " to ", told(value),
                   " once the table has a snapshot, because its files were written under it");
  if (key == "deletion-vectors.enabled" && before.value_or("false") != value.value_or("false") &&
      ValueOr(options, "deletion-vectors.modifiable", "false") != "true")
    return Invalid("option '", key,
                   "' cannot change once the table has a snapshot, unless "
                   "'deletion-vectors.modifiable' is true");
  if (IsAmong(kNeverOffAgain, key) && before.value_or("false") == "true" && value.value_or("false") != "true")
    return Invalid("option '", key, "' cannot change from true to ", value.value_or("false"),
                   ": what was left out when rows were written would be missed");
  if (key == "bucket" && before.value_or("-1") != value.value_or("-1"))
    return CheckBucket(before.value_or("-1"), value.value_or("-1"), freedom);
  return Status::OK();
}

}  // namespace headrace
