#include "pipeline/stage_work.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "pipeline/table_relation.h"
#include "sql/query_shape.h"

namespace headrace::pipeline {

std::string Named(const char* what, size_t i) { return std::string(what) + " " + std::to_string(i); }

std::optional<std::string> StageRelations::ViewOf(const RelationName& name) {
  const auto view = views_.find(name.table);
  if (name.database != kSourceDatabase || view == views_.end()) return std::nullopt;
  return view->second;
}

Result<std::shared_ptr<Relation>> StageRelations::Open(const RelationName& name) {
  const auto relation = relations_.find(name.table);
  if (name.database != kSourceDatabase || relation == relations_.end())
    return NotFound("no relation ", name.database, ".", name.table);
  return relation->second;
}

void StageRelations::Put(const std::string& name, std::shared_ptr<Relation> relation) {
  relations_.insert_or_assign(name, std::move(relation));
}

void StageRelations::PutSource(size_t source, std::string select) {
  views_.insert_or_assign(Named("source", source), std::move(select));
}

void StageRelations::Clear() {
  views_.clear();
  relations_.clear();
}

void StageWork::PutState(size_t i, const std::string& name, const std::optional<Snapshot>& snapshot) {
  const Table& table = sources[i].table;
  const TableView view = sources[i].drives ? TableView::kStream : TableView::kScan;
  relations.Put(name, MakeStateRelation(table, snapshot, ToArrowSchema(table.schema->fields), view));
}

Status StageWork::Run(const std::string& statement) {
  return ForEachBatch(statement, [](const auto&) { return Status::OK(); });
}

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> StageWork::Batches(const std::string& query) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  HEADRACE_RETURN_NOT_OK(ForEachBatch(query, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    if (batch->num_rows() > 0) batches.push_back(batch);
    return Status::OK();
  }));
  return batches;
}

Result<QuerySession::Answer> StageWork::Ask(const std::string& statement) {
  if (room->cancel != nullptr && room->cancel->load()) return Cancelled("the step was interrupted");
  return session->Query(statement);
}

Status StageWork::Next(const QuerySession::Answer& answer, std::shared_ptr<arrow::RecordBatch>* batch) {
  return answer.rows->ReadNext(batch);
}

}  // namespace headrace::pipeline
