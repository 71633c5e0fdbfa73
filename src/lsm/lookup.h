// Many keys looked up at once in the levels ≥ 1 of a tree: before images, first-row checks and gets share this one path.
//
// Keys go down level by level; in each, only files whose key range holds a key are opened, and of these only the pages that do. Rows
// hidden by a deletion vector are passed over, as if the level had no such key. Thread-safe for concurrent calls of Find.
// Source: LookupLevels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/key_order.h"
#include "lsm/levels.h"

namespace headrace {

class LookupCache;  // lsm/lookup_cache.h: bounded, shared by every lookup of an engine

struct LookupRows {
  std::vector<int32_t> row_of_key;           // for each key asked: its row below, or -1
  std::shared_ptr<arrow::RecordBatch> rows;  // _SEQUENCE_NUMBER, _VALUE_KIND, the columns asked for
  struct Place {
    TreeFilePtr file;
    int64_t position = 0;  // the physical row in the file, deleted ones counted
  };
  std::vector<Place> places;  // of each row
};

class TreeLookup {
 public:
  // `levels` as of now; `cache` may be null: then the lookup has a small one of its own. Where a cache keeps what was read, it comes from
  // Arrow's default pool, not from that of `files`.
  static Result<std::unique_ptr<TreeLookup>> Open(BucketFiles files, Levels levels,
                                                  std::vector<std::string> values, LookupCache* cache);
  virtual ~TreeLookup() = default;

  // `keys` ascend strictly. Levels `from` (at least 1) to the deepest; the lowest that has the key answers, whatever the kind of its row.
  virtual Result<LookupRows> Find(const KeyColumn& keys, Level from) const = 0;
};

}  // namespace headrace
