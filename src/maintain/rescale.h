// Another number of buckets: the rows of a table, or of one partition, written anew into as many buckets as asked for.
//
// One OVERWRITE snapshot takes the old files away and brings the new ones, one run on the deepest level of each bucket; readers go on with
// the snapshot they have. Rows are the same before and after. kCommitConflict, and nothing done, when a writer or a compaction was at work in
// those partitions meanwhile. A table whose buckets are not a fixed number is refused. Where the whole table is rescaled its option `bucket`
// follows, as an ALTER would set it. Source: RescaleProcedure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "write/session.h"

namespace headrace {

struct RescaleResult {
  std::vector<Snapshot> snapshots;  // none: every partition had that many buckets, or no files
  int64_t partitions = 0;           // that were rewritten
  int64_t rows = 0;
  int64_t files_before = 0;
  int64_t files_after = 0;
  int64_t bytes_written = 0;
  bool option_changed = false;
};

// `partition`: values by partition column, as text; some of them: all partitions that have those. Nothing: the whole table.
Result<RescaleResult> Rescale(const Table& table, int32_t buckets,
                              const std::map<std::string, std::string>& partition,
                              const SessionOptions& options);

}  // namespace headrace
