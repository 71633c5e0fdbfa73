#include "pipeline/query_binding.h"

#include <string>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage_queries.h"
#include "pipeline/table_relation.h"
#include "sql/duck_type.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

bool IsText(TypeRoot root) { return root == TypeRoot::kChar || root == TypeRoot::kVarChar; }

bool IsWhole(TypeRoot root) {
  return root == TypeRoot::kTinyInt || root == TypeRoot::kSmallInt || root == TypeRoot::kInt ||
         root == TypeRoot::kBigInt;
}

bool IsTimestamp(TypeRoot root) { return root == TypeRoot::kTimestamp || root == TypeRoot::kTimestampLtz; }

enum class Kind { kNumber, kDay, kTimeOfDay, kBytes, kNested, kText };

Kind KindOfType(TypeRoot root) {
  switch (root) {
    case TypeRoot::kDate:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return Kind::kDay;
    case TypeRoot::kTime: return Kind::kTimeOfDay;
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return Kind::kBytes;
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return Kind::kNested;
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return Kind::kText;
    default: return Kind::kNumber;
  }
}

// DuckDB casts no value of the one to the other: a text may be anything and anything a text, a timestamp has a time of day, and nothing else goes.
bool AreOfOtherKinds(TypeRoot held, TypeRoot given) {
  const Kind to = KindOfType(held), from = KindOfType(given);
  if (to == from || to == Kind::kText || from == Kind::kText) return false;
  return !(to == Kind::kTimeOfDay && given == TypeRoot::kTimestamp);
}

// The digits of a second that a value of the type is kept with.
int DigitsKept(const DataType& type) {
  return type.precision == 0 ? 0 : type.precision <= 3 ? 3 : type.precision <= 6 ? 6 : 9;
}

}  // namespace

Result<std::unique_ptr<QueryBinding>> QueryBinding::Open(const QuerySessionOptions& options) {
  auto binding = std::make_unique<QueryBinding>();
  HEADRACE_ASSIGN_OR_RETURN(binding->session_, QuerySession::Open(options, &binding->relations_));
  return binding;
}

Result<std::vector<DataField>> QueryBinding::Bind(const StagePlan& plan, const QueryBranch& branch,
                                                  const std::vector<Table>& tables, const Table& target) {
  relations_.Clear();
  for (size_t i = 0; i < branch.sources.size(); ++i) {
    const size_t table = plan.TableOf(branch.sources[i]);
    relations_.Put(Named("state", table),
                   MakeStateRelation(tables[table], std::nullopt, ToArrowSchema(tables[table].schema->fields),
                                     TableView::kStream));
    relations_.PutSource(i, plan.SelectAll(branch.sources[i]) + FromRelation(Named("state", table)));
  }
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> given, session_->Describe(branch.text));
  HEADRACE_RETURN_NOT_OK(session_->Describe(AnswerQuery(plan, branch.text, *target.schema)).status());
  HEADRACE_RETURN_NOT_OK(CheckAssigned(plan, branch, given, target));
  HEADRACE_RETURN_NOT_OK(CheckJoinedTypes(plan, branch));
  HEADRACE_RETURN_NOT_OK(CheckLookedUpTypes(plan, branch, tables));
  return given;
}

// DuckDB binds casts that it has not, and says so of the first value.
Status QueryBinding::CheckAssigned(const StagePlan& plan, const QueryBranch& branch,
                                   const std::vector<DataField>& given, const Table& target) {
  for (size_t i = 0; i < given.size() && i < plan.columns.size(); ++i) {
    const int place = target.schema->FieldIndex(plan.columns[i]);
    if (place < 0) continue;
    DataType held = target.schema->fields[static_cast<size_t>(place)].type, from = given[i].type;
    if (!AreOfOtherKinds(held.root, from.root)) continue;
    // A bare NULL is of no type and fits everywhere, but is described as an INT.
    std::string names;
    for (size_t k = 0; k < given.size(); ++k) names += (k == 0 ? "c" : ", c") + std::to_string(k);
    const Status is_null =
        session_
            ->Describe("SELECT coalesce(c" + std::to_string(i) + ", CAST(NULL AS " + DuckTypeOf(held) +
                       ")) FROM (" + branch.text + "\n) AS answer(" + names + ")")
            .status();
    if (from.root == TypeRoot::kInt && is_null.ok()) continue;
    held.nullable = from.nullable = true;  // which is beside the matter
    return Invalid("column ", plan.columns[i], " of ", target.name, " is ", ToSql(held),
                   ", and the query gives ", ToSql(from),
                   " for it, of which no cast makes one; give a value of that type");
  }
  return Status::OK();
}

