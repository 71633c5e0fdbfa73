// The public change reader: a ChangeStream with its kinds as text, the snapshot beside each row, and a place to begin and end.
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/open_table.h"
#include "base/error.h"
#include "catalog/snapshots.h"
#include "file/physical_columns.h"
#include "read/changes.h"

namespace headrace {
namespace {

constexpr char kRowKindColumn[] = "_rowkind";
constexpr char kSnapshotColumn[] = "_snapshot";

Result<std::shared_ptr<arrow::Array>> KindTexts(const arrow::Array* kinds, int64_t rows) {
  arrow::StringBuilder builder;
  HEADRACE_RETURN_NOT_OK(builder.Reserve(rows));
  const int8_t* raw = kinds == nullptr ? nullptr : static_cast<const arrow::Int8Array&>(*kinds).raw_values();
  for (int64_t row = 0; row < rows; ++row) {
    const RowKind kind = raw == nullptr ? RowKind::kInsert : static_cast<RowKind>(raw[row]);
    HEADRACE_RETURN_NOT_OK(builder.Append(ShortName(kind)));
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> SnapshotNumbers(SnapshotId id, int64_t rows) {
  arrow::Int64Builder builder;
  HEADRACE_RETURN_NOT_OK(builder.Reserve(rows));
  for (int64_t row = 0; row < rows; ++row) builder.UnsafeAppend(id.value);
  return builder.Finish();
}

class StreamedChanges final : public ChangeReader {
 public:
  // `state` (may be null) holds the rows to begin with, as of `state_id`.
  StreamedChanges(std::shared_ptr<arrow::Schema> schema, std::unique_ptr<ChangeStream> stream,
                  std::optional<SnapshotId> last, bool follow,
                  std::unique_ptr<arrow::RecordBatchReader> state, SnapshotId state_id)
      : schema_(std::move(schema)),
        stream_(std::move(stream)),
        last_(last),
        follow_(follow),
        rows_(std::move(state)),
        rows_snapshot_(state_id),
        rows_are_state_(rows_ != nullptr),
        resume_at_(stream_->next_snapshot()) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  bool at_end() const override { return at_end_; }
  int64_t skipped_overwrites() const override { return skipped_overwrites_; }
  int64_t next_snapshot() const override { return resume_at_.value; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (!at_end_) {
      if (rows_ == nullptr) {
        HEADRACE_ASSIGN_OR_RETURN(bool moved, Advance());
        if (!moved) return nullptr;
        continue;
      }
      std::shared_ptr<arrow::RecordBatch> batch;
      HEADRACE_RETURN_NOT_OK(rows_->ReadNext(&batch));
      if (batch == nullptr) {
        rows_.reset();
        rows_are_state_ = false;
        resume_at_ = stream_->next_snapshot();
        continue;
      }
      if (batch->num_rows() > 0) return Decorate(*batch);
    }
    return nullptr;
  }

 private:
  // Goes to the next snapshot; false when there is none at present, or no more.
  Result<bool> Advance() {
    if (last_ && stream_->next_snapshot() > *last_) {
      at_end_ = true;
      return false;
    }
    HEADRACE_ASSIGN_OR_RETURN(std::optional<SnapshotChanges> changes, stream_->Next());
    if (!changes) {
      at_end_ = !follow_;
      return false;
    }
    skipped_overwrites_ += changes->skipped_overwrite;
    rows_ = std::move(changes->rows);
    rows_snapshot_ = changes->snapshot.id;
    if (rows_ == nullptr) resume_at_ = stream_->next_snapshot();
    return true;
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Decorate(const arrow::RecordBatch& batch) const {
    const int values = schema_->num_fields() - 2;
    const arrow::Array* kinds = rows_are_state_ ? nullptr : batch.column(values).get();
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> kind_texts, KindTexts(kinds, batch.num_rows()));
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> snapshots,
                              SnapshotNumbers(rows_snapshot_, batch.num_rows()));
    std::vector<std::shared_ptr<arrow::Array>> columns = {std::move(kind_texts), std::move(snapshots)};
    for (int i = 0; i < values; ++i) columns.push_back(batch.column(i));
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<ChangeStream> stream_;
  std::optional<SnapshotId> last_;
  bool follow_;
  std::unique_ptr<arrow::RecordBatchReader> rows_;  // of the snapshot being read; null between snapshots
  SnapshotId rows_snapshot_;
  bool rows_are_state_;   // the first rows of kFull, all inserts
  SnapshotId resume_at_;  // the first snapshot not wholly handed out
  bool at_end_ = false;
  int64_t skipped_overwrites_ = 0;
};

struct Start {
  SnapshotId from{1};
  std::optional<Snapshot> state;  // kFull: begin with this snapshot's rows
};

Result<Start> StartOf(const Table& table, const ChangesOptions& options) {
  if (options.from == ChangesOptions::From::kSnapshot) {
    if (options.from_snapshot < 1)
      return Invalid("changes of table ", table.name, ": snapshot ids begin with 1, not ",
                     options.from_snapshot);
    return Start{SnapshotId(options.from_snapshot), std::nullopt};
  }
  if (options.from == ChangesOptions::From::kEarliest) {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<SnapshotId> earliest, FindEarliestChangeId(table));
    return Start{earliest.value_or(SnapshotId(1)), std::nullopt};
  }
  HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> latest, ReadLatestSnapshot(table));
  if (!latest) return Start{};
  const SnapshotId next(latest->id.value + 1);
  if (options.from == ChangesOptions::From::kLatest) return Start{next, std::nullopt};
  return Start{next, std::move(latest)};
}

Status CheckEnd(const Table& table, const ChangesOptions& options) {
  if (!options.to_snapshot || options.follow) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(std::optional<SnapshotId> latest, FindLatestSnapshotId(table));
  const int64_t newest = latest ? latest->value : 0;
  if (*options.to_snapshot <= newest) return Status::OK();
  return NotFound("changes of table ", table.name, ": snapshot ", *options.to_snapshot,
                  " does not exist; the latest is ", newest, "; with follow the reader waits for it");
}

// The columns that a reader adds must not be there already.
Status CheckNoClash(const Table& table, const arrow::Schema& schema) {
  for (const char* added : {kRowKindColumn, kSnapshotColumn}) {
    if (schema.GetFieldIndex(added) < 0) continue;
    return Unsupported("changes of table ", table.name, ": its column ", added,
                       " has the name of a column that changes add; choose the other columns by name");
  }
  return Status::OK();
}

Status CheckRange(const Table& table, const ChangesOptions& options) {
  if (!options.to_snapshot) return Status::OK();
  if (options.from == ChangesOptions::From::kFull) {
    return Invalid("changes of table ", table.name,
                   ": full begins with the latest state, it cannot end at snapshot ", *options.to_snapshot);
  }
  if (options.from == ChangesOptions::From::kSnapshot && *options.to_snapshot < options.from_snapshot) {
    return Invalid("changes of table ", table.name, ": snapshot ", *options.to_snapshot,
                   " to end at lies before snapshot ", options.from_snapshot, " to begin with");
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<ChangeReader>> OpenChangeReader(const Table& table, const ChangesOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Schema> schema, PublicSchema(table, options.columns));
  arrow::FieldVector fields = {arrow::field(kRowKindColumn, arrow::utf8(), false),
                               arrow::field(kSnapshotColumn, arrow::int64(), false)};
  for (const std::shared_ptr<arrow::Field>& field : schema->fields()) fields.push_back(field);
  HEADRACE_RETURN_NOT_OK(CheckNoClash(table, *schema));
  HEADRACE_RETURN_NOT_OK(CheckRange(table, options));
  HEADRACE_RETURN_NOT_OK(CheckEnd(table, options));
  HEADRACE_ASSIGN_OR_RETURN(Start start, StartOf(table, options));
  std::unique_ptr<arrow::RecordBatchReader> state;
  if (start.state) {
    HEADRACE_ASSIGN_OR_RETURN(state,
                              OpenStreamVisibleState(table, *start.state, {.columns = options.columns}));
  }
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<ChangeStream> stream,
                            ChangeStream::Open(table, {.from = start.from, .columns = options.columns}));
  std::optional<SnapshotId> last;
  if (options.to_snapshot) last = SnapshotId(*options.to_snapshot);
  return std::make_unique<StreamedChanges>(arrow::schema(std::move(fields)), std::move(stream), last,
                                           options.follow, std::move(state),
                                           start.state ? start.state->id : SnapshotId(0));
}

}  // namespace headrace
