#include "read/split_pruning.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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

// Leaves those out that are no longer wanted: `unwanted` by file, which ends true for what is left out.
void LeaveOut(std::vector<bool> unwanted, std::vector<TreeFilePtr>* files) {
  // A file that stays may make another one stay, so the new ones are gone through until there is none.
  std::vector<size_t> staying;
  for (size_t i = 0; i < files->size(); ++i) {
    if (!unwanted[i]) staying.push_back(i);
  }
  for (size_t next = 0; next < staying.size(); ++next) {
    for (size_t i = 0; i < files->size(); ++i) {
      if (!unwanted[i] || !MayBeBelow(*(*files)[staying[next]], *(*files)[i])) continue;
      unwanted[i] = false;
      staying.push_back(i);
    }
  }
  std::vector<TreeFilePtr> kept;
  for (size_t i = 0; i < files->size(); ++i) {
    if (!unwanted[i]) kept.push_back(std::move((*files)[i]));
  }
  *files = std::move(kept);
}

}  // namespace

Status PruneSplits(const FilePruner& pruner, const Table& table, std::vector<Split>* splits) {
  for (Split& split : *splits) {
    if (!split.raw && !ShowsNewest(table)) continue;
    std::vector<bool> unwanted;
    for (const TreeFilePtr& file : split.files) {
      HEADRACE_ASSIGN_OR_RETURN(const bool may_hold, pruner.MayHoldAsItIs(file->meta));
      unwanted.push_back(!may_hold);
    }
    if (split.raw) {
      size_t i = 0;
      std::erase_if(split.files, [&](const TreeFilePtr&) { return unwanted[i++]; });
    } else {
      LeaveOut(std::move(unwanted), &split.files);
    }
  }
  std::erase_if(*splits, [](const Split& split) { return split.files.empty(); });
  return Status::OK();
}

}  // namespace headrace
