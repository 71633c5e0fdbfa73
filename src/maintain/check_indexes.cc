// The index manifest of a state: index files are there, deletion vectors are for live files and inside their index file.
#include <map>
#include <set>
#include <utility>

#include <zlib.h>

#include "file/manifest_file.h"
#include "maintain/check_states.h"

namespace headrace {
namespace {

constexpr std::string_view kHash = "HASH";
constexpr int64_t kHashBytes = 4;

constexpr uint32_t kMark32 = 1581511376;  // of a 32-bit vector, big-endian
constexpr uint32_t kMark64 = 1681511377;  // of a 64-bit vector, little-endian
constexpr size_t kNumberBytes = 4;

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// What is wrong with the block of one vector: a length, its mark and bitmap, a checksum over these. Empty: nothing.
// Source: DeletionVectorsIndexFile, DeletionVector.read.
std::string WrongWith(const DeletionVectorRange& range, std::string_view file) {
  const auto offset = static_cast<size_t>(range.offset);
  if (offset + 2 * kNumberBytes > file.size()) return "it ends before its mark";
  const size_t length = BigEndian(file, offset);
  const size_t begin = offset + kNumberBytes;
  if (length < kNumberBytes || length > file.size() - begin || file.size() - begin - length < kNumberBytes)
    return Told("its length is ", length);
  const uint32_t mark = BigEndian(file, begin);
  // The 32-bit form is told without length and checksum, the 64-bit form with both.
  const size_t told = mark == kMark32 ? length : length + 2 * kNumberBytes;
  if (mark != kMark32 && __builtin_bswap32(mark) != kMark64) return Told("its mark is ", mark);
  if (static_cast<size_t>(range.length) != told)
    return Told("it is ", told, " bytes long, its manifest says ", range.length);
  const auto* content = reinterpret_cast<const unsigned char*>(file.data()) + begin;
  const auto sum = static_cast<uint32_t>(crc32_z(crc32_z(0, nullptr, 0), content, length));
  return sum == BigEndian(file, begin + length) ? "" : "its checksum is wrong";
}

void CheckBlocks(CheckRun* run, const IndexManifestEntry& entry, const std::string& path) {
  if (!run->options.data || !entry.deletion_vectors.has_value()) return;
  const Result<std::string> bytes = ReadBounded(run->store.get(), path, kMostManifestBytes);
  if (!bytes.ok())
    return run->Add(FindingKind::kDeletionVectorUnreadable, path, bytes.status().message(), "an index file");
  if (bytes->empty() || bytes->front() != 1) {
    run->Add(FindingKind::kDeletionVectorUnreadable, path, "another version", "version 1 in the first byte");
    return;
  }
  for (const DeletionVectorRange& range : *entry.deletion_vectors) {
    const std::string wrong = WrongWith(range, *bytes);
    if (wrong.empty()) continue;
    run->Add(FindingKind::kDeletionVectorUnreadable, path, "the vector for " + range.data_file + ": " + wrong,
             "a whole vector");
  }
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
    return;
  }
  if ((*info)->size_bytes != entry.file_size_bytes) {
    run->Add(FindingKind::kIndexFileSizeWrong, path, Told((*info)->size_bytes, " bytes"),
             Told(entry.file_size_bytes, " bytes, as its manifest says"));
  } else if (entry.index_type == kHash && entry.file_size_bytes / kHashBytes != entry.row_count) {
    run->Add(FindingKind::kIndexFileSizeWrong, path, Told((*info)->size_bytes, " bytes"),
             Told(kHashBytes, " bytes for each of the ", entry.row_count, " hashes its manifest counts"));
  }
  CheckVectors(run, entry, path, live);
  CheckBlocks(run, entry, path);
}

}  // namespace

void CheckIndexes(CheckRun* run, const Root& root, const NamedState& state,
                  const std::vector<ManifestEntry>& live) {
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
  for (const IndexManifestEntry& entry : *entries) {
    if (entry.kind != EntryKind::kAdd) {
      run->Add(FindingKind::kIndexManifestUnreadable, path, "an entry that deletes " + entry.file_name,
               "entries that add files only");
      continue;
    }
    CheckIndexFile(run, root, entry, path, rows);
  }
}

}  // namespace headrace
