// What a check of a table finds and what `why` tells of a key: the plain values that callers and the room behind them share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

namespace headrace {

enum class Severity {
  kDamage,   // rows or changes are lost, wrong or unreadable, or would be with another reader
  kWarning,  // nothing is lost, but something is not as a writer leaves it
  kNote,     // worth knowing: what was not looked at, what takes room
};
std::string_view NameOf(Severity severity);  // "damage", "warning", "note"

// One kind of finding. The names are stable; docs/check.md lists them.
struct FindingKindInfo {
  std::string_view name;  // "data-file-missing"
  Severity severity = Severity::kDamage;
  std::string_view meaning;
  std::string_view remedy;
};

struct Finding {
  Severity severity = Severity::kDamage;
  std::string kind;
  std::string file;  // below the table's folder where it lies there
  std::string found;
  std::string expected;
  std::string remedy;
};

struct CheckProgress {
  int64_t snapshots = 0;  // snapshots, tags and long-lived changelogs looked into
  int64_t manifests = 0;  // lists included
  int64_t files = 0;      // data and changelog files
  int64_t rows = 0;       // rows read from them
  int64_t replayed = 0;   // snapshots whose changes were replayed
};

struct CheckOptions {
  bool data = false;                     // read every page of the data files too
  bool changelog = false;                // replay the changes and compare them with the rows
  std::optional<int64_t> snapshot = {};  // look into this one instead of the latest
  bool all = false;             // into every snapshot, tag, changelog and branch; tell what nothing refers to
  int64_t max_findings = 1000;  // of each severity; the rest is only counted
  std::function<void(const CheckProgress&)> progress = {};  // called often, from the checking thread
};

struct CheckReport {
  std::vector<Finding> findings;  // in the order they were found
  int64_t damages = 0;            // all of them, also beyond max_findings
  int64_t warnings = 0;
  int64_t notes = 0;
  CheckProgress looked_at;

  bool clean() const { return damages == 0; }
};

// One version of a key, in one live data file.
struct KeyVersion {
  std::string file;  // below the table's folder where it lies there
  std::string partition;
  int32_t bucket = 0;
  int32_t level = 0;
  int64_t sequence = 0;
  std::string row_kind;                                              // "+I", "-U", "+U", "-D"
  std::vector<std::pair<std::string, std::string>> sequence_fields;  // column and value; NULL for a null
  std::shared_ptr<arrow::RecordBatch> row;                           // one row, all columns of the table
  std::string verdict;  // why it stands where it stands: "wins: larger sequence number 7 than 3"
};

struct SkippedFile {
  std::string file;
  std::string partition;
  int32_t bucket = 0;
  int32_t level = 0;
  std::string reason;  // "keys 5 … 9"
};

// Every version of a key in the live files of one snapshot.
struct KeyHistory {
  std::optional<int64_t> snapshot;   // nothing: the table has none yet
  std::vector<KeyVersion> versions;  // the newest first, bucket by bucket
  std::vector<SkippedFile>
      skipped;                   // of the buckets that may hold the key: files whose key range leaves it out
  std::optional<size_t> winner;  // the version whose row a reader gets; nothing: no row
  std::string conclusion;        // one sentence
};

}  // namespace headrace
