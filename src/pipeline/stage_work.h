// What the parts of a stage at work share: its plan, its sources and where it stands in each, its target, and the session that its SQL runs in.
//
// A step sets what names in its SQL stand for (relations), runs statements, and writes into the target; temporary tables of the session hold what is
// between (stage_queries.h). One thread, but for session->Interrupt(); `room` outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "pipeline/open_tables.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage_plan.h"
#include "pipeline/stage_writer.h"
#include "sql/query_session.h"
#include "sql/relation.h"

namespace headrace::pipeline {

// "state 0".
std::string Named(const char* what, size_t i);

// What the names in a stage's own SQL stand for: set before each query.
class StageRelations final : public Relations {
 public:
  std::optional<std::string> ViewOf(const RelationName& name) override;
  Result<std::shared_ptr<Relation>> Open(const RelationName& name) override;

  void Put(const std::string& name, std::shared_ptr<Relation> relation);
  // The i-th source of the branch at hand is this SELECT.
  void PutSource(size_t source, std::string select);
  void Clear();

 private:
  std::map<std::string, std::string> views_;
  std::map<std::string, std::shared_ptr<Relation>> relations_;
};

struct StageSource {
  Table table;
  bool drives = true;           // its changes are changes of the answer; not so of a table that is looked up
  int64_t made_ms = 0;          // when it was made; 0: its first schema is gone
  int64_t next = 1;             // the first snapshot whose changes are not in the answer
  SourceRange range;            // of the step at hand
  std::optional<Snapshot> now;  // the state at its end
  bool raw_is_whole = true;     // the changes tell all rows before
  bool delta_is_empty = false;  // "$delta i" is there, and has no row
};

struct StageWork {
  StageWork(StagePlan of, const StageRoom* in, Table target)
      : plan(std::move(of)), room(in), writer(std::move(target), plan.job, in) {}

  const StagePlan plan;
  const StageRoom* const room;
  StageWriter writer;
  std::vector<StageSource> sources;  // by the order of plan.tables
  StageRelations relations;
  std::unique_ptr<QuerySession> session;
  bool target_folds = false;  // see folded_groups.h
  // Row by row a value on the way did not fit: what the changes come to is taken, in which it may have been put right.
  bool by_sums = false;
  // See window_close.h: in ms, after the step at hand and before it; nothing: no time was seen.
  std::optional<int64_t> watermark, watermark_before;

  const TableSchema& target_schema() const { return *writer.target().schema; }
  // Where a branch's source is among `sources`.
  size_t TableOf(const QueryBranch& branch, size_t source) const {
    return plan.TableOf(branch.sources[source]);
  }
  // The name stands for what a stream has shown of the i-th source by the snapshot; of a table that is looked up, for what a query of it shows.
  void PutState(size_t i, const std::string& name, const std::optional<Snapshot>& snapshot);

  Status Run(const std::string& statement);
  // Those with rows.
  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Batches(const std::string& query);
  template <typename Visit>
  Status ForEachBatch(const std::string& statement, Visit visit) {
    HEADRACE_ASSIGN_OR_RETURN(const QuerySession::Answer answer, Ask(statement));
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      HEADRACE_RETURN_NOT_OK(Next(answer, &batch));
      if (batch == nullptr) return Status::OK();
      HEADRACE_RETURN_NOT_OK(visit(batch));
    }
  }

 private:
  Result<QuerySession::Answer> Ask(const std::string& statement);
  static Status Next(const QuerySession::Answer& answer, std::shared_ptr<arrow::RecordBatch>* batch);
};

}  // namespace headrace::pipeline
