#include "ingest/postgres_schema.h"

#include <algorithm>

#include "file/evolve.h"

namespace headrace::ingest {
namespace {

bool IsKey(const TableSchema& schema, const std::string& column) {
  return std::find(schema.primary_keys.begin(), schema.primary_keys.end(), column) !=
         schema.primary_keys.end();
}

bool Widens(const std::string& column, const DataType& from, DataType to) {
  to.nullable = from.nullable;
  return !(from == to) && CheckWidening(column, from, to).ok();
}

}  // namespace

NeededChanges ChangesFor(const pgoutput::Relation& relation, const PostgresTypes& types,
                         const TableSchema& schema) {
  NeededChanges needed;
  std::vector<bool> there(schema.fields.size(), false);
  for (const pgoutput::RelationColumn& column : relation.columns) {
    const DataType type = types.Map(column.type_oid, column.type_modifier);
    const int index = schema.FieldIndex(column.name);
    if (index < 0) {
      needed.required.emplace_back(AddColumn{{column.name}, ToSql(type)});
      continue;
    }
    there[static_cast<size_t>(index)] = true;
    if (Widens(column.name, schema.fields[static_cast<size_t>(index)].type, type))
      needed.widening.emplace_back(RetypeColumn{{column.name}, ToSql(type), /*keep_nullability=*/true});
  }
  for (size_t i = 0; i < there.size(); ++i) {
    const DataField& field = schema.fields[i];
    if (!there[i] && !field.type.nullable && !IsKey(schema, field.name))
      needed.required.emplace_back(AllowNulls{{field.name}});
  }
  return needed;
}

std::string KeyMismatch(const std::vector<std::string>& table_key, const pgoutput::Relation& relation,
                        const std::vector<std::string>& source_key) {
  if (table_key.empty()) return {};
  const auto has = [](const std::vector<std::string>& key, const std::string& column) {
    return std::find(key.begin(), key.end(), column) != key.end();
  };
  for (const std::string& column : source_key) {
    if (!has(table_key, column))
      return "PostgreSQL tells its rows apart by column " + column +
             " too, which is not in the table's primary key";
  }
  for (const std::string& column : table_key) {
    const auto there =
        std::find_if(relation.columns.begin(), relation.columns.end(),
                     [&column](const pgoutput::RelationColumn& one) { return one.name == column; });
    if (there == relation.columns.end())
      return "PostgreSQL's table has no column " + column + ", which is in the primary key";
    if (relation.identity != pgoutput::ReplicaIdentity::kFull && !has(source_key, column))
      return "PostgreSQL does not send column " + column +
             " of old rows, which is in the primary key; set REPLICA IDENTITY FULL";
  }
  return {};
}

NewTable TableFor(const SourceTable& source, const PostgresTypes& types) {
  NewTable table;
  for (const pgoutput::RelationColumn& column : source.relation.columns) {
    DataField field;
    field.name = column.name;
    field.type = types.Map(column.type_oid, column.type_modifier);
    table.fields.push_back(std::move(field));
  }
  table.primary_keys = source.key;
  return table;
}

}  // namespace headrace::ingest
