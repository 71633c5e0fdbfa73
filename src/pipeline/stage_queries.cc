#include "pipeline/stage_queries.h"

#include <algorithm>

#include "file/physical_columns.h"
#include "sql/assigned_value.h"
#include "sql/duck_type.h"
#include "sql/names.h"
#include "sql/query_shape.h"

namespace headrace::pipeline {
namespace {

std::string Number(RowKind kind) { return std::to_string(static_cast<int>(kind)); }

// "a.k = b.k AND …".
std::string SameColumns(const std::vector<std::string>& columns, const std::string& a, const std::string& b) {
  std::string text;
  for (const std::string& column : columns)
    text +=
        (text.empty() ? "" : " AND ") + a + "." + QuotedName(column) + " = " + b + "." + QuotedName(column);
  return text;
}

std::string Aliased(const QueryBranch& branch, size_t source) {
  return SourceRelation(source) + " AS " + QuotedName(branch.sources[source].alias);
}

// Whether a row of the source has a key of the temporary table.
std::string HasKeyOf(const std::string& keys, const QueryBranch& branch, size_t source) {
  std::string same;
  for (size_t i = 0; i < branch.keys[source].size(); ++i)
    same += (i == 0 ? "" : " AND ") + branch.keys[source][i].text + " IS NOT DISTINCT FROM " +
            QuotedName(keys) + "." + TouchedColumn(i);
  return same;
}

// The query's columns as those of the target, in the order of these.
std::string Assigned(const StagePlan& plan, const TableSchema& target, const std::vector<DataField>& fields) {
  std::string values;
  for (const DataField& field : fields) {
    const auto place = std::find(plan.columns.begin(), plan.columns.end(), field.name);
    const std::string value =
        place == plan.columns.end() ? "NULL" : "c" + std::to_string(place - plan.columns.begin());
    std::string assigned = AssignedSql(value, field.type);
    // Two zeros are one group, and two keys.
    const bool has_zeros = field.type.root == TypeRoot::kFloat || field.type.root == TypeRoot::kDouble;
    const auto& key = target.primary_keys;
    if (has_zeros && std::find(key.begin(), key.end(), field.name) != key.end())
      assigned = AssignedSql("(" + assigned + " + 0)", field.type);
    values += (values.empty() ? "" : ", ") + assigned + " AS " + QuotedName(field.name);
  }
  return values;
}

std::string AnswerNames(const StagePlan& plan) {
  std::string names;
  for (size_t i = 0; i < plan.columns.size(); ++i) names += (i == 0 ? "c" : ", c") + std::to_string(i);
  return names;
}

// The groups that are, "o", with what came, "c", what went, "w", and what was looked for, "e".
std::string FromFolded(const TableSchema& target) {
  std::string keys;
  for (const std::string& column : target.primary_keys)
    keys += (keys.empty() ? "" : ", ") + QuotedName(column);
  return " FROM " + TemporaryTable("$came") + " AS c FULL JOIN " + TemporaryTable("$went") + " AS w USING (" +
         keys + ") LEFT JOIN " + TemporaryTable("$old") + " AS o USING (" + keys + ") LEFT JOIN " +
         TemporaryTable("$extremes") + " AS e USING (" + keys + ")";
}

// One column of the target: its value of what it was, what came and what went.
class Folding {
 public:
  Folding(const StagePlan& plan, const QueryBranch& branch, const DataField& field) : field_(field) {
    const auto place = std::find(plan.columns.begin(), plan.columns.end(), field.name);
    if (place != plan.columns.end())
      output_ = &branch.outputs[static_cast<size_t>(place - plan.columns.begin())];
  }

  Folds folds() const { return output_ == nullptr || output_->is_group ? Folds::kNot : output_->folds; }

  std::string Value() const {
    switch (folds()) {
      case Folds::kNot:
        return output_ == nullptr ? AssignedSql("NULL", field_.type) : QuotedName(field_.name);
      case Folds::kCountAll:
      case Folds::kCount: return AssignedSql(Sum(), field_.type);
      case Folds::kSum:
        return "CASE WHEN coalesce(" + Of("o") + ", " + Of("c") + ", " + Of("w") +
               ") IS NULL THEN NULL ELSE " + AssignedSql(Sum(), field_.type) + " END";
      case Folds::kMin: return Extreme("least");
      case Folds::kMax: return Extreme("greatest");
    }
    return {};
  }

