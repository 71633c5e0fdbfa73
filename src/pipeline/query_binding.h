// What DuckDB says of a stage's queries before anything runs: whether they mean something, and the types that they give.
//
// A query is bound to its sources' columns, over no rows. What is an error then would be one at the first commit: a column or a function that there is not, a
// value that no cast turns into its column's type. One session serves all stages of a pipeline. One thread.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "pipeline/stage_plan.h"
#include "pipeline/stage_work.h"
#include "sql/query_session.h"

namespace headrace::pipeline {

class QueryBinding {
 public:
  static Result<std::unique_ptr<QueryBinding>> Open(const QuerySessionOptions& options);

  // Which parses, and has the database of names without one.
  QuerySession* session() { return session_.get(); }

  // The columns that the branch gives. `tables` are those of `plan.tables`; kInvalid and kUnsupported say what is wrong with the branch.
  Result<std::vector<DataField>> Bind(const StagePlan& plan, const QueryBranch& branch,
                                      const std::vector<Table>& tables, const Table& target);

 private:
  Status CheckAssigned(const StagePlan& plan, const QueryBranch& branch, const std::vector<DataField>& given,
                       const Table& target);
  Status CheckJoinedTypes(const StagePlan& plan, const QueryBranch& branch);
  Status CheckLookedUpTypes(const StagePlan& plan, const QueryBranch& branch,
                            const std::vector<Table>& tables);

  StageRelations relations_;
  std::unique_ptr<QuerySession> session_;
};

// Whether two values of `given` that differ still do in a column of type `held`.
bool KeepsApart(const DataType& held, const DataType& given);

}  // namespace headrace::pipeline