// A text that is joined with a number may stand for it in several ways, of which the touched keys would tell one.
Status QueryBinding::CheckJoinedTypes(const StagePlan& plan, const QueryBranch& branch) {
  if (branch.sources.size() < 2 || branch.keys[0].empty()) return Status::OK();
  std::vector<std::vector<DataField>> given;
  for (size_t i = 0; i < branch.sources.size(); ++i) {
    std::string keys;
    for (const ShapeKey& key : branch.keys[i]) keys += (keys.empty() ? "" : ", ") + key.text;
    HEADRACE_ASSIGN_OR_RETURN(
        auto types, session_->Describe("SELECT " + keys + " FROM (SELECT *" +
                                       FromRelation(Named("state", plan.TableOf(branch.sources[i]))) +
                                       ") AS " + QuotedName(branch.sources[i].alias)));
    given.push_back(std::move(types));
  }
  for (size_t i = 1; i < given.size(); ++i) {
    for (size_t k = 0; k < given[i].size(); ++k) {
      DataType first = given[0][k].type, second = given[i][k].type;
      if (IsText(first.root) == IsText(second.root)) continue;
      first.nullable = second.nullable = true;  // which is beside the matter
      return Unsupported("the join compares ", branch.keys[0][k].text, ", ", ToSql(first), ", with ",
                         branch.keys[i][k].text, ", ", ToSql(second),
                         ": a text and none; say by CAST what both are compared as");
    }
  }
  return Status::OK();
}

// The same of what a lookup join goes by.
Status QueryBinding::CheckLookedUpTypes(const StagePlan& plan, const QueryBranch& branch,
                                        const std::vector<Table>& tables) {
  for (const ShapeSource& source : branch.sources) {
    const TableSchema& schema = *tables[plan.TableOf(source)].schema;
    for (const LookupKey& key : source.lookup_keys) {
      HEADRACE_ASSIGN_OR_RETURN(
          const auto given, session_->Describe("SELECT " + key.text + " FROM " + SourceRelation(0) + " AS " +
                                               QuotedName(branch.sources[0].alias)));
      const DataField& column = schema.fields[static_cast<size_t>(schema.FieldIndex(key.column))];
      if (IsText(column.type.root) == IsText(given[0].type.root)) continue;
      DataType wanted = column.type, found = given[0].type;
      wanted.nullable = found.nullable = true;  // which is beside the matter
      return Unsupported("the lookup join compares ", key.text, ", ", ToSql(found), ", with ", source.alias,
                         ".", key.column, ", ", ToSql(wanted), ": a text and none; write CAST(", key.text,
                         " AS ", ToSql(wanted), ") = ", source.alias, ".", key.column);
    }
  }
  return Status::OK();
}

bool KeepsApart(const DataType& held, const DataType& given) {
  const TypeRoot to = held.root, from = given.root;
  if (IsText(to)) return true;  // of a text that is too long for the column its row is an error
  if (IsWhole(to))
    return IsWhole(from) || from == TypeRoot::kBoolean || (from == TypeRoot::kDecimal && given.scale == 0);
  if (to == TypeRoot::kDecimal)
    return IsWhole(from) || from == TypeRoot::kBoolean ||
           (from == TypeRoot::kDecimal && given.scale <= held.scale);
  const bool small = from == TypeRoot::kTinyInt || from == TypeRoot::kSmallInt || from == TypeRoot::kBoolean;
  if (to == TypeRoot::kFloat) return small || from == TypeRoot::kFloat;
  if (to == TypeRoot::kDouble)
    return small || from == TypeRoot::kInt || from == TypeRoot::kFloat || from == TypeRoot::kDouble;
  if (IsTimestamp(to))
    return from == TypeRoot::kDate || (IsTimestamp(from) && DigitsKept(given) <= DigitsKept(held));
  if (to == TypeRoot::kTime) return from == to && DigitsKept(given) <= DigitsKept(held);
  return from == to;
}

}  // namespace headrace::pipeline
