#include "commit/same_table.h"

#include "catalog/schema_log.h"

namespace headrace {

Status CheckSameTable(const Table& table) {
  const auto schema = ReadSchema(table.store.get(), table.path, table.schema->id);
  if (IsKind(schema.status(), ErrorKind::kNotFound))
    return NotFound("committing to table ", table.name, ": it has been dropped since it was opened");
  HEADRACE_RETURN_NOT_OK(WithContext("committing to table " + table.name, schema.status()));
  if (*schema != *table.schema)
    return NotFound(
        "committing to table ", table.name,
        ": it has been dropped and created anew since it was opened; open it again to write to the new one");
  return Status::OK();
}

}  // namespace headrace
