// The SQL of a stage's steps: sums of changes, touched keys, rows now and before, answers and their difference.
//
// Pure text of names. Temporary tables of the session hold what is between: "$delta t" of the table t, "$touched", "$now i" and "$then i" of the source i,
// "$new" and "$old" of the answer in the target's types, "$extremes" of groups that lost one (lost_extremes.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/data_type.h"
#include "format/table_schema.h"
#include "pipeline/stage_plan.h"

namespace headrace::pipeline {

inline constexpr char kWeightColumn[] = "$weight";

// A temporary table as SQL writes it, and what makes it of a query.
std::string TemporaryTable(const std::string& name);
std::string MakeTemporary(const std::string& name, const std::string& query);
// The query's rows behind those that it has, or with `anew` instead of them.
std::string AddToTemporary(const std::string& name, const std::string& query, bool anew);

// The rows of a relation that is at hand under this name.
std::string FromRelation(const std::string& name);  // " FROM …"
// The columns of a table, quoted, put together by ", ".
std::string ColumnList(const std::vector<DataField>& fields, const std::string& of = "");

// Rows with a weight that is not 0: what is in `plus` and not in `minus`, and the other way round, each a SELECT of the table's columns.
std::string DifferenceQuery(const std::vector<DataField>& fields, const std::string& plus,
                            const std::string& minus);
// The same of changes with kinds.
std::string SumOfChangesQuery(const std::vector<DataField>& fields, const std::string& changes);

// The i-th value of a key in "$touched".
std::string TouchedColumn(size_t i);
// The distinct keys of the rows of "$delta t", for all sources together but one; none where the branch has no key values.
std::string TouchedQuery(const QueryBranch& branch, std::optional<size_t> without = std::nullopt);
// The rows of a source, which are `from` (" FROM …"), that have keys of the temporary table `keys`, which has what TouchedQuery gives. So below.
std::string TouchedRowsQuery(const std::string& keys, const QueryBranch& branch, size_t source,
                             const std::string& from);
// Those of `rows`, "(SELECT …)", that have none of these keys.
std::string RowsOfOtherKeysQuery(const std::string& keys, const QueryBranch& branch, size_t source,
                                 const std::string& rows);
// The keys as primary keys of a table that is joined by them: its key columns in their order, those alone that fit their types. Empty: the
// keys of the source are not its table's primary key.
std::string TouchedPrimaryKeysQuery(const std::string& keys, const QueryBranch& branch, size_t source,
                                    const TableSchema& schema);
// The values of one key in a column's type, null where it has none like it, and whether the key is null. At most `limit` rows. Of a column that
// holds `null_as` for null: the values that it holds.
std::string TouchedValuesQuery(const std::string& keys, size_t key, const DataType& type, int64_t limit,
                               const std::string& null_as = "");
// The rows of "$delta t" that came, or that went.
std::string DeltaRowsQuery(const std::vector<DataField>& fields, size_t table, bool came);
// What these rows were before the changes of "$delta t".
std::string RowsBeforeQuery(const TableSchema& schema, size_t source, size_t table);

// The answer in the target's columns and types.
std::string AnswerQuery(const StagePlan& plan, const std::string& text, const TableSchema& target);
// The answers to changes, the kind as the last column.
std::string ChangedAnswerQuery(const StagePlan& plan, const std::string& text, const TableSchema& target);

// Of a lookup join: the answers to changes in the order of the changes, the kind as the last column; the target's primary keys of the first source's
// rows, which it tells alone; the primary keys by which the i-th source is looked up for them.
std::string OrderedAnswerQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target);
std::string KeysOfRowsQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target);
std::string LookedUpKeysQuery(const QueryBranch& branch, size_t i, const TableSchema& schema);

// Of a branch that folds: what of "$old" and of the answers "$came" and "$went" to the rows that came and went gives "$new"; and a row where
// that cannot be told: a sum that is 0 now may be of no values. A least or greatest value that went and has a next one is taken from "$extremes".
std::string FoldedQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target);
std::string UnfoldableQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target);
// One row, of a branch that has a least or greatest value: for each of the target's columns in turn whether there is a group that lost it.
std::string LostExtremesQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target);
// A row where a group that lost the value of this column has none in "$old" (or with `found` in "$extremes") that is beyond `bound`, which is SQL.
std::string NotBeyondQuery(const StagePlan& plan, const QueryBranch& branch, const TableSchema& target,
                           const DataField& field, const std::string& bound, bool found);
// The primary keys of "$came" and "$went".
std::string FoldedKeysQuery(const TableSchema& target);

// "$new" against "$old" by the target's primary key: the target's columns and a kind, old before new where a row is another one. Without `before` rows the old
// ones that have a new one are left out.
std::string ChangesOfAnswerQuery(const TableSchema& target, bool before);
// All of "$old" taken back and all of "$new" put in, for targets that merge.
std::string BothAnswersQuery(const TableSchema& target);

// A row of a query whose value does not fit its column: the first one, the query's columns by the names of the target's. `has_kind`: a kind follows them.
std::string MisfitQuery(const StagePlan& plan, const std::string& text, const TableSchema& target,
                        bool has_kind);
// Rows of "$new" whose primary key is null, and keys that two of them have: the first of each, with its key columns.
std::string NullKeyQuery(const TableSchema& target);
std::string DoubleKeyQuery(const TableSchema& target);
// The keys of "$new" that "$old" does not have.
std::string NewKeysQuery(const TableSchema& target);

}  // namespace headrace::pipeline
