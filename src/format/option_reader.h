// The options of one table under today's names, read one by one into the fields of TableOptions.
//
// A key that is not set leaves its field as it is. What cannot be read is kInvalid and names key and value. Each area of options has a
// file of its own that reads them, called once from ParseTableOptions. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "format/option_values.h"
#include "format/table_options.h"

namespace headrace {

class OptionReader {
 public:
  explicit OptionReader(const std::map<std::string, std::string>& options) : options_(options) {}

  const std::string* Find(const std::string& key) const {
    const auto option = options_.find(key);
    return option == options_.end() ? nullptr : &option->second;
  }

  template <typename T, typename Parse>
  Status Read(const std::string& key, T* out, Parse parse) const {
    const std::string* text = Find(key);
    if (text == nullptr) return Status::OK();
    auto value = parse(std::string_view(*text));
    if (!value.ok()) return WithContext("table option '" + key + "'", value.status());
    *out = static_cast<T>(*std::move(value));
    return Status::OK();
  }

  template <typename T>
  Status Int(const std::string& key, T* out, int64_t least,
             int64_t most = std::numeric_limits<int32_t>::max()) const {
    return Read(key, out, [=](std::string_view text) { return ParseInt(text, least, most); });
  }
  template <typename T>
  Status Bool(const std::string& key, T* out) const {
    return Read(key, out, ParseBool);
  }
  Status Size(const std::string& key, int64_t* out) const {
    HEADRACE_RETURN_NOT_OK(Read(key, out, ParseMemorySize));
    if (Find(key) != nullptr && *out < 1)
      return Invalid("table option '", key, "' = '", *Find(key), "': at least 1 byte");
    return Status::OK();
  }
  Status Duration(const std::string& key, int64_t* out) const { return Read(key, out, ParseDurationMs); }
  Status Text(const std::string& key, std::string* out) const {
    return Read(key, out, [](std::string_view text) { return Result<std::string>(std::string(text)); });
  }
  Status Lower(const std::string& key, std::string* out) const {
    return Read(key, out,
                [](std::string_view text) { return Result<std::string>(LowerAscii(TrimAscii(text))); });
  }

 private:
  const std::map<std::string, std::string>& options_;
};

// bucket, bucket-function.type, dynamic-bucket.…, postpone.…: format/bucket_options.cc.
Status ReadBucketOptions(const OptionReader& options, TableOptions* out);
// What cannot be together, and what is refused for the access.
Status CheckBucketOptions(const TableSchema& schema, const TableOptions& options, Access access);

// num-sorted-run.…, compaction.…, lookup-compact, lookup-wait, changelog-producer.…: format/compaction_options.cc.
Status ReadCompactionOptions(const OptionReader& options, TableOptions* out);
// Combinations that cannot work, for reading and writing alike.
Status CheckCompactionOptions(const TableSchema& schema, const TableOptions& options);

// deletion-vectors.…, deletion-vector.…, index-file-in-data-file-dir: format/deletion_options.cc.
Status ReadDeletionOptions(const OptionReader& options, TableOptions* out);

}  // namespace headrace
