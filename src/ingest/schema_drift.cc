#include "ingest/schema_drift.h"

#include <algorithm>
#include <optional>

#include "file/evolve.h"
#include "ingest/mysql_types.h"

namespace headrace::ingest {
namespace {

constexpr int32_t kMostDigits = 38;

// Is `column` what stands at the end of the path?
bool IsAt(const std::string& place, const std::string& column) {
  if (place == column) return true;
  return place.size() > column.size() && place.ends_with(column) &&
         place[place.size() - column.size() - 1] == '.';
}

// The type that holds all values of both, by a cast that loses nothing; nothing when `from` does already, or none is allowed.
std::optional<DataType> Wider(const std::string& column, const DataType& from, const DataType& source) {
  DataType to = source;
  if (from.root == TypeRoot::kDecimal && source.root == TypeRoot::kDecimal) {
    const int32_t whole = std::max(from.precision - from.scale, source.precision - source.scale);
    to.scale = std::max(from.scale, source.scale);
    to.precision = whole + to.scale;
    if (to.precision > kMostDigits) return std::nullopt;
  }
  to.nullable = from.nullable;
  if (to == from || !CheckWidening(column, from, to).ok()) return std::nullopt;
  return to;
}

SchemaChange Retype(const std::string& column, DataType to) {
  to.nullable = true;
  return RetypeColumn{{column}, ToSql(to), /*keep_nullability=*/true};
}

SchemaChange Add(const std::string& column, DataType type) {
  type.nullable = true;
  return AddColumn{{column}, ToSql(type)};
}

const DataField* FindField(const std::vector<DataField>& fields, std::string_view name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const DataField& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace

std::vector<SchemaChange> ChangesToTake(const TableShape& table, std::span<const SourceColumn> columns,
                                        const std::string& place) {
  std::vector<SchemaChange> changes;
  // Events without the table's key are another table's: they shall not leave their columns here.
  for (const int key : table.key_columns) {
    const std::string& name = table.fields[key].name;
    if (std::none_of(columns.begin(), columns.end(),
                     [&](const SourceColumn& one) { return one.name == name; }))
      return changes;
  }
  bool helps = false;
  for (const SourceColumn& column : columns) {
    const DataField* field = FindField(table.fields, column.name);
    if (field == nullptr) {
      changes.push_back(Add(column.name, column.type));
      helps = helps || IsAt(place, column.name);
    } else if (IsAt(place, column.name)) {
      if (const std::optional<DataType> wider = Wider(field->name, field->type, column.type)) {
        changes.push_back(Retype(column.name, *wider));
        helps = true;
      } else if (!field->type.nullable && column.type.nullable &&
                 !table.is_key(static_cast<int>(field - table.fields.data()))) {
        changes.push_back(AllowNulls{{column.name}});
        helps = true;
      }
    }
  }
  for (const DataField& field : table.fields) {
    const bool comes = std::any_of(columns.begin(), columns.end(),
                                   [&](const SourceColumn& column) { return column.name == field.name; });
    const bool is_key = table.is_key(static_cast<int>(&field - table.fields.data()));
    if (comes || is_key || field.type.nullable || !IsAt(place, field.name)) continue;
    changes.push_back(AllowNulls{{field.name}});
    helps = true;
  }
  if (!helps) changes.clear();
  return changes;
}

void OfferChanges(const TableShape& table, std::span<const SourceColumn> columns, LineOutcome* outcome) {
  if (outcome->fate != LineFate::kBad || columns.empty()) return;
  std::vector<SchemaChange> changes = ChangesToTake(table, columns, outcome->field);
  if (changes.empty()) return;
  outcome->fate = LineFate::kSchemaChange;
  outcome->changes = std::move(changes);
}

LineOutcome FollowDdl(const Ddl& ddl, DdlExtent extent, const TableShape& table) {
  std::vector<SchemaChange> changes = ChangesOf(ddl, extent, table);
  if (changes.empty()) return LineOutcome::Ignored("schema change");
  LineOutcome outcome = LineOutcome::Bad("", "the source changed its table");
  outcome.fate = LineFate::kSchemaChange;
  outcome.changes = std::move(changes);
  return outcome;
}

std::string Described(const SchemaChange& change) {
  struct Describe {
    std::string operator()(const AddColumn& one) const { return "add " + one.column.back() + " " + one.type; }
    std::string operator()(const DropColumn& one) const { return "drop " + one.column.back(); }
    std::string operator()(const RenameColumn& one) const {
      return "rename " + one.column.back() + " to " + one.name;
    }
    std::string operator()(const RetypeColumn& one) const {
      return "retype " + one.column.back() + " " + one.type;
    }
    std::string operator()(const AllowNulls& one) const { return "allow nulls in " + one.column.back(); }
    std::string operator()(const CommentColumn& one) const { return "comment " + one.column.back(); }
    std::string operator()(const MoveColumn& one) const { return "move " + one.column; }
    std::string operator()(const CommentTable&) const { return "comment the table"; }
    std::string operator()(const SetOption& one) const { return "set " + one.key; }
    std::string operator()(const UnsetOption& one) const { return "unset " + one.key; }
  };
  return std::visit(Describe(), change);
}

std::vector<SchemaChange> ChangesOf(const Ddl& ddl, DdlExtent extent, const TableShape& table) {
  std::vector<SchemaChange> changes;
  if (ddl.kind != Ddl::Kind::kAlter) return changes;
  std::vector<DataField> fields = table.fields;
  const auto find = [&](const std::string& name) {
    return std::find_if(fields.begin(), fields.end(),
                        [&](const DataField& field) { return field.name == name; });
  };
  for (const DdlColumnChange& change : ddl.columns) {
    const auto field = find(change.column);
    const std::optional<DataType> type = TypeOfMysql(change.type);
    switch (change.what) {
      case DdlColumnChange::What::kAdd:
      case DdlColumnChange::What::kModify:
        if (!type || extent == DdlExtent::kNames) break;
        if (field == fields.end()) {
          changes.push_back(Add(change.column, *type));
          fields.emplace_back();
          fields.back().name = change.column;
          fields.back().type = *type;
        } else if (const std::optional<DataType> wider = Wider(change.column, field->type, *type)) {
          changes.push_back(Retype(change.column, *wider));
          field->type = *wider;
        }
        break;
      case DdlColumnChange::What::kRename:
        if (field == fields.end() || find(change.renamed) != fields.end()) break;
        changes.push_back(RenameColumn{{change.column}, change.renamed});
        field->name = change.renamed;
        break;
      case DdlColumnChange::What::kDrop:
        if (field == fields.end()) break;
        changes.push_back(DropColumn{{change.column}});
        fields.erase(field);
        break;
    }
  }
  return changes;
}

}  // namespace headrace::ingest
