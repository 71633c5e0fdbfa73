// How a table must change so that it can take the rows of a PostgreSQL relation, and the table that a new one needs.
//
// A missing column is added; a type that holds less than PostgreSQL's is widened where that loses nothing; a NOT NULL column that the relation
// lacks takes nulls from here on. Nothing is dropped or narrowed: docs/decisions/0006-sources.md. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "format/table_schema.h"
#include "headrace/alter_terms.h"
#include "ingest/pgoutput_decoder.h"
#include "ingest/postgres_catalog.h"
#include "ingest/postgres_types.h"

namespace headrace::ingest {

struct NeededChanges {
  std::vector<SchemaChange> required;  // without them rows cannot be taken
  std::vector<SchemaChange> widening;  // values that still fit can be taken without them
};
NeededChanges ChangesFor(const pgoutput::Relation& relation, const PostgresTypes& types,
                         const TableSchema& schema);

// What is wrong with a table's primary key for a relation whose rows are told apart by `source_key`; empty when nothing is. A column that only
// the source has in its key would make different rows replace each other; one that only the table has must come with old rows.
std::string KeyMismatch(const std::vector<std::string>& table_key, const pgoutput::Relation& relation,
                        const std::vector<std::string>& source_key);

// Columns are nullable but for the key: PostgreSQL may drop NOT NULL, or the column, without a word.
NewTable TableFor(const SourceTable& source, const PostgresTypes& types);

}  // namespace headrace::ingest