  // `stays`: that the group has rows still.
  std::string Doubt(const std::string& stays) const {
    if (folds() == Folds::kCountAll) return Sum() + " < 0";
    if (folds() != Folds::kSum) return {};
    return "(" + Of("w") + " IS NOT NULL AND " + Sum() + " = 0 AND " + stays + ")";
  }

  bool is_extreme() const { return folds() == Folds::kMin || folds() == Folds::kMax; }
  // The least or greatest value went, and none came that is as good as it.
  std::string IsLost() const {
    const std::string reaches = folds() == Folds::kMin ? " <= " : " >= ";
    return "(" + Of("w") + " IS NOT NULL AND " + Of("w") + reaches + "coalesce(" + Of("o") + ", " + Of("w") +
           ") AND NOT coalesce(" + Of("c") + reaches + Of("o") + ", false))";
  }
  std::string IsBeyond(const char* side, const std::string& bound) const {
    return "coalesce(" + Of(side) + (folds() == Folds::kMin ? " < " : " > ") + bound + ", false)";
  }

 private:
  std::string Of(const char* side) const { return std::string(side) + "." + QuotedName(field_.name); }
  std::string Sum() const {
    return "(coalesce(" + Of("o") + ", 0) + coalesce(" + Of("c") + ", 0) - coalesce(" + Of("w") + ", 0))";
  }

  std::string Extreme(const std::string& better) const {
    return "CASE WHEN " + IsLost() + " THEN " + Of("e") + " ELSE " + better + "(" + Of("o") + ", " + Of("c") +
           ") END";
  }

