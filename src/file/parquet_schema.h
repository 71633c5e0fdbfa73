// The Parquet schema of a list of Paimon fields, node for node as Java Paimon writes it.
//
// Message name `paimon_schema`; every column carries its field id, nested elements, keys and values the derived ids;
// TIMESTAMP above precision 6 is INT96, decimals are INT32, INT64 or fixed bytes by precision, map keys are required.
// Pure; any thread. Source: ParquetSchemaConverter, SpecialFields.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "format/data_type.h"

namespace parquet::schema {
class GroupNode;
}

namespace headrace {

Result<std::shared_ptr<parquet::schema::GroupNode>> ToParquetSchema(const std::vector<DataField>& fields);

}  // namespace headrace
