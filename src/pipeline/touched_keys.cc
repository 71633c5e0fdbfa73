#include "pipeline/touched_keys.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "pipeline/source_changes.h"
#include "pipeline/stage_queries.h"
#include "pipeline/table_relation.h"

namespace headrace::pipeline {
namespace {

constexpr int64_t kPage = 16384;

int64_t RowsOf(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  int64_t rows = 0;
  for (const auto& batch : batches) rows += batch->num_rows();
  return rows;
}

}  // namespace

Result<TouchedKeys> TouchedKeys::Of(StageWork* work, const std::string& query) {
  TouchedKeys keys(work);
  HEADRACE_ASSIGN_OR_RETURN(
      keys.few_, work->Batches("SELECT * FROM (" + query + ") LIMIT " + std::to_string(kPage + 1)));
  keys.count_ = RowsOf(keys.few_);
  if (keys.count_ <= kPage) return keys;
  keys.few_.clear();
  HEADRACE_RETURN_NOT_OK(work->Run(MakeTemporary("$keys", query)));
  HEADRACE_ASSIGN_OR_RETURN(const auto counted,
                            work->Batches("SELECT count(*) FROM " + TemporaryTable("$keys")));
  keys.count_ = static_cast<const arrow::Int64Array&>(*counted[0]->column(0)).Value(0);
  return keys;
}

int64_t TouchedKeys::pages() const { return std::max<int64_t>(1, (count_ + kPage - 1) / kPage); }

Result<bool> TouchedKeys::HoldNull() const {
  for (int64_t page = 0; page < pages(); ++page) {
    HEADRACE_ASSIGN_OR_RETURN(const auto keys, Page(page));
    for (const auto& batch : keys) {
      for (const auto& column : batch->columns()) {
        if (column->null_count() > 0) return true;
      }
    }
  }
  return false;
}

Status TouchedKeys::PutRows(int64_t page, const std::string& name, const Table& table,
                            const std::optional<Snapshot>& snapshot) const {
  HEADRACE_ASSIGN_OR_RETURN(const auto keys, Page(page));
  HEADRACE_ASSIGN_OR_RETURN(auto found, RowsOfKeys(table, snapshot, keys, work_->room->lookup_cache));
  work_->relations.Put(name, MakeBatchesRelation(ToArrowSchema(table.schema->fields), std::move(found)));
  return Status::OK();
}

Result<std::string> TouchedKeys::RowsIn(const std::string& name, const Table& table,
                                        const std::optional<Snapshot>& snapshot) const {
  const std::string kept = "$" + name, rows = "SELECT *" + FromRelation(name);
  for (int64_t page = 0; page < pages(); ++page) {
    HEADRACE_RETURN_NOT_OK(PutRows(page, name, table, snapshot));
    if (pages() == 1) return FromRelation(name);
    HEADRACE_RETURN_NOT_OK(work_->Run(AddToTemporary(kept, rows, /*anew=*/page == 0)));
  }
  return " FROM " + TemporaryTable(kept);
}

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> TouchedKeys::Page(int64_t page) const {
  if (pages() == 1) return few_;
  return work_->Batches("SELECT * FROM " + TemporaryTable("$keys") + " WHERE rowid >= " +
                        std::to_string(page * kPage) + " AND rowid < " + std::to_string((page + 1) * kPage));
}

}  // namespace headrace::pipeline
