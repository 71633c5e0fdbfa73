#include "pipeline/lookup_join.h"

#include <optional>
#include <string>
#include <utility>

#include "pipeline/answer_difference.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage_queries.h"
#include "pipeline/stage_sources.h"
#include "pipeline/touched_keys.h"
#include "pipeline/touched_rows.h"
#include "sql/names.h"

namespace headrace::pipeline {
namespace {

// "$delta t" of the first source, whatever became of it.
Status SumRows(StageWork* work, size_t table) {
  const StageSource& source = work->sources[table];
  if (!source.range.overwritten) return SumChanges(work, table);
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> before, ReadStateBefore(*work, source));
  work->PutState(table, "state before", before);
  return work->Run(MakeTemporary(
      Named("$delta", table),
      DifferenceQuery(source.table.schema->fields, "SELECT *" + FromRelation(Named("state", table)),
                      "SELECT *" + FromRelation("state before"))));
}

// "$old": what the target holds for the rows that came and went.
Status TakeWrittenRows(StageWork* work, const QueryBranch& branch, size_t table) {
  const std::vector<DataField>& fields = work->sources[table].table.schema->fields;
  work->relations.PutSource(
      0, "SELECT " + ColumnList(fields) + " FROM " + TemporaryTable(Named("$delta", table)));
  HEADRACE_ASSIGN_OR_RETURN(
      const TouchedKeys keys,
      TouchedKeys::Of(work, KeysOfRowsQuery(work->plan, branch, work->target_schema())));
  HEADRACE_ASSIGN_OR_RETURN(const std::string was,
                            keys.RowsIn("was", work->writer.target(), work->writer.view()));
  return work->Run(MakeTemporary("$old", "SELECT *" + was));
}

}  // namespace

Status PutLookedUp(StageWork* work, const QueryBranch& branch) {
  for (size_t i = 1; i < branch.sources.size(); ++i) {
    const size_t table = work->TableOf(branch, i);
    HEADRACE_ASSIGN_OR_RETURN(
        const auto found,
        FindByPrimaryKey(work, table, LookedUpKeysQuery(branch, i, *work->sources[table].table.schema),
                         Named("found", i)));
    work->relations.PutSource(i, "SELECT *" + found.value_or(FromRelation(Named("state", table))));
  }
  return Status::OK();
}

Status WriteInOrder(StageWork* work, const QueryBranch& branch, const std::string& rows) {
  work->relations.PutSource(0, "SELECT *, row_number() OVER () AS " + QuotedName(kChangePlaceColumn) +
                                   " FROM (SELECT *" + rows + ")");
  HEADRACE_RETURN_NOT_OK(PutLookedUp(work, branch));
  return WriteRows(work, OrderedAnswerQuery(work->plan, branch, work->target_schema()));
}

Status AnswerByLookups(StageWork* work) {
  const QueryBranch& branch = work->plan.branches[0];
  const size_t first = work->TableOf(branch, 0);
  StageSource& source = work->sources[first];
  if (!source.table.schema->has_primary_key()) {
    if (source.range.overwritten)
      return Unsupported(
          source.table.name,
          " was overwritten, and what was looked up for its rows cannot be told "
          "from what would be now; --rebuild computes ",
          work->plan.target,
          " anew where it has a primary key; else make it anew and run the pipeline under another "
          "--name");
    work->relations.Put("changes", ChangesOf(source.table, source.range));
    return WriteInOrder(work, branch, FromRelation("changes"));
  }
  HEADRACE_RETURN_NOT_OK(SumRows(work, first));
  HEADRACE_RETURN_NOT_OK(TakeWrittenRows(work, branch, first));
  HEADRACE_RETURN_NOT_OK(work->Run(EmptyAnswer(*work, "$new")));
  HEADRACE_RETURN_NOT_OK(
      work->Run(MakeTemporary("$came", DeltaRowsQuery(source.table.schema->fields, first, true))));
  work->relations.PutSource(0, "SELECT * FROM " + TemporaryTable("$came"));
  HEADRACE_RETURN_NOT_OK(PutLookedUp(work, branch));
  HEADRACE_RETURN_NOT_OK(AddAnswer(work, "$new", branch));
  return WriteDifference(work);
}

}  // namespace headrace::pipeline
