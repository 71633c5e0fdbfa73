// Relations over the splits of a snapshot, over batches, and over a reader.
#include "pipeline/table_relation.h"

#include <string>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pipeline/row_conditions.h"
#include "read/changes.h"
#include "read/scan.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

std::vector<std::string> NamesAt(const arrow::Schema& schema, const std::vector<int>& columns) {
  std::vector<std::string> names;
  for (const int column : columns) names.push_back(schema.field(column)->name());
  return names;
}

// A piece a split.
class StateRelation final : public Relation {
 public:
  StateRelation(Table table, std::optional<Snapshot> snapshot, std::shared_ptr<arrow::Schema> schema,
                TableView view, std::vector<RowCondition> only)
      : table_(std::make_shared<const Table>(std::move(table))),
        snapshot_(std::move(snapshot)),
        schema_(std::move(schema)),
        view_(view),
        only_(std::move(only)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::optional<int64_t> row_count() const override {
    return snapshot_ ? snapshot_->total_record_count : int64_t{0};
  }

  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>& conditions) override {
    std::vector<RelationPiece> pieces;
    if (!snapshot_) return pieces;
    std::vector<RowCondition> of_rows = only_;
    for (const ColumnCondition& condition : conditions) {
      if (auto of_row = RowConditionOf(table_->schema->fields, condition))
        of_rows.push_back(std::move(*of_row));
    }
    ScanOptions options;
    options.columns = NamesAt(*schema_, columns);
    options.conditions = of_rows;
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Split> splits,
                              view_ == TableView::kScan
                                  ? PlanScan(*table_, *snapshot_, ScanView::kCurrent, std::move(of_rows))
                                  : PlanStreamVisibleState(*table_, *snapshot_, std::move(of_rows)));
    for (Split& split : splits) {
      pieces.push_back([table = table_, split = std::move(split), options, by = snapshot_->id] {
        return OpenSplits(*table, {split}, options, FilesNamedBy{by});
      });
    }
    return pieces;
  }

 private:
  const std::shared_ptr<const Table> table_;
  const std::optional<Snapshot> snapshot_;
  const std::shared_ptr<arrow::Schema> schema_;
  const TableView view_;
  const std::vector<RowCondition> only_;
};

class BatchesRelation final : public Relation {
 public:
  BatchesRelation(std::shared_ptr<arrow::Schema> schema,
                  std::vector<std::shared_ptr<arrow::RecordBatch>> batches)
      : schema_(std::move(schema)), batches_(std::move(batches)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::optional<int64_t> row_count() const override {
    int64_t rows = 0;
    for (const auto& batch : batches_) rows += batch->num_rows();
    return rows;
  }

  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>&) override {
    std::vector<RelationPiece> pieces;
    for (const auto& batch : batches_) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> selected, batch->SelectColumns(columns));
      pieces.push_back([selected]() -> Result<std::unique_ptr<arrow::RecordBatchReader>> {
        HEADRACE_ASSIGN_OR_RETURN(const auto reader, arrow::RecordBatchReader::Make({selected}));
        return std::make_unique<Shared>(reader);
      });
    }
    return pieces;
  }

 private:
  // Arrow makes a reader of batches only as a shared one.
  class Shared final : public arrow::RecordBatchReader {
   public:
    explicit Shared(std::shared_ptr<arrow::RecordBatchReader> reader) : reader_(std::move(reader)) {}
    std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
    Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override { return reader_->ReadNext(batch); }

   private:
    std::shared_ptr<arrow::RecordBatchReader> reader_;
  };

  const std::shared_ptr<arrow::Schema> schema_;
  const std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
};

class ReaderRelation final : public Relation {
 public:
  ReaderRelation(std::shared_ptr<arrow::Schema> schema, OpenColumns open)
      : schema_(std::move(schema)), open_(std::move(open)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>&) override {
    std::vector<RelationPiece> pieces;
    pieces.push_back([open = open_, columns] { return open(columns); });
    return pieces;
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const OpenColumns open_;
};

}  // namespace

std::shared_ptr<Relation> MakeStateRelation(Table table, std::optional<Snapshot> snapshot,
                                            std::shared_ptr<arrow::Schema> schema, TableView view,
                                            std::vector<RowCondition> only) {
  return std::make_shared<StateRelation>(std::move(table), std::move(snapshot), std::move(schema), view,
                                         std::move(only));
}

std::shared_ptr<Relation> MakeBatchesRelation(std::shared_ptr<arrow::Schema> schema,
                                              std::vector<std::shared_ptr<arrow::RecordBatch>> batches) {
  return std::make_shared<BatchesRelation>(std::move(schema), std::move(batches));
}

std::shared_ptr<Relation> MakeReaderRelation(std::shared_ptr<arrow::Schema> schema, OpenColumns open) {
  return std::make_shared<ReaderRelation>(std::move(schema), std::move(open));
}

}  // namespace headrace
