// Whether a snapshot belongs to the history that readers see, or stands before it.
//
// The id of a snapshot that has ended is free again. A writer that was held up between its look at the table and its publish may put a
// snapshot there: into a past that nobody builds upon, with files that it goes on to commit under a later id. It takes such a snapshot away
// itself (attempt.h); whoever ends snapshots must not take those files for what history leaves behind. Snapshots end in ascending order, so
// one that stands although the next one is gone is no part of history. Functions of the store, thread-safe.
#pragma once

#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/manifest.h"
#include "format/snapshot.h"

namespace headrace {

enum class Place {
  kInHistory,
  kBeforeIt,
  kUnknown,  // it changed no files, or what it changed is read no more, or it and what came after it have ended and no manifest tells of it
};

// `delta`: the entries that it added and deleted, where the caller knows them; otherwise they are read.
Result<Place> PlaceOf(const Table& table, const Snapshot& snapshot,
                      const std::vector<ManifestEntry>* delta = nullptr);

}  // namespace headrace
