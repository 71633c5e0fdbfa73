// The options of merge engines: read into TableOptions, and refused by name where they do not fit the schema or each other.
//
// `options` have today's names. kInvalid says what Java would refuse too; kUnsupported names what is not built.
// Source: PartialUpdateMergeFunction.Factory, AggregateMergeFunction.Factory, FieldAggregatorFactory, SchemaValidation.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "format/table_options.h"
#include "format/table_schema.h"

namespace headrace {

// Engine, rules and the options about kinds of rows. sequence.field, ignore-delete and changelog-producer are parsed already.
Status ReadMergeEngine(const std::map<std::string, std::string>& options, const TableSchema& schema,
                       Access access, TableOptions* out);

// Whether an engine merges the column's values: not those of the primary key and of the partition, alike in all rows that meet.
bool IsMerged(const TableSchema& schema, const std::string& column);

}  // namespace headrace
