// What a MySQL or MariaDB statement does to a table's columns, as far as it tells: for the DDL lines in streams of change events.
//
// Pure, and forgiving: a clause that is no change of columns (indexes, comments, engines) is passed over, and a statement that is not understood is
// kOther. It never guesses: a change that it does not see leaves the table as it was, and the next row that does not fit is refused.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::ingest {

struct DdlName {
  std::string database;  // empty: the statement's
  std::string table;
  bool operator==(const DdlName&) const = default;
};

struct DdlColumnChange {
  enum class What { kAdd, kModify, kRename, kDrop };
  What what = What::kAdd;
  std::string column;   // of kRename the old name
  std::string renamed;  // of kRename
  std::string type;     // of kAdd and kModify, as written: "decimal(30,10) unsigned"
  bool operator==(const DdlColumnChange&) const = default;
};

struct Ddl {
  enum class Kind { kOther, kCreate, kAlter, kDrop, kTruncate, kRename };
  Kind kind = Kind::kOther;
  DdlName table;                                     // of kCreate, kAlter, kDrop, kTruncate
  std::vector<DdlColumnChange> columns;              // of kCreate (kAdd alone) and kAlter, in their order
  std::vector<std::string> primary_key;              // of kCreate
  std::vector<std::pair<DdlName, DdlName>> renamed;  // of kRename, and of ALTER … RENAME TO
};

Ddl ParseMysqlDdl(std::string_view sql);

}  // namespace headrace::ingest
