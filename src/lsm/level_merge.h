// The merge of a compaction that minds levels: what each key was before and is after, the rows to keep and the changes to tell.
//
// Two kinds of table compact this way: those that need lookup, where of a key's versions those of level 0 and the one of the lowest level
// above take part (what is deeper is in that one already, also when a lookup has to fetch it from below the output); and those whose
// full compactions make the changelog, where the version of the top level is what the key was before.
// The walk is windows, segments, before images in one lookup a window, after images by the merge engine, gather. Rows and changes come
// out in key order, -U before its +U. One thread. Source: LookupChangelogMergeFunctionWrapper, FirstRowMergeFunctionWrapper,
// FullChangelogMergeFunctionWrapper, LookupMergeFunction.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/lookup.h"
#include "lsm/merge_policy.h"
#include "lsm/sections.h"

namespace headrace {

enum class BeforeImages {
  kLowestAbove,  // of the lowest level ≥ 1 in the sections, else what `below` finds
  kTopLevel,     // of the top level, and every version takes part
};

struct LevelMergeSpec {
  std::vector<Section> sections;  // ascending by key
  MergePolicy policy;             // its drop_deletes: results that are deletes are not kept
  BeforeImages before = BeforeImages::kLowestAbove;
  Level top{0};     // kTopLevel: of the tree
  Level output{0};  // lookups begin one level deeper
  const TreeLookup* below =
      nullptr;               // null: nothing lies below the output. With all columns, unless `places_only`
  bool places_only = false;  // before images count by their place alone: what they held does not matter
  bool keeps_rows = true;    // false: the files stay as they are, only changes and places are wanted
  bool tells_changes = false;
  int64_t memory_bytes = 32LL << 20;  // about what the batches of all runs may hold
};

// One window's worth. Batches: _SEQUENCE_NUMBER, _VALUE_KIND, then all columns of the table.
struct LevelMerged {
  std::shared_ptr<arrow::RecordBatch> rows;     // null: none
  std::shared_ptr<arrow::RecordBatch> changes;  // null: none
  std::vector<LookupRows::Place> replaced;      // before images that lie below the output
};

class LevelMerge {
 public:
  static Result<std::unique_ptr<LevelMerge>> Open(const BucketFiles& files, LevelMergeSpec spec);
  virtual ~LevelMerge() = default;
  // False at the end.
  virtual Result<bool> Next(LevelMerged* merged) = 0;
};

}  // namespace headrace
