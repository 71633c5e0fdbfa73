#include "catalog/schema_change.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "catalog/column_options.h"
#include "catalog/fixed_options.h"
#include "file/evolve.h"
#include "format/table_options.h"

namespace headrace {
namespace {

constexpr std::string_view kElement = "element";
constexpr std::string_view kValue = "value";

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Text(const ColumnPath& path) { return Joined(path, "."); }

int IndexOf(const std::vector<DataField>& fields, std::string_view name) {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name) return static_cast<int>(i);
  return -1;
}

std::optional<std::string> UnlessEmpty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// Whether two versions differ in nothing but their id and time.
bool SameButForId(const TableSchema& a, const TableSchema& b) {
  return a.fields == b.fields && a.highest_field_id == b.highest_field_id && a.options == b.options &&
         a.primary_keys == b.primary_keys && a.partition_keys == b.partition_keys && a.comment == b.comment;
}

// One list of changes under way. Every method is one kind of change, on what those before it left.
class Alteration {
 public:
  Alteration(const TableSchema& schema, const AlterContext& context)
      : before_(schema), schema_(schema), context_(context) {}

  Status Apply(const SchemaChange& change) {
    return std::visit([this](const auto& what) { return Do(what); }, change);
  }

  Result<TableSchema> Finish() {
    if (SameButForId(before_, schema_)) return before_;
    HEADRACE_RETURN_NOT_OK(CheckWhole());
    schema_.id = SchemaId(before_.id.value + 1);
    schema_.version = 3;
    schema_.time_millis = context_.now_ms;
    return std::move(schema_);
  }

 private:
  template <typename... Args>
  Status Refused(Args&&... args) const {
    return Invalid("altering table ", context_.table, ": ", std::forward<Args>(args)...);
  }

  // What a new table must be, as far as this one was: others may write what is not built here.
  Status CheckWhole() const {
    for (const Access access : {Access::kWrite, Access::kRead}) {
      const Status now = CheckTableSchema(schema_, access);
      if (now.ok()) return Status::OK();
      const bool unbuilt_before = IsKind(now, ErrorKind::kUnsupported) &&
                                  IsKind(CheckTableSchema(before_, access), ErrorKind::kUnsupported);
      if (!unbuilt_before) return WithContext("altering table " + context_.table, now);
    }
    return Status::OK();
  }

  Status NoSuchColumn(const ColumnPath& path, const std::vector<DataField>& fields) const {
    std::vector<std::string> names;
    for (const DataField& field : fields) names.push_back(field.name);
    return MakeError(ErrorKind::kNotFound, "altering table " + context_.table + ": there is no column " +
                                               Text(path) + "; there are " + Joined(names));
  }

  // Calls `edit` with the fields that hold the path's last name. `at`: how many names of the path are passed.
  template <typename Edit>
  Status EditFields(std::vector<DataField>* fields, const ColumnPath& path, size_t at,
                    const Edit& edit) const {
    if (at + 1 == path.size()) return edit(fields);
    const int index = IndexOf(*fields, path[at]);
    if (index < 0) return NoSuchColumn(path, *fields);
    return EditInside(&(*fields)[static_cast<size_t>(index)].type, path, at + 1, edit);
  }

  template <typename Edit>
  Status EditInside(DataType* type, const ColumnPath& path, size_t at, const Edit& edit) const {
    if (type->root == TypeRoot::kRow) return EditFields(&type->fields, path, at, edit);
    std::shared_ptr<const DataType>* held = HeldBy(type, path[at]);
    if (held == nullptr) return HoldsNone(*type, path, at);
    if (at + 1 == path.size())
      return Refused("column ", Text(path), ": the ", path[at], " of ", ToSql(*type),
                     " itself can only get another type");
    return EditHeld(held, [&](DataType* inner) { return EditInside(inner, path, at + 1, edit); });
  }

  Status HoldsNone(const DataType& type, const ColumnPath& path, size_t at) const {
    return Refused("there is no column ", Text(path), ": ",
                   Text(ColumnPath(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(at))), " is ",
                   ToSql(type), ", which holds no '", path[at],
                   "'; a ROW has its fields, an ARRAY 'element', a MAP 'value'");
  }

  // Calls `edit` with the field of the path.
  template <typename Edit>
  Status EditField(const ColumnPath& path, const Edit& edit) {
    HEADRACE_RETURN_NOT_OK(CheckPath(path));
    return EditFields(&schema_.fields, path, 0, [&](std::vector<DataField>* fields) {
      const int index = IndexOf(*fields, path.back());
      return index < 0 ? NoSuchColumn(path, *fields) : edit(&(*fields)[static_cast<size_t>(index)]);
    });
  }

