// The index manifest of a state: index files are there, deletion vectors are for live files and inside their index file.
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "file/manifest_file.h"
#include "format/deletion_vector.h"
#include "format/hash_index.h"
#include "maintain/check_states.h"
#include "write/partition_index.h"

namespace headrace {
namespace {

constexpr int64_t kHashBytes = 4;

// The vector of a range, decoded; what is wrong with its bytes else. Source: DeletionVectorsIndexFile, DeletionVector.read.
Result<DeletionVector> VectorAt(const DeletionVectorRange& range, std::string_view file,
                                const std::string& path) {
  const auto lies_outside = [&](int64_t bytes) {
    return range.offset < 0 || range.offset + bytes > static_cast<int64_t>(file.size());
  };
  if (lies_outside(kDeletionVectorHeadBytes)) return Corruption("it ends before its mark");
  const std::string_view rest = file.substr(static_cast<size_t>(range.offset));
  HEADRACE_ASSIGN_OR_RETURN(const DeletionVectorLength length, ReadDeletionVectorLength(rest, path));
  if (lies_outside(length.bytes)) return Corruption("its length is ", length.bytes);
  if (range.length != length.in_manifest)
    return Corruption("it is ", length.in_manifest, " bytes long, its manifest says ", range.length);
  return DeletionVector::Decode(rest.substr(0, static_cast<size_t>(length.bytes)), path);
}

using LiveRows =
    std::map<std::pair<std::string, std::string>, int64_t>;  // (partition bytes, file name) to rows

// Rows of a bucket's data files by name. A vector's bucket need not be compared: unaware-bucket tables have one, others repeat no name.
LiveRows RowsOf(const std::vector<ManifestEntry>& live) {
  LiveRows rows;
  for (const ManifestEntry& entry : live)
    rows[{entry.partition.bytes, entry.file.name}] = entry.file.row_count;
  return rows;
}

void CheckVectors(CheckRun* run, const IndexManifestEntry& entry, const std::string& path,
                  const LiveRows& live) {
  if (!entry.deletion_vectors.has_value()) return;
  for (const DeletionVectorRange& range : *entry.deletion_vectors) {
    const auto rows = live.find({entry.partition.bytes, range.data_file});
    if (rows == live.end()) {
      run->Add(FindingKind::kDeletionVectorWithoutFile, path,
               "a vector for " + range.data_file + ", which is not live", "vectors for live data files only");
      continue;
    }
    if (int64_t{range.offset} + range.length > entry.file_size_bytes) {
      run->Add(
          FindingKind::kDeletionVectorOutOfRange, path,
          Told("the vector for ", range.data_file, " at ", range.offset, ", ", range.length, " bytes long"),
          Told("inside the ", entry.file_size_bytes, " bytes of the file"));
    }
    if (range.cardinality.value_or(0) > rows->second) {
      run->Add(FindingKind::kDeletionVectorOutOfRange, path,
               Told("the vector for ", range.data_file, " deletes ", *range.cardinality, " rows"),
               Told("at most its ", rows->second, " rows"));
    }
  }
}

void CheckBlock(CheckRun* run, const DeletionVectorRange& range, std::string_view bytes,
                const std::string& path, std::optional<int64_t> rows) {
  const Result<DeletionVector> vector = VectorAt(range, bytes, path);
  if (!vector.ok()) {
    run->Add(FindingKind::kDeletionVectorUnreadable, path,
             "the vector for " + range.data_file + ": " + vector.status().message(), "a whole vector");
    return;
  }
  const int64_t beyond = rows.has_value() ? vector->NextDeleted(*rows) : -1;
  if (beyond >= 0) {
    run->Add(FindingKind::kDeletionVectorOutOfRange, path,
             Told("the vector for ", range.data_file, " deletes row ", beyond),
             Told("positions below its ", *rows, " rows"));
  }
  if (range.cardinality.value_or(vector->cardinality()) != vector->cardinality()) {
    run->Add(FindingKind::kDeletionVectorCountWrong, path,
             Told("the vector for ", range.data_file, " deletes ", vector->cardinality(), " rows"),
             Told(*range.cardinality, ", as its manifest says"));
  }
}

void CheckBlocks(CheckRun* run, const IndexManifestEntry& entry, const std::string& path,
                 const LiveRows& live) {
  if (!run->options.data || !entry.deletion_vectors.has_value()) return;
  const Result<std::string> bytes = ReadBounded(run->store.get(), path, kMostManifestBytes);
  if (!bytes.ok())
    return run->Add(FindingKind::kDeletionVectorUnreadable, path, bytes.status().message(), "an index file");
  if (bytes->empty() || bytes->front() != 1) {
    run->Add(FindingKind::kDeletionVectorUnreadable, path, "another version", "version 1 in the first byte");
    return;
  }
  for (const DeletionVectorRange& range : *entry.deletion_vectors) {
    const auto rows = live.find({entry.partition.bytes, range.data_file});
    CheckBlock(run, range, *bytes, path, rows == live.end() ? std::nullopt : std::optional(rows->second));
  }
}

// All hashes of a partition, to hold its rows against.
void TakeHashes(CheckRun* run, const IndexManifestEntry& entry, const std::string& path, bool whole) {
  if (!run->options.data) return;
  const auto [it, fresh] = run->hash_index.try_emplace(entry.partition.bytes, nullptr);
  if (fresh) it->second = std::make_shared<PartitionIndex>(INT64_MAX, std::nullopt);
  if (!whole) it->second = nullptr;  // why was told
  if (it->second == nullptr) return;
  const Result<std::string> bytes = ReadBounded(run->store.get(), path, kMostManifestBytes);
  const auto hashes =
      bytes.ok() ? DecodeHashIndex(*bytes, path) : Result<std::vector<int32_t>>(bytes.status());
  if (!hashes.ok()) {
    it->second = nullptr;
    return;
  }
  const Status taken = it->second->Load(entry.bucket, *hashes);
  if (taken.ok()) return;
  run->Add(FindingKind::kHashInTwoBuckets, path, taken.message(), "each hash in one bucket of its partition");
  it->second = nullptr;
}

void CheckIndexFile(CheckRun* run, const Root& root, const IndexManifestEntry& entry,
                    const std::string& manifest, const LiveRows& live) {
  if (entry.external_path.has_value()) return;  // outside the table: its store is not at hand
  std::string path = run->path + "/index/" + entry.file_name;
  auto info = run->store->Stat(path);
  if (info.ok() && !info->has_value()) {
    // `index-file-in-data-file-dir` puts it beside the data.
    const Result<std::string> directory = root.table.BucketDirectory(entry.partition, entry.bucket);
    if (directory.ok()) {
      auto beside = run->store->Stat(*directory + "/" + entry.file_name);
      if (beside.ok() && beside->has_value()) {
        path = *directory + "/" + entry.file_name;
        info = std::move(beside);
      }
    }
  }
  run->Refer(path);
  if (!info.ok() || !info->has_value()) {
    run->Add(FindingKind::kIndexFileMissing, path,
             info.ok() ? std::string("no such file") : info.status().message(),
             "index manifest " + manifest + " names it");
    if (entry.index_type == kHashIndexType) TakeHashes(run, entry, path, /*whole=*/false);
    return;
  }
  bool whole = true;
  if ((*info)->size_bytes != entry.file_size_bytes) {
    run->Add(FindingKind::kIndexFileSizeWrong, path, Told((*info)->size_bytes, " bytes"),
             Told(entry.file_size_bytes, " bytes, as its manifest says"));
    whole = false;
  } else if (entry.index_type == kHashIndexType && entry.file_size_bytes / kHashBytes != entry.row_count) {
    run->Add(FindingKind::kIndexFileSizeWrong, path, Told((*info)->size_bytes, " bytes"),
             Told(kHashBytes, " bytes for each of the ", entry.row_count, " hashes its manifest counts"));
  }
  if (entry.index_type == kHashIndexType) TakeHashes(run, entry, path, whole);
  CheckVectors(run, entry, path, live);
  CheckBlocks(run, entry, path, live);
}

using FilesWithVector = std::set<std::pair<BucketPlace, std::string>>;

// Which of two vectors holds, no reader can tell.
void CheckRepeated(CheckRun* run, const IndexManifestEntry& entry, const std::string& manifest,
                   FilesWithVector* seen) {
  if (entry.index_type != kDeletionVectorsIndex || !entry.deletion_vectors.has_value()) return;
  for (const DeletionVectorRange& range : *entry.deletion_vectors) {
    if (seen->insert({{entry.partition, entry.bucket}, range.data_file}).second) continue;
    run->Add(FindingKind::kDeletionVectorRepeated, manifest,
             "a second vector for " + range.data_file + ", in " + entry.file_name, "one vector a data file");
  }
}

}  // namespace

void CheckIndexes(CheckRun* run, const Root& root, const NamedState& state,
                  const std::vector<ManifestEntry>& live) {
  run->hash_index.clear();
  if (!state.snapshot.index_manifest.has_value()) return;
  const std::string& name = *state.snapshot.index_manifest;
  const std::string path = run->path + "/manifest/" + name;
  run->Refer(path);
  ++run->looked_at.manifests;
  const Result<std::string> bytes = ReadBounded(run->store.get(), path, kMostManifestBytes);
  if (IsKind(bytes.status(), ErrorKind::kNotFound)) {
    run->Add(FindingKind::kIndexManifestMissing, path, "no such file",
             Told("snapshot ", state.snapshot.id, " names it"));
    run->referred_is_complete = false;
    return;
  }
  const auto entries =
      bytes.ok() ? ReadIndexManifest(*bytes, path) : Result<std::vector<IndexManifestEntry>>(bytes.status());
  if (!entries.ok()) {
    run->Add(FindingKind::kIndexManifestUnreadable, path, entries.status().message(), "an index manifest");
    run->referred_is_complete = false;
    return;
  }
  const LiveRows rows = RowsOf(live);
  FilesWithVector seen;
  for (const IndexManifestEntry& entry : *entries) {
    if (entry.kind != EntryKind::kAdd) {
      run->Add(FindingKind::kIndexManifestUnreadable, path, "an entry that deletes " + entry.file_name,
               "entries that add files only");
      continue;
    }
    CheckIndexFile(run, root, entry, path, rows);
    CheckRepeated(run, entry, path, &seen);
  }
}

}  // namespace headrace
