// A table's schema files: schema/schema-0, schema-1 …, each published once and never changed.
//
// The newest is the table's; every data file names the one it was written with. Changing a schema means publishing the next number,
// and whoever loses that race starts over from the newest. Everything not understood is carried along. Functions of the store.
// Source: SchemaManager, SchemaValidation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "catalog/table.h"
#include "format/table_schema.h"
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

// Publishes a schema with options set and removed, and gives it. A key that fixes how existing data lies (bucket-key, merge-engine …)
// cannot change once a snapshot exists: kInvalid names it. Nothing is published when nothing would change.
Result<TableSchema> AlterOptions(const Table& table, const std::map<std::string, std::string>& set,
                                 const std::vector<std::string>& unset);

}  // namespace headrace