  const DataField& field_;
  const ShapeOutput* output_ = nullptr;
};

// That the group has rows still.
std::string GroupStays(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target) {
  for (const DataField& field : target.fields) {
    const Folding folding(plan, branch, field);
    if (folding.folds() == Folds::kCountAll) return folding.Value() + " > 0";
  }
  return "false";  // a branch that folds counts its rows
}

}  // namespace

std::string TouchedColumn(size_t i) { return QuotedName("$key " + std::to_string(i)); }

std::string TemporaryTable(const std::string& name) { return "temp." + QuotedName(name); }

std::string MakeTemporary(const std::string& name, const std::string& query) {
  return "CREATE OR REPLACE TEMP TABLE " + QuotedName(name) + " AS " + query;
}

std::string AddToTemporary(const std::string& name, const std::string& query, bool anew) {
  return anew ? MakeTemporary(name, query) : "INSERT INTO " + TemporaryTable(name) + " " + query;
}

std::string FromRelation(const std::string& name) {
  return " FROM paimon(" + QuotedText(std::string(kSourceDatabase) + "." + name) + ")";
}

std::string ColumnList(const std::vector<DataField>& fields, const std::string& of) {
  std::string list;
  for (const DataField& field : fields)
    list += (list.empty() ? "" : ", ") + (of.empty() ? "" : of + ".") + QuotedName(field.name);
  return list;
}

std::string DifferenceQuery(const std::vector<DataField>& fields, const std::string& plus,
                            const std::string& minus) {
  const std::string columns = ColumnList(fields), weight = QuotedName(kWeightColumn);
  return "SELECT " + columns + ", CAST(sum(" + weight + ") AS BIGINT) AS " + weight + " FROM (SELECT " +
         columns + ", 1 AS " + weight + " FROM (" + plus + ") UNION ALL SELECT " + columns + ", -1 FROM (" +
         minus + ")) GROUP BY " + columns + " HAVING sum(" + weight + ") <> 0";
}

std::string SumOfChangesQuery(const std::vector<DataField>& fields, const std::string& changes) {
  const std::string columns = ColumnList(fields), kind = QuotedName(kChangeKindColumn);
  const std::string sum = "sum(CASE WHEN " + kind + " IN (" + Number(RowKind::kUpdateBefore) + ", " +
                          Number(RowKind::kDelete) + ") THEN -1 ELSE 1 END)";
  return "SELECT " + columns + ", CAST(" + sum + " AS BIGINT) AS " + QuotedName(kWeightColumn) + changes +
         " GROUP BY " + columns + " HAVING " + sum + " <> 0";
}

std::string TouchedQuery(const QueryBranch& branch, std::optional<size_t> without) {
  std::string query;
  for (size_t source = 0; source < branch.sources.size(); ++source) {
    if (source == without) continue;
    std::string keys;
    for (size_t i = 0; i < branch.keys[source].size(); ++i)
      keys += (i == 0 ? "" : ", ") + branch.keys[source][i].text + " AS " + TouchedColumn(i);
    query +=
        (query.empty() ? "SELECT DISTINCT " : " UNION SELECT ") + keys + " FROM " + Aliased(branch, source);
  }
  return query;
}

std::string TouchedRowsQuery(const std::string& keys, const QueryBranch& branch, size_t source,
                             const std::string& from) {
  const std::string alias = QuotedName(branch.sources[source].alias);
  const std::string query = "SELECT " + alias + ".* FROM (SELECT *" + from + ") AS " + alias;
  if (branch.keys[source].empty()) return query;
  return query + " SEMI JOIN " + TemporaryTable(keys) + " ON (" + HasKeyOf(keys, branch, source) + ")";
}

std::string RowsOfOtherKeysQuery(const std::string& keys, const QueryBranch& branch, size_t source,
                                 const std::string& rows) {
  const std::string alias = QuotedName(branch.sources[source].alias);
  return "SELECT " + alias + ".* FROM " + rows + " AS " + alias + " ANTI JOIN " + TemporaryTable(keys) +
         " ON (" + HasKeyOf(keys, branch, source) + ")";
}

std::string TouchedPrimaryKeysQuery(const std::string& keys, const QueryBranch& branch, size_t source,
                                    const TableSchema& schema) {
  const std::vector<ShapeKey>& texts = branch.keys[source];
  if (schema.primary_keys.empty() || texts.size() != schema.primary_keys.size()) return {};
  std::string columns, whole;
  for (const std::string& column : schema.primary_keys) {
    const auto place =
        std::find_if(texts.begin(), texts.end(), [&](const ShapeKey& key) { return key.column == column; });
    if (place == texts.end()) return {};
    const std::string type = DuckTypeOf(schema.fields[static_cast<size_t>(schema.FieldIndex(column))].type);
    const std::string value =
        "TRY_CAST(" + TouchedColumn(static_cast<size_t>(place - texts.begin())) + " AS " + type + ")";
    columns += (columns.empty() ? "" : ", ") + value + " AS " + QuotedName(column);
    whole += (whole.empty() ? "" : " AND ") + value + " IS NOT NULL";
  }
  return "SELECT DISTINCT " + columns + " FROM " + TemporaryTable(keys) + " WHERE " + whole;
}

std::string TouchedValuesQuery(const std::string& keys, size_t key, const DataType& type, int64_t limit,
                               const std::string& null_as) {
  const std::string value = "TRY_CAST(" + TouchedColumn(key) + " AS " + DuckTypeOf(type) + ")";
  const std::string held = null_as.empty() ? value + ", " + TouchedColumn(key) + " IS NULL"
                                           : "coalesce(" + value + ", " + null_as + "), false";
  return "SELECT DISTINCT " + held + " FROM " + TemporaryTable(keys) + " LIMIT " + std::to_string(limit);
}

std::string DeltaRowsQuery(const std::vector<DataField>& fields, size_t table, bool came) {
  const std::string weight = QuotedName(kWeightColumn);
  // Named, since a column of the source may be called range as well.
  return "SELECT " + ColumnList(fields) + " FROM " + TemporaryTable("$delta " + std::to_string(table)) +
         ", range(" + (came ? weight : "-" + weight) + ") AS \"$times\"(\"$time\") WHERE " + weight +
         (came ? " > 0" : " < 0");
}

std::string RowsBeforeQuery(const TableSchema& schema, size_t source, size_t table) {
  const std::string now = TemporaryTable("$now " + std::to_string(source));
  const std::string delta = TemporaryTable("$delta " + std::to_string(table));
  const std::string columns = ColumnList(schema.fields), weight = QuotedName(kWeightColumn);
  if (!schema.has_primary_key())
    return "SELECT " + columns + " FROM " + now + " EXCEPT ALL (" +
           DeltaRowsQuery(schema.fields, table, true) + ")";
  return "SELECT " + columns + " FROM " + now + " AS n ANTI JOIN (SELECT * FROM " + delta + " WHERE " +
         weight + " > 0) AS d ON (" + SameColumns(schema.primary_keys, "n", "d") + ") UNION ALL SELECT " +
         columns + " FROM " + delta + " WHERE " + weight + " < 0";
}

std::string AnswerQuery(const StagePlan& plan, const std::string& text, const TableSchema& target) {
  return "SELECT " + Assigned(plan, target, target.fields) + " FROM (" + text + "\n) AS answer(" +
         AnswerNames(plan) + ")";
}

std::string ChangedAnswerQuery(const StagePlan& plan, const std::string& text, const TableSchema& target) {
  return "SELECT " + Assigned(plan, target, target.fields) + ", kind FROM (" + text + "\n) AS answer(" +
         AnswerNames(plan) + ", kind)";
}

std::string OrderedAnswerQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target) {
  return "SELECT " + Assigned(plan, target, target.fields) + ", kind FROM (" + branch.text_over_changes +
         "\n) AS answer(" + AnswerNames(plan) + ", kind, place) ORDER BY place";
}