  // Calls `edit` with the type of a field, of elements or of values.
  template <typename Edit>
  Status EditType(const ColumnPath& path, const Edit& edit) {
    HEADRACE_RETURN_NOT_OK(CheckPath(path));
    return EditTypeIn(&schema_.fields, path, 0, edit);
  }

  template <typename Edit>
  Status EditTypeIn(std::vector<DataField>* fields, const ColumnPath& path, size_t at,
                    const Edit& edit) const {
    const int index = IndexOf(*fields, path[at]);
    if (index < 0) return NoSuchColumn(path, *fields);
    return EditTypeAt(&(*fields)[static_cast<size_t>(index)].type, path, at + 1, edit);
  }

  template <typename Edit>
  Status EditTypeAt(DataType* type, const ColumnPath& path, size_t at, const Edit& edit) const {
    if (at == path.size()) return edit(type);
    if (type->root == TypeRoot::kRow) return EditTypeIn(&type->fields, path, at, edit);
    std::shared_ptr<const DataType>* held = HeldBy(type, path[at]);
    if (held == nullptr) return HoldsNone(*type, path, at);
    return EditHeld(held, [&](DataType* inner) { return EditTypeAt(inner, path, at + 1, edit); });
  }

  // What an ARRAY calls 'element' and a MAP 'value'; null where a type holds nothing of that name.
  static std::shared_ptr<const DataType>* HeldBy(DataType* type, const std::string& name) {
    if (type->root == TypeRoot::kArray && name == kElement) return &type->element;
    return type->root == TypeRoot::kMap && name == kValue ? &type->value : nullptr;
  }

  // Types that are held are shared and never changed: an edited copy takes the place.
  template <typename Edit>
  static Status EditHeld(std::shared_ptr<const DataType>* held, const Edit& edit) {
    DataType inner = **held;
    HEADRACE_RETURN_NOT_OK(edit(&inner));
    *held = std::make_shared<const DataType>(std::move(inner));
    return Status::OK();
  }

  Status CheckPath(const ColumnPath& path) const {
    const bool empty = path.empty() || std::any_of(path.begin(), path.end(),
                                                   [](const std::string& name) { return name.empty(); });
    return empty ? Refused("a column without a name is meant") : Status::OK();
  }

  // Keys are columns of the table, never fields inside one.
  bool IsAmong(const ColumnPath& path, const std::vector<std::string>& keys) const {
    return path.size() == 1 && Contains(keys, path[0]);
  }

  Status CheckIsNoKey(const ColumnPath& path, std::string_view doing) const {
    if (IsAmong(path, schema_.partition_keys))
      return Refused("column ", Text(path), " cannot be ", doing,
                     ": it is a partition key, by which files lie in folders");
    if (IsAmong(path, schema_.primary_keys))
      return Refused("column ", Text(path), " cannot be ", doing, ": it is part of the primary key");
    return Status::OK();
  }

  Result<DataType> TypeOf(const ColumnPath& path, const std::string& text) const {
    auto type = ParseDataType(text);
    if (!type.ok())
      return WithContext("altering table " + context_.table + ": column " + Text(path), type.status());
    return type;
  }

  Result<size_t> IndexAt(const std::vector<DataField>& fields, const ColumnPath& column,
                         const ColumnPlace& place) const {
    switch (place.where) {
      case ColumnPlace::Where::kFirst: return 0;
      case ColumnPlace::Where::kLast: return fields.size();
      case ColumnPlace::Where::kBefore:
      case ColumnPlace::Where::kAfter: break;
    }
    const int index = IndexOf(fields, place.column);
    if (index < 0) {
      ColumnPath beside = column;
      beside.back() = place.column;
      return NoSuchColumn(beside, fields);
    }
    return static_cast<size_t>(index) + (place.where == ColumnPlace::Where::kAfter ? 1 : 0);
  }

  // Where a new column stands when nothing is said.
  size_t UsualIndex(const std::vector<DataField>& fields, bool top) const {
    const auto option = schema_.options.find("add-column-before-partition");
    if (!top || option == schema_.options.end() || option->second != "true") return fields.size();
    for (size_t i = 0; i < fields.size(); ++i)
      if (Contains(schema_.partition_keys, fields[i].name)) return i;
    return fields.size();
  }

