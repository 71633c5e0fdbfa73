// Index files of deletion vectors: which rows of a bucket's data files are deleted, read and written.
//
// A file is a version byte and a vector after the other; the entry of an index manifest tells where each of them is. A written file is
// complete and durable when its entry is handed out, and listed nowhere; on failure none is left. Functions of the store, no state.
// Source: DeletionVectorsIndexFile, DeletionVectorIndexFileWriter, DeletionFileWriter.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "file/data_file_reader.h"
#include "format/deletion_vector.h"
#include "format/manifest.h"
#include "io/store.h"

namespace headrace {

// The vectors that `entries`, all of one bucket, name; entries of other index types are passed over. kCorruption: bytes or a range that
// are no vector, or a count of rows that differs; two vectors for one data file.
Result<DeletionVectors> ReadDeletionFiles(Store* store, const std::string& index_directory,
                                          std::span<const IndexManifestEntry> entries);
// Only the vectors for the data files named.
Result<DeletionVectors> ReadDeletionFiles(Store* store, const std::string& index_directory,
                                          std::span<const IndexManifestEntry> entries,
                                          std::span<const std::string> data_files);

struct DeletionFileSpec {
  Store* store = nullptr;
  std::string index_directory;
  bool bitmap64 = false;  // deletion-vectors.bitmap64
};

// Entries say nothing of partition and bucket: whoever commits them knows these. Vectors without a deleted row are left out.
//
// A bucket's complete vectors in one file, as a table with buckets has them. Without any vector a file that replaces the one before.
Result<IndexManifestEntry> WriteDeletionFile(const DeletionFileSpec& spec, const DeletionVectors& vectors);
// As an append table without buckets has them: a new file is begun where one has passed `target_bytes`; none without vectors.
Result<std::vector<IndexManifestEntry>> WriteDeletionFiles(const DeletionFileSpec& spec,
                                                           const DeletionVectors& vectors,
                                                           int64_t target_bytes);
// The newest schema before `now` under which writers kept no deletion vectors, as far down as `oldest`; -1 when there is none. What was
// written under it or before may repeat a key on several levels without a mark.
Result<SchemaId> LastSchemaWithoutDeletionVectors(const TableSchema& now, const SchemaLookup& schema_by_id,
                                                  SchemaId oldest);

// Removes what was written and that nothing lists; the first failure is returned, the others are tried all the same.
Status DeleteIndexFiles(Store* store, const std::string& index_directory,
                        std::span<const IndexManifestEntry> entries);

}  // namespace headrace
