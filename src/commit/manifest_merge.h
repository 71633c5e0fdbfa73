// Merging the manifests that a new snapshot inherits, so that lists stay short and deletions go away.
//
// Full: once the manifests that are small or hold deletions together reach `manifest.full-compaction-threshold-size`, all of them are
// rewritten without any deletion. Else minor: neighbours are merged when together they reach the target size, and the rest when there are
// `manifest.merge-min-count` of them; only pairs of ADD and DELETE vanish, and order is kept, since a DELETE may refer to an earlier
// manifest. Live files are the same before and after. Source: ManifestFileMerger of 1.3.1.
#pragma once

#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "commit/manifest_writer.h"
#include "format/manifest.h"

namespace headrace {

Result<std::vector<ManifestFileMeta>> MergeManifests(const Table& table,
                                                     std::vector<ManifestFileMeta> manifests,
                                                     ManifestWriter* writer);

// Entries in order, with each ADD and the DELETE after it gone. kCorruption when a file is added twice; what is still a DELETE
// afterwards refers to an ADD outside. `origin` names where the entries come from.
Result<std::vector<ManifestEntry>> MergeEntries(std::vector<ManifestEntry> entries,
                                                const std::string& origin);

// Which neighbours a minor merge takes together: groups in order; a group of one is left as it is. Pure.
std::vector<std::vector<ManifestFileMeta>> PlanMinorMerge(std::vector<ManifestFileMeta> manifests,
                                                          int64_t target_bytes, int32_t min_count);

}  // namespace headrace