  Status Do(const AddColumn& add) {
    HEADRACE_RETURN_NOT_OK(CheckPath(add.column));
    std::vector<DataField> added(1);
    added[0].name = add.column.back();
    added[0].description = UnlessEmpty(add.comment);
    HEADRACE_ASSIGN_OR_RETURN(added[0].type, TypeOf(add.column, add.type));
    if (!added[0].type.nullable)
      return Refused("column ", Text(add.column),
                     " cannot be added as NOT NULL: rows that are there have no value for it");
    AssignFieldIds(&added, &schema_.highest_field_id);
    return EditFields(&schema_.fields, add.column, 0, [&](std::vector<DataField>* fields) -> Status {
      if (IndexOf(*fields, add.column.back()) >= 0)
        return AlreadyExists("altering table ", context_.table, ": column ", Text(add.column),
                             " cannot be added: it is there already");
      size_t index = UsualIndex(*fields, add.column.size() == 1);
      if (add.place.has_value()) {
        HEADRACE_ASSIGN_OR_RETURN(index, IndexAt(*fields, add.column, *add.place));
      }
      fields->insert(fields->begin() + static_cast<std::ptrdiff_t>(index), std::move(added[0]));
      return Status::OK();
    });
  }

  Status Do(const DropColumn& drop) {
    HEADRACE_RETURN_NOT_OK(CheckPath(drop.column));
    HEADRACE_RETURN_NOT_OK(CheckIsNoKey(drop.column, "dropped"));
    if (drop.column.size() == 1) {
      const std::string option = FindOptionThatNames(schema_.options, drop.column[0], /*renaming=*/false);
      if (!option.empty())
        return Refused("column ", Text(drop.column), " cannot be dropped: the option '", option,
                       "' names it; change that option first");
    }
    return EditFields(&schema_.fields, drop.column, 0, [&](std::vector<DataField>* fields) {
      const int index = IndexOf(*fields, drop.column.back());
      if (index < 0) return NoSuchColumn(drop.column, *fields);
      if (fields->size() == 1)
        return Refused("column ", Text(drop.column), " cannot be dropped: it is the only one",
                       drop.column.size() == 1 ? "" : " in its row");
      fields->erase(fields->begin() + index);
      return Status::OK();
    });
  }

  Status Do(const RenameColumn& rename) {
    HEADRACE_RETURN_NOT_OK(CheckPath(rename.column));
    if (rename.name.empty()) return Refused("column ", Text(rename.column), " cannot lose its name");
    if (IsAmong(rename.column, schema_.partition_keys))
      return Refused("column ", Text(rename.column),
                     " cannot be renamed: it is a partition key, and folders have its name");
    if (rename.name == rename.column.back()) return Status::OK();
    const bool top = rename.column.size() == 1;
    if (top) {
      const std::string option = FindOptionThatNames(schema_.options, rename.column[0], /*renaming=*/true);
      if (!option.empty())
        return Refused("column ", Text(rename.column), " cannot be renamed: the option '", option,
                       "' names it; change that option first");
    }
    HEADRACE_RETURN_NOT_OK(
        EditFields(&schema_.fields, rename.column, 0, [&](std::vector<DataField>* fields) -> Status {
          const int index = IndexOf(*fields, rename.column.back());
          if (index < 0) return NoSuchColumn(rename.column, *fields);
          if (IndexOf(*fields, rename.name) >= 0)
            return AlreadyExists("altering table ", context_.table, ": column ", Text(rename.column),
                                 " cannot be renamed to ", rename.name, ": there is a column of that name");
          (*fields)[static_cast<size_t>(index)].name = rename.name;
          return Status::OK();
        }));
    if (!top) return Status::OK();
    std::replace(schema_.primary_keys.begin(), schema_.primary_keys.end(), rename.column[0], rename.name);
    RenameInOptions(rename.column[0], rename.name, &schema_.options, &schema_.option_order);
    return Status::OK();
  }

  Status Do(const RetypeColumn& retype) {
    HEADRACE_ASSIGN_OR_RETURN(DataType wanted, TypeOf(retype.column, retype.type));
    return EditType(retype.column, [&](DataType* type) {
      if (retype.keep_nullability) wanted.nullable = type->nullable;
      if (wanted == *type) return Status::OK();
      HEADRACE_RETURN_NOT_OK(CheckIsNoKey(retype.column, "given another type"));
      HEADRACE_RETURN_NOT_OK(CheckNullability(retype.column, *type, wanted.nullable));
      HEADRACE_RETURN_NOT_OK(CheckCast(retype.column, *type, wanted));
      *type = wanted;
      return Status::OK();
    });
  }