std::string KeysOfRowsQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target) {
  const std::vector<DataField> keys = target.FieldsOf(target.primary_keys);
  std::string outputs, whole;
  for (const ShapeOutput& output : branch.outputs)
    outputs += (outputs.empty() ? "" : ", ") + (output.text.empty() ? "NULL" : output.text);
  for (const DataField& key : keys)
    whole += (whole.empty() ? "" : " AND ") + QuotedName(key.name) + " IS NOT NULL";
  return "SELECT DISTINCT * FROM (SELECT " + Assigned(plan, target, keys) + " FROM (SELECT " + outputs +
         " FROM " + Aliased(branch, 0) + ") AS answer(" + AnswerNames(plan) + ")) WHERE " + whole;
}

std::string LookedUpKeysQuery(const QueryBranch& branch, size_t i, const TableSchema& schema) {
  const std::vector<LookupKey>& by = branch.sources[i].lookup_keys;
  std::string columns, whole;
  for (const std::string& column : schema.primary_keys) {
    const auto key =
        std::find_if(by.begin(), by.end(), [&](const LookupKey& one) { return one.column == column; });
    const std::string type = DuckTypeOf(schema.fields[static_cast<size_t>(schema.FieldIndex(column))].type);
    columns += (columns.empty() ? "" : ", ") + ("TRY_CAST(" + key->text + " AS " + type + ") AS ") +
               QuotedName(column);
    whole += (whole.empty() ? "" : " AND ") + QuotedName(column) + " IS NOT NULL";
  }
  return "SELECT DISTINCT * FROM (SELECT " + columns + " FROM " + Aliased(branch, 0) + ") WHERE " + whole;
}

std::string FoldedKeysQuery(const TableSchema& target) {
  const std::string keys = ColumnList(target.FieldsOf(target.primary_keys));
  return "SELECT " + keys + " FROM " + TemporaryTable("$came") + " UNION SELECT " + keys + " FROM " +
         TemporaryTable("$went");
}

std::string FoldedQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target) {
  std::string values;
  for (const DataField& field : target.fields)
    values +=
        (values.empty() ? "" : ", ") + Folding(plan, branch, field).Value() + " AS " + QuotedName(field.name);
  return "SELECT " + values + FromFolded(target) + " WHERE " + GroupStays(plan, branch, target);
}

std::string UnfoldableQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target) {
  const std::string stays = GroupStays(plan, branch, target);
  std::string doubts;
  for (const DataField& field : target.fields) {
    const std::string doubt = Folding(plan, branch, field).Doubt(stays);
    if (!doubt.empty()) doubts += (doubts.empty() ? "" : " OR ") + doubt;
  }
  return "SELECT 1" + FromFolded(target) + " WHERE " + doubts + " LIMIT 1";
}

std::string LostExtremesQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target) {
  std::string lost;
  for (const DataField& field : target.fields) {
    const Folding folding(plan, branch, field);
    lost += (lost.empty() ? "" : ", ") +
            (folding.is_extreme() ? "coalesce(bool_or(" + folding.IsLost() + "), false)" : "false");
  }
  return "SELECT " + lost + FromFolded(target) + " WHERE " + GroupStays(plan, branch, target);
}

std::string NotBeyondQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target,
                           const DataField& field, const std::string& bound, bool found) {
  const Folding folding(plan, branch, field);
  return "SELECT 1" + FromFolded(target) + " WHERE " + GroupStays(plan, branch, target) + " AND " +
         folding.IsLost() + " AND NOT " + folding.IsBeyond(found ? "e" : "o", bound) + " LIMIT 1";
}

