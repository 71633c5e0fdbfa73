// Partition folders: the text of a partition's values and back to where its files lie.
//
// The folder is only where to look; the values come from the manifest's bytes. Pure. Source: PartitionPathUtils,
// InternalRowPartitionComputer, FileStorePathFactory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "format/binary_row.h"
#include "format/data_type.h"
#include "format/table_options.h"

namespace headrace {

// "dt=2024-01-01/region=eu/", or "" for an unpartitioned table.
Result<std::string> PartitionPath(const BinaryRow& partition, std::span<const DataField> partition_fields,
                                  const TableOptions& options);

// "dt=2024-01-01/bucket-3", relative to the table's folder.
Result<std::string> BucketPath(const BinaryRow& partition, std::span<const DataField> partition_fields,
                               BucketId bucket, const TableOptions& options);

// Escapes the fixed set of ASCII characters as %XX; everything else stays.
std::string EscapePathName(std::string_view text);

}  // namespace headrace