  Status CheckCast(const ColumnPath& path, const DataType& from, const DataType& to) const {
    DataType same_nulls = to;
    same_nulls.nullable = from.nullable;
    if (same_nulls == from) return Status::OK();
    if (IsAmong(path, schema_.BucketKeys()))
      return Refused(
          "column ", Text(path),
          " cannot be given another type: it is a bucket key, and rows would hash to other buckets");
    if (from.is_nested() || to.is_nested())
      return Unsupported("altering table ", context_.table, ": column ", Text(path), " cannot change from ",
                         ToSql(from), " to ", ToSql(to),
                         ": nested types change by their parts, as in n.field, a.element or m.value");
    if (CheckWidening(Text(path), from, to).ok()) return Status::OK();
    return Unsupported(
        "altering table ", context_.table, ": column ", Text(path), " cannot change from ", ToSql(from),
        " to ", ToSql(to),
        ": only to types that hold every value it may have (wider numbers, decimals, strings and "
        "times; integers to text)");
  }

  Status CheckNullability(const ColumnPath& path, const DataType& from, bool nullable) const {
    if (!from.nullable || nullable) return Status::OK();
    return Refused("column ", Text(path), " cannot become NOT NULL: rows that are there may have none");
  }

  Status Do(const AllowNulls& allow) {
    if (IsAmong(allow.column, schema_.primary_keys))
      return Refused("column ", Text(allow.column), " cannot be null: it is part of the primary key");
    return EditType(allow.column, [](DataType* type) {
      type->nullable = true;
      return Status::OK();
    });
  }

  Status Do(const CommentColumn& comment) {
    return EditField(comment.column, [&](DataField* field) {
      field->description = UnlessEmpty(comment.comment);
      return Status::OK();
    });
  }

  Status Do(const MoveColumn& move) {
    std::vector<DataField> fields = schema_.fields;
    const int from = IndexOf(fields, move.column);
    if (from < 0) return NoSuchColumn({move.column}, fields);
    if (move.place.column == move.column)
      return Refused("column ", move.column, " cannot be moved beside itself");
    DataField moved = std::move(fields[static_cast<size_t>(from)]);
    fields.erase(fields.begin() + from);
    HEADRACE_ASSIGN_OR_RETURN(const size_t index, IndexAt(fields, {move.column}, move.place));
    fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(index), std::move(moved));
    schema_.fields = std::move(fields);
    return Status::OK();
  }

  Status Do(const CommentTable& comment) {
    schema_.comment = UnlessEmpty(comment.comment);
    return Status::OK();
  }

  Status Do(const SetOption& set) {
    if (set.key.empty()) return Refused("an option without a name is meant");
    HEADRACE_RETURN_NOT_OK(CheckOption(set.key, set.value));
    if (!IsDeclaredKey(set.key)) schema_.options[set.key] = set.value;
    return Status::OK();
  }

  Status Do(const UnsetOption& unset) {
    HEADRACE_RETURN_NOT_OK(CheckOption(unset.key, std::nullopt));
    schema_.options.erase(unset.key);
    return Status::OK();
  }

  // These became keys of the schema when the table was made.
  bool IsDeclaredKey(const std::string& key) const { return key == "primary-key" || key == "partition"; }

  Status CheckOption(const std::string& key, const std::optional<std::string>& value) const {
    if (IsDeclaredKey(key)) {
      const auto& keys = key == "partition" ? schema_.partition_keys : schema_.primary_keys;
      if (value.has_value() && Joined(keys, ",") == *value) return Status::OK();
      return Refused("option '", key, "' cannot change: it was fixed when the table was made, as (",
                     Joined(keys), ")");
    }
    const Status may =
        CheckOptionMayChange(schema_.options, key, value, {context_.has_snapshots, context_.rescaling});
    return may.ok() ? may : WithContext("altering table " + context_.table, may);
  }

  const TableSchema& before_;
  TableSchema schema_;
  const AlterContext& context_;
};

}  // namespace

Result<TableSchema> ApplyChanges(const TableSchema& schema, const std::vector<SchemaChange>& changes,
                                 const AlterContext& context) {
  Alteration alteration(schema, context);
  for (const SchemaChange& change : changes) HEADRACE_RETURN_NOT_OK(alteration.Apply(change));
  return alteration.Finish();
}

}  // namespace headrace
