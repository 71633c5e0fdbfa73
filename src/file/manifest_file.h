// Manifest files of any container: Avro, Parquet or ORC, told by their first bytes.
//
// Java 1.3.1 can be asked (`manifest.format`) to store manifest lists, manifests and index manifests as Parquet or ORC; readers must take
// all three. Avro goes straight to format/manifest.h, the others by way of Arrow columns. Pure over the bytes; any thread; no
// exception leaves. Errors are kCorruption naming `origin`; ORC without a time zone database on the machine is kUnsupported.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/manifest.h"

namespace headrace {

Result<std::vector<ManifestFileMeta>> ReadManifestList(std::string_view bytes, std::string_view origin);
Result<std::vector<ManifestEntry>> ReadManifest(std::string_view bytes, std::string_view origin);
Result<std::vector<IndexManifestEntry>> ReadIndexManifest(std::string_view bytes, std::string_view origin);

// The rows of a Parquet or ORC manifest file, columns named as stored. Timestamps are in milliseconds.
Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> ManifestBatches(std::string_view bytes,
                                                                         ManifestContainer container,
                                                                         std::string_view origin);

}  // namespace headrace
