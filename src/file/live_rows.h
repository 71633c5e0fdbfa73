// A data file without the rows that its deletion vector marks.
//
// Batches keep their order and lose the deleted rows; a batch that loses all is passed over. Not thread-safe, as any reader.
// Source: ApplyDeletionVectorReader.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "file/data_file_reader.h"
#include "format/deletion_vector.h"

namespace headrace {

// `reader` gives all rows of `file`. kCorruption when the vector marks rows that the file does not have.
Result<std::unique_ptr<DataFileReader>> HideDeleted(std::unique_ptr<DataFileReader> reader,
                                                    const DataFileMeta& file,
                                                    std::shared_ptr<const DeletionVector> deleted,
                                                    arrow::MemoryPool* pool);

}  // namespace headrace
