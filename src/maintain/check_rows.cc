// The rows of one data or changelog file, against its manifest entry and the place it lies in.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/compare.h>
#include <arrow/record_batch.h>

#include "file/data_file_reader.h"
#include "file/parquet_rows.h"
#include "file/physical_columns.h"
#include "format/column_stats.h"
#include "lsm/key_order.h"
#include "maintain/check_states.h"
#include "maintain/column_extremes.h"
#include "write/bucket_router.h"
#include "write/partition_index.h"

namespace headrace {
namespace {

constexpr int64_t kBatchRows = 32768;
constexpr int8_t kLargestKind = 3;

// A reader whose batches are handed out in pieces of the length asked for.
class Pieces {
 public:
  explicit Pieces(std::unique_ptr<DataFileReader> reader) : reader_(std::move(reader)) {}

  // At most `rows` rows; null at the end.
  Result<std::shared_ptr<arrow::RecordBatch>> Take(int64_t rows) {
    while (batch_ == nullptr || at_ == batch_->num_rows()) {
      HEADRACE_ASSIGN_OR_RETURN(batch_, reader_->Next());
      at_ = 0;
      if (batch_ == nullptr) return nullptr;
    }
    const int64_t taken = std::min(rows, batch_->num_rows() - at_);
    at_ += taken;
    return batch_->Slice(at_ - taken, taken);
  }

 private:
  std::unique_ptr<DataFileReader> reader_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t at_ = 0;
};

class RowCheck {
 public:
  RowCheck(CheckRun* run, const Root& root, const ManifestEntry& entry, FileRole role,
           const std::string& path)
      : run_(run),
        root_(root),
        version_(root.schemas.at(entry.file.schema_id.value)),
        schema_(*version_.schema),
        entry_(entry),
        file_(entry.file),
        role_(role),
        path_(path) {}

  void Run() {
    if (!CheckRowCount()) return;
    const Status read = Read();
    if (!read.ok()) return TellUnreadable(read);
    CheckCounts();
    CheckKeyRange();
    CheckStats();
  }

 private:
  bool keyed() const { return schema_.has_primary_key(); }

  // Each kind once a file: a file with one wrong row mostly has many.
  void Tell(FindingKind kind, const std::string& found, const std::string& expected) {
    if (told_.insert(kind).second) run_->Add(kind, path_, found, expected);
  }

  void TellUnreadable(const Status& status) {
    const bool unsupported = IsKind(status, ErrorKind::kUnsupported);
    Tell(unsupported ? FindingKind::kDataNotRead : FindingKind::kDataFileUnreadable, status.message(),
         unsupported ? "a format and types that are built here" : "every page of the file");
  }

  // False when there is nothing more to read. A wrong count is told, and the file is read as it is.
  bool CheckRowCount() {
    if (!path_.ends_with(".parquet")) return true;
    const Result<int64_t> rows = ReadParquetRowCount(run_->store.get(), path_, run_->pool);
    if (!rows.ok()) {
      TellUnreadable(rows.status());
      return false;
    }
    if (*rows != file_.row_count) {
      Tell(FindingKind::kRowCountWrong, Told(*rows, " rows"),
           Told(file_.row_count, " rows, as its manifest says"));
    }
    file_.row_count = *rows;
    // Told, and the file is read all the same: the bytes are of use to nobody.
    const Status begins = CheckParquetMagic(run_->store.get(), path_);
    if (!begins.ok())
      Tell(FindingKind::kDataFileUnreadable, begins.message(), "a file that begins with PAR1");
    return true;
  }

  bool Holds(const std::string& column) const {
    return !file_.write_columns.has_value() ||
           std::find(file_.write_columns->begin(), file_.write_columns->end(), column) !=
               file_.write_columns->end();
  }
  bool HoldsAll(const std::vector<std::string>& columns) const {
    return std::all_of(columns.begin(), columns.end(), [&](const std::string& name) { return Holds(name); });
  }

  Result<Pieces> Open(ReadColumns columns) const {
    FileReadOptions options;
    options.check_key_range = false;
    options.table_schema = version_.schema;
    options.schema_by_id = root_.table.schema_by_id;
    options.columns = std::move(columns);
    options.batch_rows = kBatchRows;
    options.pool = run_->pool;
    HEADRACE_ASSIGN_OR_RETURN(auto reader, OpenDataFile(run_->store.get(), path_, file_, options));
    return Pieces(std::move(reader));
  }

