#include "file/deletion_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "base/uuid.h"
#include "file/data_file_path.h"
#include "format/table_options.h"

namespace headrace {
namespace {

constexpr char kVersion = 1;
constexpr int64_t kMostOffset = std::numeric_limits<int32_t>::max();

class VectorsOfFile {
 public:
  static Result<VectorsOfFile> Open(Store* store, std::string path, const IndexManifestEntry& entry) {
    HEADRACE_ASSIGN_OR_RETURN(auto file, store->OpenForRead(path));
    VectorsOfFile vectors(std::move(path), std::move(file));
    HEADRACE_ASSIGN_OR_RETURN(vectors.size_, vectors.file_->GetSize());
    if (vectors.size_ != entry.file_size_bytes)
      return Corruption("reading ", vectors.path_, ": the file has ", vectors.size_,
                        " bytes, its index manifest says ", entry.file_size_bytes);
    HEADRACE_ASSIGN_OR_RETURN(const std::string version, vectors.Bytes(0, 1));
    if (version[0] != kVersion)
      return Corruption("reading ", vectors.path_, ": index files of deletion vectors have the version ",
                        int{kVersion}, ", this one ", static_cast<int>(version[0]));
    return vectors;
  }

  Result<std::shared_ptr<const DeletionVector>> Read(const DeletionVectorRange& range) const {
    HEADRACE_ASSIGN_OR_RETURN(const std::string head, Bytes(range.offset, kDeletionVectorHeadBytes));
    HEADRACE_ASSIGN_OR_RETURN(const DeletionVectorLength length, ReadDeletionVectorLength(head, path_));
    if (length.in_manifest != range.length)
      return Corruption("reading ", path_, ": the vector for ", range.data_file, " has the length ",
                        length.in_manifest, ", its index manifest says ", range.length);
    HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, Bytes(range.offset, length.bytes));
    auto vector = DeletionVector::Decode(bytes, path_);
    if (!vector.ok()) return WithContext("the vector for " + range.data_file, vector.status());
    if (range.cardinality.has_value() && *range.cardinality != vector->cardinality())
      return Corruption("reading ", path_, ": the vector for ", range.data_file, " deletes ",
                        vector->cardinality(), " rows, its index manifest says ", *range.cardinality);
    return std::make_shared<const DeletionVector>(*std::move(vector));
  }

 private:
  VectorsOfFile(std::string path, std::shared_ptr<arrow::io::RandomAccessFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Result<std::string> Bytes(int64_t offset, int64_t count) const {
    if (offset < 0 || offset > size_ || count > size_ - offset)
      return Corruption("reading ", path_, ": ", count, " bytes at ", offset, " lie outside of its ", size_);
    auto buffer = file_->ReadAt(offset, count);
    if (!buffer.ok()) return WithContext("reading " + path_, buffer.status());
    if ((*buffer)->size() != count)
      return IoError("reading ", path_, ": ", (*buffer)->size(), " of ", count, " bytes came");
    return (*buffer)->ToString();
  }

  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  int64_t size_ = 0;
};

// The ranges of an entry that are wanted; `data_files` null: all.
std::vector<const DeletionVectorRange*> WantedRanges(const IndexManifestEntry& entry,
                                                     const std::span<const std::string>* data_files) {
  std::vector<const DeletionVectorRange*> wanted;
  if (entry.index_type != kDeletionVectorsIndex || !entry.deletion_vectors.has_value()) return wanted;
  for (const DeletionVectorRange& range : *entry.deletion_vectors) {
    const bool take = data_files == nullptr ||
                      std::find(data_files->begin(), data_files->end(), range.data_file) != data_files->end();
    if (take) wanted.push_back(&range);
  }
  return wanted;
}

Result<DeletionVectors> Read(Store* store, const std::string& index_directory,
                             std::span<const IndexManifestEntry> entries,
                             const std::span<const std::string>* data_files) {
  DeletionVectors vectors;
  for (const IndexManifestEntry& entry : entries) {
    const auto wanted = WantedRanges(entry, data_files);
    if (wanted.empty()) continue;
    HEADRACE_ASSIGN_OR_RETURN(std::string path,
                              FilePath(index_directory, "index file", entry.file_name, entry.external_path));
    HEADRACE_ASSIGN_OR_RETURN(const VectorsOfFile file, VectorsOfFile::Open(store, path, entry));
    for (const DeletionVectorRange* range : wanted) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const DeletionVector> vector, file.Read(*range));
      if (!vectors.emplace(range->data_file, std::move(vector)).second)
        return Corruption("reading ", path, ": it has a vector for ", range->data_file,
                          ", for which there is one already");
    }
  }
  return vectors;
}

