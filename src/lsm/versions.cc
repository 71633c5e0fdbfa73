#include "lsm/versions.h"

#include <algorithm>

namespace headrace {
namespace {

bool NumbersOverlap(const DataFileMeta& a, const DataFileMeta& b) {
  if (a.min_sequence > a.max_sequence || b.min_sequence > b.max_sequence) return true;  // not to be trusted
  return a.min_sequence <= b.max_sequence && b.min_sequence <= a.max_sequence;
}

// Whether two files that share keys share sequence numbers.
bool AnyNumbersOverlap(std::vector<const TreeFile*> files) {
  std::sort(files.begin(), files.end(),
            [](const TreeFile* a, const TreeFile* b) { return a->min_key < b->min_key; });
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = i + 1; j < files.size() && files[j]->min_key <= files[i]->max_key; ++j) {
      if (NumbersOverlap(files[i]->meta, files[j]->meta)) return true;
    }
  }
  return false;
}

}  // namespace

AgedSection AgeFiles(const Section& section, bool has_sequence_fields) {
  AgedSection aged;
  std::vector<MergeFile*> files;
  std::vector<const TreeFile*> plain;
  for (const RunFiles& run : section) {
    std::vector<MergeFile>& into = aged.runs.emplace_back();
    for (const TreeFilePtr& file : run) into.push_back({file});
  }
  for (std::vector<MergeFile>& run : aged.runs) {
    for (MergeFile& file : run) {
      file.index = static_cast<uint32_t>(files.size());
      files.push_back(&file);
      plain.push_back(file.file.get());
    }
  }
  aged.numbers_needed = has_sequence_fields || AnyNumbersOverlap(std::move(plain));
  std::sort(files.begin(), files.end(), [&](const MergeFile* a, const MergeFile* b) {
    const DataFileMeta& x = a->file->meta;
    const DataFileMeta& y = b->file->meta;
    if (!aged.numbers_needed && x.max_sequence != y.max_sequence) return x.max_sequence < y.max_sequence;
    if (x.level != y.level) return x.level > y.level;
    return IsNewer(y, x);
  });
  for (size_t i = 0; i < files.size(); ++i) files[i]->age = static_cast<uint32_t>(i);
  return aged;
}

}  // namespace headrace