  Status Read() {
    std::vector<std::string> names;
    for (const DataField& field : schema_.fields) {
      if (!Holds(field.name)) continue;
      names.push_back(field.name);
      fields_.push_back(field);
      extremes_.emplace_back(field.type);
    }
    HEADRACE_ASSIGN_OR_RETURN(Pieces values, Open({.sequence = keyed(), .kind = keyed(), .values = names}));
    std::optional<Pieces> keys;
    if (keyed()) {
      // On their own, so that the stored copies are read and not their value columns.
      HEADRACE_ASSIGN_OR_RETURN(keys, Open({.keys = true, .values = {}}));
      HEADRACE_ASSIGN_OR_RETURN(key_order_, KeyOrder::OfKey(schema_.TypesOf(schema_.TrimmedPrimaryKeys())));
    }
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, values.Take(kBatchRows));
      if (batch == nullptr) return Status::OK();
      HEADRACE_RETURN_NOT_OK(CheckBatch(*batch));
      if (keys.has_value()) HEADRACE_RETURN_NOT_OK(CheckKeysBeside(*batch, &*keys));
      rows_ += batch->num_rows();
      run_->looked_at.rows += batch->num_rows();
      run_->Progressed();
    }
  }

  Status CheckBatch(const arrow::RecordBatch& batch) {
    const int first_value = keyed() ? 2 : 0;
    if (keyed()) CheckSequencesAndKinds(batch);
    for (size_t i = 0; i < extremes_.size(); ++i) {
      HEADRACE_RETURN_NOT_OK(extremes_[i].Add(*batch.column(first_value + static_cast<int>(i))));
    }
    HEADRACE_RETURN_NOT_OK(CheckPartition(batch));
    HEADRACE_RETURN_NOT_OK(CheckHashIndex(batch));
    return CheckBucket(batch);
  }

