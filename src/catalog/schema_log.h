// A table's schema files: schema/schema-0, schema-1 …, each published once and never changed.
//
// The newest is the table's; every data file names the one it was written with. Changing a schema means publishing the next number,
// and whoever loses that race starts over from the newest. Everything not understood is carried along. Functions of the store.
// Source: SchemaManager, SchemaValidation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "catalog/table.h"
#include "format/table_schema.h"
#include "headrace/alter_terms.h"
#include "io/store.h"

namespace headrace {

// Nothing when `table_path` holds no table.
Result<std::optional<SchemaId>> FindLatestSchemaId(Store* store, const std::string& table_path);
Result<std::vector<SchemaId>> ListSchemaIds(Store* store, const std::string& table_path);  // ascending

// kNotFound when there is no such version; kCorruption when the file tells another id.
Result<TableSchema> ReadSchema(Store* store, const std::string& table_path, SchemaId id);

// Publishes schema 0. kAlreadyExists when another writer was first.
Status PublishFirstSchema(Store* store, const std::string& table_path, const TableSchema& schema);

// The lookup of one table: each version is read once. Thread-safe.
SchemaLookup RememberingSchemaLookup(std::shared_ptr<Store> store, std::string table_path);

// Publishes the next schema (schema_change.h), and gives it; the newest as it is, and nothing published, when the changes change nothing. Who
// loses the race for its number starts over from the newest. kNotFound when the table is gone.
Result<TableSchema> AlterSchema(const Table& table, const std::vector<SchemaChange>& changes);

// The same with `bucket`, which only who writes the rows anew may change.
Result<TableSchema> AlterBuckets(const Table& table, int32_t buckets);

}  // namespace headrace
