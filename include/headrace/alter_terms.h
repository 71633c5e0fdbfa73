// Changes of a table's schema, as plain values that callers and the rooms behind them share.
//
// A column is named by its path: {"a"}; {"n", "x"} for the field x of the ROW column n. Inside an ARRAY "element" stands for its elements, inside
// a MAP "value" for its values: {"a", "element", "x"}. Changes apply in their order, all or none. Types are SQL text, as in CREATE TABLE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headrace {

using ColumnPath = std::vector<std::string>;

struct ColumnPlace {
  enum class Where { kFirst, kLast, kBefore, kAfter };
  Where where = Where::kLast;
  std::string column;  // of kBefore and kAfter; a field beside it inside a ROW
  bool operator==(const ColumnPlace&) const = default;
};

// Its values in older rows are null, so the type may not be NOT NULL.
struct AddColumn {
  ColumnPath column;
  std::string type;
  std::string comment = {};
  std::optional<ColumnPlace> place = {};  // nothing: last, or as `add-column-before-partition` says
  bool operator==(const AddColumn&) const = default;
};
struct DropColumn {
  ColumnPath column;
  bool operator==(const DropColumn&) const = default;
};
// Options and keys that name the column follow.
struct RenameColumn {
  ColumnPath column;
  std::string name;
  bool operator==(const RenameColumn&) const = default;
};
// To a type that holds every value of the old one.
struct RetypeColumn {
  ColumnPath column;
  std::string type;
  bool keep_nullability = false;  // else the type says it
  bool operator==(const RetypeColumn&) const = default;
};
// NOT NULL no longer.
struct AllowNulls {
  ColumnPath column;
  bool operator==(const AllowNulls&) const = default;
};
struct CommentColumn {
  ColumnPath column;
  std::string comment;  // empty: none
  bool operator==(const CommentColumn&) const = default;
};
struct MoveColumn {
  std::string column;
  ColumnPlace place;
  bool operator==(const MoveColumn&) const = default;
};
struct CommentTable {
  std::string comment;  // empty: none
  bool operator==(const CommentTable&) const = default;
};
struct SetOption {
  std::string key;
  std::string value;
  bool operator==(const SetOption&) const = default;
};
struct UnsetOption {
  std::string key;
  bool operator==(const UnsetOption&) const = default;
};

using SchemaChange = std::variant<AddColumn, DropColumn, RenameColumn, RetypeColumn, AllowNulls,
                                  CommentColumn, MoveColumn, CommentTable, SetOption, UnsetOption>;

// What a change of the schema came to.
struct AlteredTable {
  int64_t schema_id = 0;
  bool changed = false;            // no: the table was like that, and no schema was added
  std::vector<std::string> notes;  // to be told: options that Paimon does not know
};

}  // namespace headrace