  void CheckSequencesAndKinds(const arrow::RecordBatch& batch) {
    const auto& sequences = static_cast<const arrow::Int64Array&>(*batch.column(0));
    const auto& kinds = static_cast<const arrow::Int8Array&>(*batch.column(1));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      const int8_t kind = kinds.Value(row);
      if (kinds.IsNull(row) || kind < 0 || kind > kLargestKind) {
        Tell(FindingKind::kRowKindUnknown,
             Told("row ", rows_ + row, " has kind ", kinds.IsNull(row) ? "null" : Told(+kind)),
             "0 (+I), 1 (-U), 2 (+U) or 3 (-D)");
      }
      deletes_ += kind & 1;
      const int64_t sequence = sequences.Value(row);
      if (sequences.IsValid(row) && sequence >= file_.min_sequence && sequence <= file_.max_sequence)
        continue;
      Tell(FindingKind::kSequenceRangeWrong, Told("row ", rows_ + row, " has sequence number ", sequence),
           Told(file_.min_sequence, " to ", file_.max_sequence, ", as its manifest says"));
    }
  }

  Status CheckPartition(const arrow::RecordBatch& batch) {
    const std::vector<std::string>& names = schema_.partition_keys;
    if (names.empty() || !HoldsAll(names)) return Status::OK();
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const std::string& name : names) columns.push_back(batch.GetColumnByName(name));
    HEADRACE_ASSIGN_OR_RETURN(const auto encoder,
                              BinaryRowEncoder::Make(schema_.TypesOf(names), std::move(columns)));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string_view bytes, encoder->EncodeRow(row));
      if (bytes == entry_.partition.bytes) continue;
      Tell(FindingKind::kRowInWrongPartition, Told("row ", rows_ + row, " is of another partition"),
           root_.table.Describe(entry_.partition, entry_.bucket));
      break;
    }
    return Status::OK();
  }

  Status CheckBucket(const arrow::RecordBatch& batch) {
    const std::vector<std::string> names = schema_.BucketKeys();
    if (entry_.total_buckets <= 0 || names.empty() || !version_.bucket_function_known || !HoldsAll(names))
      return Status::OK();
    Table then = root_.table;
    then.schema = version_.schema;
    then.options = version_.placement;
    HEADRACE_ASSIGN_OR_RETURN(const auto buckets, AssignBuckets(then, batch, entry_.total_buckets));
    for (size_t row = 0; row < buckets.size(); ++row) {
      if (buckets[row] == entry_.bucket) continue;
      Tell(FindingKind::kKeyInWrongBucket,
           Told("row ", rows_ + static_cast<int64_t>(row), " belongs to bucket ", buckets[row], " of ",
                entry_.total_buckets),
           Told("rows of bucket ", entry_.bucket));
      break;
    }
    return Status::OK();
  }

  // A key of a dynamic bucket must be found again by who writes it next, or it gets a second bucket.
  Status CheckHashIndex(const arrow::RecordBatch& batch) {
    const bool dynamic = keyed() && entry_.total_buckets == -1 && !schema_.moves_between_partitions();
    const std::vector<std::string> names = schema_.TrimmedPrimaryKeys();
    if (!dynamic || role_ != FileRole::kData || !HoldsAll(names)) return Status::OK();
    const auto index = run_->hash_index.find(entry_.partition.bytes);
    if (index != run_->hash_index.end() && index->second == nullptr) return Status::OK();
    Table then = root_.table;
    then.schema = version_.schema;
    HEADRACE_ASSIGN_OR_RETURN(const auto hashes, HashKeys(then, batch, names));
    for (size_t row = 0; row < hashes.size(); ++row) {
      const auto bucket =
          index == run_->hash_index.end() ? std::optional<BucketId>() : index->second->Find(hashes[row]);
      if (bucket == entry_.bucket) continue;
      Tell(FindingKind::kKeyNotInHashIndex,
           Told("row ", rows_ + static_cast<int64_t>(row), " has a key of hash ", hashes[row], ", which is ",
                bucket.has_value() ? Told("in the index of bucket ", *bucket) : std::string("in no index")),
           Told("in the index of bucket ", entry_.bucket));
      break;
    }
    return Status::OK();
  }

  // The keys of as many rows as `batch` has.
  Status CheckKeysBeside(const arrow::RecordBatch& batch, Pieces* keys) {
    for (int64_t at = 0; at < batch.num_rows();) {
      HEADRACE_ASSIGN_OR_RETURN(const auto piece, keys->Take(batch.num_rows() - at));
      if (piece == nullptr)
        return Corruption("the key columns end after ", rows_ + at, " rows, others go on");
      HEADRACE_RETURN_NOT_OK(CheckKeyPiece(batch, at, *piece));
      at += piece->num_rows();
    }
    return Status::OK();
  }

  Status CheckKeyPiece(const arrow::RecordBatch& batch, int64_t at, const arrow::RecordBatch& piece) {
    const std::vector<std::string> names = schema_.TrimmedPrimaryKeys();
    const auto equal = arrow::EqualOptions::Defaults().nans_equal(true);
    for (size_t i = 0; i < names.size(); ++i) {
      const std::shared_ptr<arrow::Array> value = batch.GetColumnByName(names[i]);
      if (value == nullptr ||
          value->RangeEquals(*piece.column(static_cast<int>(i)), at, at + piece.num_rows(), 0, equal))
        continue;
      Tell(FindingKind::kKeyColumnDiffers,
           Told("_KEY_", names[i], " and ", names[i], " differ among rows ", rows_ + at, " to ",
                rows_ + at + piece.num_rows() - 1),
           "the same values in both");
    }
    HEADRACE_ASSIGN_OR_RETURN(const auto encoder,
                              BinaryRowEncoder::Make(schema_.TypesOf(names), piece.columns()));
    if (rows_ + at == 0) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string_view first, encoder->EncodeRow(0));
      first_key_ = first;
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view last, encoder->EncodeRow(piece.num_rows() - 1));
    last_key_ = last;
    return CheckOrder(piece, rows_ + at);
  }

  // Data files have each key once; a changelog keeps the changes of a key together.
  Status CheckOrder(const arrow::RecordBatch& piece, int64_t first_row) {
    if (entry_.bucket.value == kPostponeBucket) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const KeyColumn keys, key_order_.Encode(piece.columns()));
    const int least = role_ == FileRole::kData ? 1 : 0;
    int64_t wrong = -1;
    if (last_order_.has_value() && keys.Compare(0, key_order_.ColumnOf(*last_order_), 0) < least) wrong = 0;
    for (int64_t row = 1; row < keys.size() && wrong < 0; ++row) {
      if (keys.Compare(row, keys, row - 1) < least) wrong = row;
    }
    if (wrong >= 0) {
      Tell(FindingKind::kKeyOrderWrong,
           Told("row ", first_row + wrong, " does not come after the row before it"),
           role_ == FileRole::kData ? "keys that ascend, each once" : "keys that ascend");
    }
    last_order_ = keys.Encoded(keys.size() - 1);
    return Status::OK();
  }

  void CheckCounts() {
    if (!keyed() || !file_.delete_row_count.has_value() || *file_.delete_row_count == deletes_) return;
    Tell(FindingKind::kDeleteCountWrong, Told(deletes_, " rows of kind -U or -D"),
         Told(*file_.delete_row_count, ", as its manifest says"));
  }

  void CheckKeyRange() {
    if (!keyed() || rows_ == 0 || entry_.bucket.value == kPostponeBucket) return;
    if (first_key_ != file_.min_key.bytes)
      Tell(FindingKind::kKeyRangeWrong, "a first key that is not the smallest key of its manifest entry",
           "the first key");
    if (last_key_ != file_.max_key.bytes)
      Tell(FindingKind::kKeyRangeWrong, "a last key that is not the largest key of its manifest entry",
           "the last key");
  }

  void CheckStats() {
    const auto columns =
        file_.value_stats_columns.has_value() ? file_.value_stats_columns : file_.write_columns;
    const auto values = ReadStats(file_.value_stats, columns, schema_.fields);
    if (values.ok()) {  // else it was told without a look at the rows
      for (size_t i = 0; i < fields_.size(); ++i) {
        CheckColumn((*values)[static_cast<size_t>(schema_.FieldIndex(fields_[i].name))], i,
                    FindingKind::kValueStatsWrong);
      }
    }
    if (!keyed()) return;
    const std::vector<std::string> names = schema_.TrimmedPrimaryKeys();
    const std::vector<DataField> key_fields = schema_.FieldsOf(names);
    const auto keys = ReadStats(file_.key_stats, std::nullopt, key_fields);
    if (!keys.ok())
      return Tell(FindingKind::kKeyStatsWrong, keys.status().message(), "statistics of the key columns");
    for (size_t k = 0; k < names.size(); ++k) {
      for (size_t i = 0; i < fields_.size(); ++i) {
        if (fields_[i].name == names[k]) CheckColumn((*keys)[k], i, FindingKind::kKeyStatsWrong);
      }
    }
  }

  void CheckColumn(const ColumnStats& stats, size_t i, FindingKind outside) {
    const DataField& field = fields_[i];
    const ColumnExtremes& seen = extremes_[i];
    if (stats.null_count.has_value() && !field.type.is_nested() && *stats.null_count != seen.null_count()) {
      Tell(FindingKind::kNullCountWrong, Told("column ", field.name, " has ", seen.null_count(), " nulls"),
           Told(*stats.null_count, ", as its manifest says"));
    }
    if (IsNull(seen.min()) || IsNull(stats.min) || IsNull(stats.max)) return;
    if (CompareValues(seen.min(), stats.min) >= 0 && CompareValues(seen.max(), stats.max) <= 0) return;
    Tell(outside,
         "column " + field.name + " holds " + ToText(seen.min(), field.type) + " to " +
             ToText(seen.max(), field.type),
         ToText(stats.min, field.type) + " to " + ToText(stats.max, field.type) + ", as its manifest says");
  }

  CheckRun* run_;
  const Root& root_;
  const SchemaVersion& version_;
  const TableSchema& schema_;
  const ManifestEntry& entry_;
  DataFileMeta file_;  // the entry's, with the rows the file really has
  const FileRole role_;
  const std::string& path_;

  std::set<FindingKind> told_;
  std::vector<DataField> fields_;  // that the file holds
  std::vector<ColumnExtremes> extremes_;
  KeyOrder key_order_;
  int64_t rows_ = 0;
  int64_t deletes_ = 0;
  std::string first_key_;
  std::string last_key_;
  std::optional<EncodedKey> last_order_;
};

}  // namespace

void CheckRows(CheckRun* run, const Root& root, const ManifestEntry& entry, FileRole role,
               const std::string& path) {
  RowCheck(run, root, entry, role, path).Run();
}

}  // namespace headrace
