#include "read/split_pruning.h"

#include <cstddef>
#include <vector>

namespace headrace {
namespace {

// The newest row of a key by its sequence number is all that is shown of the key.
bool ShowsNewest(const Table& table) {
  return table.options.merge_engine == MergeEngine::kDeduplicate && table.options.sequence_fields.empty();
}

// Whether `other` may hold a row of a key of `file` that is not newer than that of `file`.
bool MayBeBelow(const TreeFile& other, const TreeFile& file) {
  return other.meta.min_sequence <= file.meta.max_sequence && other.min_key <= file.max_key &&
         file.min_key <= other.max_key;
}

// Of files that are merged: takes back what a file that stays is above. A file that stays so may make another one stay.
void KeepWhatHides(const std::vector<TreeFilePtr>& files, std::vector<bool>* unwanted) {
  std::vector<size_t> staying;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!(*unwanted)[i]) staying.push_back(i);
  }
  for (size_t next = 0; next < staying.size(); ++next) {
    for (size_t i = 0; i < files.size(); ++i) {
      if (!(*unwanted)[i] || !MayBeBelow(*files[staying[next]], *files[i])) continue;
      (*unwanted)[i] = false;
      staying.push_back(i);
    }
  }
}

}  // namespace

Status PruneSplits(const FilePruner& pruner, const Table& table, std::vector<Split>* splits) {
  if (!pruner.prunes() || !table.schema->has_primary_key()) return Status::OK();
  for (Split& split : *splits) {
    if (!split.raw && !ShowsNewest(table)) continue;
    std::vector<bool> unwanted;
    for (const TreeFilePtr& file : split.files) {
      HEADRACE_ASSIGN_OR_RETURN(const bool may_hold, pruner.MayHoldAsItIs(file->meta));
      unwanted.push_back(!may_hold);
    }
    if (!split.raw) KeepWhatHides(split.files, &unwanted);
    size_t i = 0;
    std::erase_if(split.files, [&](const TreeFilePtr&) { return unwanted[i++]; });
  }
  std::erase_if(*splits, [](const Split& split) { return split.files.empty(); });
  return Status::OK();
}

}  // namespace headrace
