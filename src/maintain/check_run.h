// What the parts of one check share: where the table lies, what was read of it so far, and where findings go.
//
// One check, one thread. A Root is a folder with schemas and snapshots of its own: the table itself, or one of its branches, whose
// manifests and data lie in the table's folders all the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "headrace/check_terms.h"
#include "io/store.h"
#include "maintain/findings.h"

namespace headrace {

class PartitionIndex;

struct CheckRun {
  CheckRun(std::shared_ptr<Store> store, std::shared_ptr<Clock> clock, std::string path, std::string name,
           CheckOptions options, arrow::MemoryPool* pool)
      : store(std::move(store)),
        clock(std::move(clock)),
        path(std::move(path)),
        name(std::move(name)),
        options(std::move(options)),
        pool(pool),
        findings(this->path, this->options.max_findings),
        started_ms(this->clock->NowMs()) {}

  void Add(FindingKind kind, std::string_view file, std::string_view found, std::string_view expected) {
    findings.Add(kind, file, found, expected);
  }
  void Progressed() const {
    if (options.progress) options.progress(looked_at);
  }
  // Remembers that something refers to a file; only where that is asked for later.
  void Refer(std::string file_path) {
    if (options.all) referred.insert(std::move(file_path));
  }

  const std::shared_ptr<Store> store;
  const std::shared_ptr<Clock> clock;
  const std::string path;
  const std::string name;
  const CheckOptions options;
  arrow::MemoryPool* const pool;
  Findings findings;
  CheckProgress looked_at;
  std::unordered_set<std::string> referred;
  // States in which something was found, with the files that name them: they may have expired meanwhile.
  std::vector<std::pair<int, std::string>> doubtful;
  // With data: which bucket the index of the state that is looked into gives each key, by partition bytes. Nothing: the partition has no
  // index; null: it cannot be told.
  std::map<std::string, std::shared_ptr<PartitionIndex>> hash_index;
  const int64_t started_ms;
  bool referred_is_complete = true;  // false: something that would refer to files could not be read
};

enum class StateKind { kSnapshot, kTag, kChangelog };

// A snapshot and the file that names it.
struct NamedState {
  StateKind kind = StateKind::kSnapshot;
  std::string file;
  Snapshot snapshot;
};

// One schema version and what follows from it for the place of rows.
struct SchemaVersion {
  std::shared_ptr<const TableSchema> schema;
  TableOptions placement;
  bool bucket_function_known = true;
};

struct Root {
  std::string path;
  std::map<int64_t, SchemaVersion> schemas;     // those that could be read
  std::unordered_set<int64_t> damaged_schemas;  // those that are there and could not
  int32_t most_levels = 0;                      // that any version allows
  bool usable = false;                          // at least one schema could be read: `table` is set
  Table table;                        // the newest readable schema; its path is the table's, not the branch's
  std::vector<NamedState> snapshots;  // ascending
  std::vector<NamedState> changelogs;  // ascending
  std::vector<NamedState> tags;
};

// A whole file of metadata, never more than `most_bytes`. kNotFound when there is none; kCorruption when it is larger.
Result<std::string> ReadBounded(Store* store, const std::string& path, int64_t most_bytes);

inline constexpr int64_t kMostJsonBytes = 64LL << 20;
inline constexpr int64_t kMostManifestBytes = 1LL << 30;

// Rows of tables with `bucket` = -2 wait in this one until a compaction assigns theirs.
inline constexpr int32_t kPostponeBucket = -2;

// Reads and checks schema/schema-N below root->path, which must be set.
void CheckSchemas(CheckRun* run, Root* root);

// Reports a schema version that something names and that is not there; true when it can be used. One that is there and damaged is
// reported where it is read.
bool RequireSchema(CheckRun* run, const Root& root, SchemaId id, std::string_view file,
                   std::string_view what);

// Reads and checks snapshots, hints, tags, long-lived changelogs and consumers below root->path, and the chain they form.
void CheckChain(CheckRun* run, Root* root);

// Files below the table's folder that nothing refers to. Precondition: every state of every root was looked into.
void TellUnreferenced(CheckRun* run, const std::vector<Root>& roots);

}  // namespace headrace