// Takes vectors from `next` on until the file has passed `target_bytes`.
Result<IndexManifestEntry> WriteOne(const DeletionFileSpec& spec, std::string name,
                                    DeletionVectors::const_iterator* next,
                                    DeletionVectors::const_iterator end, int64_t target_bytes) {
  IndexManifestEntry entry;
  entry.kind = EntryKind::kAdd;
  entry.index_type = kDeletionVectorsIndex;
  entry.file_name = std::move(name);
  entry.deletion_vectors.emplace();
  std::string bytes(1, kVersion);
  for (; *next != end && static_cast<int64_t>(bytes.size()) <= target_bytes; ++*next) {
    const auto& [data_file, vector] = **next;
    if (vector->empty()) continue;
    auto block = vector->Encode(spec.bitmap64);
    if (!block.ok()) return WithContext("writing the deletion vector for " + data_file, block.status());
    HEADRACE_ASSIGN_OR_RETURN(const DeletionVectorLength length,
                              ReadDeletionVectorLength(*block, entry.file_name));
    if (static_cast<int64_t>(bytes.size() + block->size()) > kMostOffset)
      return Invalid("writing deletion vectors to ", spec.index_directory, "/", entry.file_name,
                     ": more than ", kMostOffset, " bytes; compact the bucket fully");
    entry.deletion_vectors->push_back({data_file, static_cast<int32_t>(bytes.size()),
                                       static_cast<int32_t>(length.in_manifest), vector->cardinality()});
    bytes += *block;
  }
  entry.file_size_bytes = static_cast<int64_t>(bytes.size());
  entry.row_count = static_cast<int64_t>(entry.deletion_vectors->size());
  const std::string path = spec.index_directory + "/" + entry.file_name;
  // A stream that is dropped before its Close leaves no file.
  HEADRACE_ASSIGN_OR_RETURN(const auto stream, spec.store->OpenForWrite(path));
  Status written = stream->Write(bytes);
  if (written.ok()) written = stream->Close();
  if (written.ok()) return entry;
  (void)spec.store->Delete(path);
  return WithContext("writing " + path, written);
}

}  // namespace

Result<DeletionVectors> ReadDeletionFiles(Store* store, const std::string& index_directory,
                                          std::span<const IndexManifestEntry> entries) {
  return Read(store, index_directory, entries, nullptr);
}

Result<DeletionVectors> ReadDeletionFiles(Store* store, const std::string& index_directory,
                                          std::span<const IndexManifestEntry> entries,
                                          std::span<const std::string> data_files) {
  return Read(store, index_directory, entries, &data_files);
}

Result<IndexManifestEntry> WriteDeletionFile(const DeletionFileSpec& spec, const DeletionVectors& vectors) {
  auto next = vectors.begin();
  return WriteOne(spec, "index-" + NewUuid() + "-0", &next, vectors.end(), kMostOffset);
}

Result<std::vector<IndexManifestEntry>> WriteDeletionFiles(const DeletionFileSpec& spec,
                                                           const DeletionVectors& vectors,
                                                           int64_t target_bytes) {
  const std::string prefix = "index-" + NewUuid() + "-";
  std::vector<IndexManifestEntry> entries;
  const auto skip_empty = [&](auto at) {
    return std::find_if(at, vectors.end(), [](const auto& one) { return !one.second->empty(); });
  };
  for (auto next = skip_empty(vectors.begin()); next != vectors.end(); next = skip_empty(next)) {
    auto entry = WriteOne(spec, prefix + std::to_string(entries.size()), &next, vectors.end(), target_bytes);
    if (!entry.ok()) {
      (void)DeleteIndexFiles(spec.store, spec.index_directory, entries);
      return entry.status();
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<SchemaId> LastSchemaWithoutDeletionVectors(const TableSchema& now, const SchemaLookup& schema_by_id,
                                                  SchemaId oldest) {
  for (int64_t id = now.id.value - 1; id >= oldest.value && id >= 0; --id) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> schema, schema_by_id(SchemaId(id)));
    const auto found = schema->options.find("deletion-vectors.enabled");
    if (found == schema->options.end()) return schema->id;
    HEADRACE_ASSIGN_OR_RETURN(const TableOptions options, ParseTableOptions(*schema, Access::kRead));
    if (!options.deletion_vectors) return schema->id;
  }
  return SchemaId(-1);
}

Status DeleteIndexFiles(Store* store, const std::string& index_directory,
                        std::span<const IndexManifestEntry> entries) {
  Status first;
  for (const IndexManifestEntry& entry : entries) {
    if (entry.external_path.has_value()) continue;  // not made here
    Status deleted = store->Delete(index_directory + "/" + entry.file_name);
    if (first.ok()) first = std::move(deleted);
  }
  return first;
}

}  // namespace headrace
