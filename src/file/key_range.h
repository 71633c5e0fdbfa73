// Whether a file's rows lie in the key range that its manifest entry promises, as far as the footer tells.
//
// Readers trust the range: it decides which files are merged with each other and which can hold a key. A range that is too narrow would give a
// key twice or hide a row, so it is held against the footer's bounds of the first key column, which cost no reading. A range wider
// than the rows does no harm. Floats are left out (footers know no NaN), and so is what footers have no bounds of. Pure.
#pragma once

#include "base/error.h"
#include "format/data_file_meta.h"
#include "format/table_schema.h"

namespace parquet {
class FileMetaData;
}

namespace headrace {

// `written`: the schema of the file. kCorruption without the file's path, for the caller to name.
Status CheckKeyRange(const parquet::FileMetaData& footer, const TableSchema& written,
                     const DataFileMeta& file);

}  // namespace headrace
