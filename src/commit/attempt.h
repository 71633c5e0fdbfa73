// One try at making a snapshot: everything it names is written, then the snapshot is published if its id is still free.
//
// The outcome tells what the caller may do. Whatever is written before the publish is deleted again when it is certain that no snapshot
// names it; when that is not certain, nothing is. Source: FileStoreCommitImpl.tryCommitOnce.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "catalog/table.h"
#include "commit/commit_part.h"
#include "format/snapshot.h"

namespace headrace {

struct SnapshotFacts {
  std::string user;
  int64_t identifier = 0;
  std::optional<int64_t> watermark;
  std::map<std::string, std::string> properties;  // all of them, the carried ones included
};

enum class Outcome {
  kPublished,  // ours, read again after publishing
  kLost,       // there is no such snapshot in the table; nothing of ours is left
  kUnknown,    // it may have been published: look for it before trying again
};

enum class LostTo {
  kWriter,       // the id is another's
  kReplacement,  // what it was built on was rolled back, replaced or has expired
  kExpiry,       // the id had ended: it was published into the past, and taken out again
};

struct AttemptResult {
  Outcome outcome = Outcome::kLost;
  LostTo lost_to = LostTo::kWriter;
  Snapshot snapshot;  // as published, or as it would be
  // Of kUnknown.
  Status cause;
  bool replaced = false;  // it was published, and another stands in its place now
  bool unplaced =
      false;  // it was published, perhaps into the past (place.h): that it stands does not mean that it counts
};

// Builds on `latest`. An error means that nothing was published and nothing is left.
Result<AttemptResult> TryCommit(const Table& table, const CommitPart& part, const SnapshotFacts& facts,
                                const std::optional<Snapshot>& latest);

}  // namespace headrace
