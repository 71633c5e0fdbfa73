#include "api/marked_rows.h"

#include "catalog/index_files.h"

namespace headrace {

Result<MarkedRows> MarkedRows::Of(const Table& table, const Snapshot& snapshot) {
  MarkedRows marked;
  HEADRACE_ASSIGN_OR_RETURN(const IndexFiles index, IndexFiles::Read(table, snapshot));
  for (const auto& [bucket, entries] : index.all()) {
    for (const IndexManifestEntry& entry : entries) {
      if (!entry.deletion_vectors.has_value()) continue;
      for (const DeletionVectorRange& range : *entry.deletion_vectors)
        marked.files_[range.data_file] = range.cardinality;
    }
  }
  return marked;
}

std::optional<int64_t> MarkedRows::In(const std::string& data_file) const {
  const auto it = files_.find(data_file);
  return it == files_.end() ? std::optional<int64_t>(0) : it->second;
}

int64_t MarkedRows::known() const {
  int64_t rows = 0;
  for (const auto& [file, marked] : files_) rows += marked.value_or(0);
  return rows;
}

}  // namespace headrace
