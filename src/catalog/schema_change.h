// The next schema of a table: its latest one and a list of changes, or an error that names the column or option and the rule.
//
// Pure. Field ids are given from `highest_field_id` on and never again; everything that no change concerns stays, options unknown to us
// too. The result passes what a new table must pass, as far as the old one did. docs/decisions/0005-schema-changes.md has the rules.
// Source: SchemaManager.generateTableSchema, NestedColumnModifier.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/table_schema.h"
#include "headrace/alter_terms.h"

namespace headrace {

struct AlterContext {
  std::string table;          // for messages
  bool has_snapshots = true;  // some options are free until there are
  bool rescaling = false;     // `bucket` may become another number
  int64_t now_ms = 0;         // the new schema's time
};

// With the next id; the schema as it is, its id too, when nothing changes.
Result<TableSchema> ApplyChanges(const TableSchema& schema, const std::vector<SchemaChange>& changes,
                                 const AlterContext& context);

}  // namespace headrace