std::string ChangesOfAnswerQuery(const TableSchema& target, bool before) {
  const std::string was = TemporaryTable("$old"), is = TemporaryTable("$new");
  const std::string same = SameColumns(target.primary_keys, "o", "n");
  const std::string kind = QuotedName(kChangeKindColumn), side = QuotedName("$side");
  const std::string key = QuotedName(target.primary_keys[0]);
  const std::string differs = "(n." + key + " IS NULL OR row(" + ColumnList(target.fields, "o") +
                              ") IS DISTINCT FROM row(" + ColumnList(target.fields, "n") + "))";
  std::string keys;
  for (const std::string& column : target.primary_keys) keys += QuotedName(column) + ", ";
  const std::string gone = "SELECT " + ColumnList(target.fields, "o") + ", CASE WHEN n." + key +
                           " IS NULL THEN " + Number(RowKind::kDelete) + " ELSE " +
                           Number(RowKind::kUpdateBefore) + " END AS " + kind + ", 0 AS " + side + " FROM " +
                           was + " AS o LEFT JOIN " + is + " AS n ON (" + same + ") WHERE " +
                           (before ? differs : "n." + key + " IS NULL");
  const std::string came = "SELECT " + ColumnList(target.fields, "n") + ", CASE WHEN o." + key +
                           " IS NULL THEN " + Number(RowKind::kInsert) + " ELSE " +
                           Number(RowKind::kUpdateAfter) + " END AS " + kind + ", 1 AS " + side + " FROM " +
                           is + " AS n LEFT JOIN " + was + " AS o ON (" + same + ") WHERE o." + key +
                           " IS NULL OR row(" + ColumnList(target.fields, "n") + ") IS DISTINCT FROM row(" +
                           ColumnList(target.fields, "o") + ")";
  return "SELECT " + ColumnList(target.fields) + ", " + kind + " FROM (" + gone + " UNION ALL " + came +
         ") ORDER BY " + keys + side;
}

std::string BothAnswersQuery(const TableSchema& target) {
  const std::string columns = ColumnList(target.fields);
  return "SELECT " + columns + ", " + Number(RowKind::kDelete) + " AS kind FROM " + TemporaryTable("$old") +
         " UNION ALL SELECT " + columns + ", " + Number(RowKind::kInsert) + " FROM " + TemporaryTable("$new");
}

std::string MisfitQuery(const StagePlan& plan, const std::string& text, const TableSchema& target,
                        bool has_kind) {
  std::string columns, misfits;
  for (size_t i = 0; i < plan.columns.size(); ++i) {
    const std::string value = "c" + std::to_string(i);
    const DataType& type = target.fields[static_cast<size_t>(target.FieldIndex(plan.columns[i]))].type;
    columns += (i == 0 ? "" : ", ") + value + " AS " + QuotedName(plan.columns[i]);
    misfits += (i == 0 ? "" : " OR ") +
               ("(" + value + " IS NOT NULL AND TRY(" + AssignedSql(value, type) + ") IS NULL)");
    if (type.root == TypeRoot::kChar || type.root == TypeRoot::kVarChar)
      misfits += " OR length(CAST(" + value + " AS VARCHAR)) > " + std::to_string(type.length);
  }
  return "SELECT " + columns + " FROM (" + text + "\n) AS answer(" + AnswerNames(plan) +
         (has_kind ? ", kind" : "") + ") WHERE " + misfits + " LIMIT 1";
}

std::string NullKeyQuery(const TableSchema& target) {
  std::string keys, nulls;
  for (const std::string& column : target.primary_keys) {
    keys += (keys.empty() ? "" : ", ") + QuotedName(column);
    nulls += (nulls.empty() ? "" : " OR ") + QuotedName(column) + " IS NULL";
  }
  return "SELECT " + keys + " FROM " + TemporaryTable("$new") + " WHERE " + nulls + " LIMIT 1";
}

std::string DoubleKeyQuery(const TableSchema& target) {
  std::string keys;
  for (const std::string& column : target.primary_keys)
    keys += (keys.empty() ? "" : ", ") + QuotedName(column);
  return "SELECT " + keys + " FROM " + TemporaryTable("$new") + " GROUP BY " + keys +
         " HAVING count(*) > 1 LIMIT 1";
}

std::string NewKeysQuery(const TableSchema& target) {
  return "SELECT " + ColumnList(target.FieldsOf(target.primary_keys), "n") + " FROM " +
         TemporaryTable("$new") + " AS n ANTI JOIN " + TemporaryTable("$old") + " AS o ON (" +
         SameColumns(target.primary_keys, "o", "n") + ")";
}

}  // namespace headrace::pipeline
