// What a table lacks for the rows of its source: columns to add, types to widen, NOT NULL to lift, as changes that `headrace alter` would make.
//
// Pure. The changes of one answer are those that the failing column needs, and every column that is not there yet; an empty answer means that no
// change of the schema would help. They are asked for only when a row does not fit, so a table that is deliberately wider than its source stays as it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "format/data_type.h"
#include "headrace/alter_terms.h"
#include "ingest/event.h"
#include "ingest/mysql_ddl.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

// As the source declares it now.
struct SourceColumn {
  std::string name;
  DataType type;
};

// `place` is the dotted path of the value that did not fit: "after.name", "data[2].name", "name".
std::vector<SchemaChange> ChangesToTake(const TableShape& table, std::span<const SourceColumn> columns,
                                        const std::string& place);

// Makes a bad outcome that such changes help one that asks for them.
void OfferChanges(const TableShape& table, std::span<const SourceColumn> columns, LineOutcome* outcome);

// What a statement of the source does to the table's columns. What is done already is left out, so the same statement twice changes once.
// kNames: renamed and dropped columns alone, where the rows themselves tell the types.
enum class DdlExtent { kNames, kAll };
std::vector<SchemaChange> ChangesOf(const Ddl& ddl, DdlExtent extent, const TableShape& table);
// What becomes of the line with the statement: it asks for the changes that are not made yet, or is ignored.
LineOutcome FollowDdl(const Ddl& ddl, DdlExtent extent, const TableShape& table);

// "add channel STRING", to tell of it.
std::string Described(const SchemaChange& change);

}  // namespace headrace::ingest
