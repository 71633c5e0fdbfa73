// Sorting files into levels and checking what must hold between them.
#include "lsm/levels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace headrace {
namespace {

std::string Named(const TreeFile& file) {
  return file.meta.name + " (level " + std::to_string(file.meta.level.value) + ")";
}

Status CheckFiles(const std::vector<TreeFilePtr>& files) {
  std::set<std::string_view> names;
  for (const TreeFilePtr& file : files) {
    if (!names.insert(file->meta.name).second) {
      return Corruption("data file ", Named(*file), " is listed twice in one bucket");
    }
    if (file->meta.level.value < 0) {
      return Corruption("data file ", Named(*file), " has a negative level; levels start at 0");
    }
    if (file->min_key > file->max_key) {
      return Corruption("data file ", Named(*file), " has a smallest key above its largest key");
    }
  }
  return Status::OK();
}

Status CheckDisjoint(const SortedRun& run) {
  for (size_t i = 1; i < run.files.size(); ++i) {
    if (run.files[i - 1]->max_key < run.files[i]->min_key) continue;
    return Corruption("data files ", Named(*run.files[i - 1]), " and ", Named(*run.files[i]),
                      " overlap in their keys; files of one level above 0 must not");
  }
  return Status::OK();
}

}  // namespace

Result<TreeFilePtr> MakeTreeFile(const KeyOrder& order, DataFileMeta meta) {
  const auto encode = [&](const BinaryRow& key, const char* which) -> Result<EncodedKey> {
    Result<EncodedKey> encoded = order.Encode(key);
    if (encoded.ok()) return encoded;
    return WithContext(std::string(which) + " key of data file " + meta.name, encoded.status());
  };
  TreeFile file;
  HEADRACE_ASSIGN_OR_RETURN(file.min_key, encode(meta.min_key, "smallest"));
  HEADRACE_ASSIGN_OR_RETURN(file.max_key, encode(meta.max_key, "largest"));
  file.meta = std::move(meta);
  return std::make_shared<const TreeFile>(std::move(file));
}

bool IsNewer(const DataFileMeta& a, const DataFileMeta& b) {
  if (a.max_sequence != b.max_sequence) return a.max_sequence > b.max_sequence;
  if (a.min_sequence != b.min_sequence) return a.min_sequence < b.min_sequence;
  if (a.creation_local_ms != b.creation_local_ms) return a.creation_local_ms < b.creation_local_ms;
  return a.name < b.name;
}

int64_t SortedRun::size_bytes() const {
  int64_t bytes = 0;
  for (const TreeFilePtr& file : files) bytes += file->meta.size_bytes;
  return bytes;
}

Result<Levels> Levels::Make(std::vector<TreeFilePtr> files, int32_t num_levels) {
  HEADRACE_RETURN_NOT_OK(CheckFiles(files));
  std::sort(files.begin(), files.end(), [](const TreeFilePtr& a, const TreeFilePtr& b) {
    if (a->meta.level != b->meta.level) return a->meta.level < b->meta.level;
    return a->meta.level.value == 0 ? IsNewer(a->meta, b->meta) : a->min_key < b->min_key;
  });
  Levels levels;
  for (TreeFilePtr& file : files) {
    const Level level = file->meta.level;
    if (level.value == 0 || levels.runs_.empty() || levels.runs_.back().level != level) {
      levels.runs_.push_back({level, {}});
    }
    levels.runs_.back().files.push_back(std::move(file));
  }
  for (const SortedRun& run : levels.runs_) HEADRACE_RETURN_NOT_OK(CheckDisjoint(run));
  levels.max_level_ = Level(std::max({num_levels - 1, levels.highest_level().value, 1}));
  return levels;
}

Result<Levels> Levels::Make(const KeyOrder& order, const std::vector<DataFileMeta>& files,
                            int32_t num_levels) {
  std::vector<TreeFilePtr> tree_files;
  for (const DataFileMeta& meta : files) {
    HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(order, meta));
    tree_files.push_back(std::move(file));
  }
  return Make(std::move(tree_files), num_levels);
}

std::vector<TreeFilePtr> Levels::files() const {
  std::vector<TreeFilePtr> all;
  for (const SortedRun& run : runs_) all.insert(all.end(), run.files.begin(), run.files.end());
  return all;
}

size_t Levels::level0_count() const {
  return static_cast<size_t>(
      std::count_if(runs_.begin(), runs_.end(), [](const SortedRun& run) { return run.level.value == 0; }));
}

Level Levels::highest_level() const { return runs_.empty() ? Level(-1) : runs_.back().level; }

int64_t Levels::max_sequence() const {
  int64_t largest = -1;
  for (const SortedRun& run : runs_) {
    for (const TreeFilePtr& file : run.files) largest = std::max(largest, file->meta.max_sequence);
  }
  return largest;
}

Result<Levels> Levels::Edit(const std::vector<DataFileMeta>& removed, std::vector<TreeFilePtr> added) const {
  std::map<std::string_view, Level> gone;
  for (const DataFileMeta& meta : removed) gone.emplace(meta.name, meta.level);
  std::vector<TreeFilePtr> kept = std::move(added);
  for (const TreeFilePtr& file : files()) {
    const auto found = gone.find(file->meta.name);
    if (found != gone.end() && found->second == file->meta.level) {
      gone.erase(found);
    } else {
      kept.push_back(file);
    }
  }
  if (!gone.empty()) {
    return Invalid("data file ", gone.begin()->first, " (level ", gone.begin()->second.value,
                   ") is to be removed from a tree that does not hold it");
  }
  return Make(std::move(kept), max_level_.value + 1);
}

}  // namespace headrace
