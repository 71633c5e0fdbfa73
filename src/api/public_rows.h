// Rows as the public API gives them: their Arrow fields carry Paimon's types in the metadata kTypeMetadataKey.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "format/data_type.h"

namespace headrace {

std::shared_ptr<arrow::Schema> PublicSchemaOf(const std::vector<DataField>& fields);

// The batches of `rows` with another schema of the same layout; `rows` null: none.
std::unique_ptr<arrow::RecordBatchReader> WithSchema(std::unique_ptr<arrow::RecordBatchReader> rows,
                                                     std::shared_ptr<arrow::Schema> schema);

std::unique_ptr<arrow::RecordBatchReader> ReaderOf(std::shared_ptr<arrow::RecordBatch> batch);

}  // namespace headrace
