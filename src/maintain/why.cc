#include "maintain/why.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <arrow/record_batch.h>

#include "base/text.h"
#include "catalog/snapshots.h"
#include "file/physical_columns.h"
#include "lsm/decide.h"
#include "lsm/levels.h"
#include "lsm/run_reader.h"
#include "lsm/versions.h"
#include "maintain/findings.h"
#include "read/key_bucket.h"
#include "read/key_text.h"
#include "read/split_rows.h"

namespace headrace {
namespace {

constexpr int64_t kBatchRows = 4096;  // one row is wanted of each file

Result<NamedValues> CheckedKey(const Table& table, const std::vector<std::pair<std::string, Value>>& key) {
  const TableSchema& schema = *table.schema;
  const std::string doing = "explaining a key of table " + table.name + ": ";
  if (!schema.has_primary_key())
    return Invalid(doing, "it has no primary key, so its rows have no versions; use read");
  NamedValues values;
  for (const auto& [column, value] : key) {
    const auto among = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), column) != names.end();
    };
    if (!among(schema.primary_keys) && !among(schema.partition_keys))
      return Invalid(doing, column, " is neither part of the primary key (", Joined(schema.primary_keys),
                     ") nor a partition column");
    if (IsNull(value) && among(schema.primary_keys))
      return Invalid(doing, "primary-key column ", column, " cannot be null");
    if (!values.emplace(column, value).second) return Invalid(doing, column, " is given twice");
  }
  for (const std::string& name : schema.primary_keys) {
    if (!values.contains(name))
      return Invalid(doing, name, "=… is missing; the primary key is ", Joined(schema.primary_keys));
  }
  return values;
}

Result<bool> IsWantedPartition(const Table& table, const NamedValues& key, const BinaryRow& partition) {
  const std::vector<std::string>& names = table.schema->partition_keys;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values,
                            DecodeBinaryRow(partition, table.schema->TypesOf(names)));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto wanted = key.find(names[i]);
    if (wanted != key.end() && wanted->second != values[i]) return false;
  }
  return true;
}

// One version with what orders it.
struct Version {
  std::shared_ptr<arrow::RecordBatch> columns;  // one row, as it was read
  LoadedRows ordered;                           // the same row, ready to compare
  const MergeFile* file = nullptr;
  bool deleted = false;    // marked by a deletion vector
  bool unscanned = false;  // in a file of level 0 that scans pass over

  int8_t kind() const { return ordered.kinds[0]; }
  int64_t number() const { return ordered.numbers[0]; }
};

struct Bucket {
  BinaryRow partition;
  BucketId number;
  std::vector<MergeFile> files;  // that may hold the key, the oldest first
  std::vector<TreeFilePtr> skipped;
  std::vector<Version> versions;  // the newest first; those that do not count at the end
};

class Explanation {
 public:
  static Result<KeyHistory> Make(const Table& table, const Snapshot& snapshot, NamedValues key,
                                 arrow::MemoryPool* pool) {
    Explanation explanation(table, std::move(key), pool);
    HEADRACE_RETURN_NOT_OK(explanation.FindFiles(snapshot));
    for (Bucket& bucket : explanation.buckets_) HEADRACE_RETURN_NOT_OK(explanation.FindVersions(&bucket));
    KeyHistory history;
    history.snapshot = snapshot.id.value;
    for (const Bucket& bucket : explanation.buckets_)
      HEADRACE_RETURN_NOT_OK(explanation.Tell(bucket, &history));
    explanation.Conclude(&history);
    return history;
  }

 private:
  Explanation(const Table& table, NamedValues key, arrow::MemoryPool* pool)
      : table_(table),
        schema_(*table.schema),
        key_(std::move(key)),
        pool_(pool),
        policy_(MergePolicyOf(table.options, true)) {}

  Status FindFiles(const Snapshot& snapshot) {
    const std::vector<std::string> trimmed = schema_.TrimmedPrimaryKeys();
    HEADRACE_ASSIGN_OR_RETURN(order_, KeyOrder::OfKey(schema_.TypesOf(trimmed)));
    HEADRACE_ASSIGN_OR_RETURN(encoded_, order_.Encode(ValuesOf(key_, trimmed)));
    HEADRACE_ASSIGN_OR_RETURN(columns_,
                              MergeColumns::Make(schema_, policy_, schema_.ColumnNames(), true, false));
    EntryFilter filter;
    filter.detail = EntryDetail::kWithoutStatistics;
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<ManifestEntry> live, LiveFiles(table_, snapshot, filter));
    HEADRACE_ASSIGN_OR_RETURN(index_, IndexFiles::Read(table_, snapshot));
    std::map<BucketPlace, std::vector<TreeFilePtr>> files;
    SchemaId oldest = schema_.id;
    for (const ManifestEntry& entry : live) {
      HEADRACE_ASSIGN_OR_RETURN(const bool wanted, IsWantedPartition(table_, key_, entry.partition));
      HEADRACE_ASSIGN_OR_RETURN(
          const std::optional<BucketId> bucket,
          BucketOfKey(schema_, table_.options.bucket_function, key_, entry.total_buckets));
      if (!wanted || (bucket.has_value() && *bucket != entry.bucket)) continue;
      HEADRACE_ASSIGN_OR_RETURN(TreeFilePtr file, MakeTreeFile(order_, entry.file));
      oldest = std::min(oldest, file->meta.schema_id);
      files[{entry.partition, entry.bucket}].push_back(std::move(file));
    }
    if (table_.options.deletion_vectors) {
      HEADRACE_ASSIGN_OR_RETURN(without_vectors_, LastSchemaWithoutDeletionVectors(table_, oldest));
    }
    for (auto& [place, among] : files)
      buckets_.push_back(Divide(place.first, place.second, std::move(among)));
    return Status::OK();
  }

  Bucket Divide(const BinaryRow& partition, BucketId number, std::vector<TreeFilePtr> among) const {
    std::sort(among.begin(), among.end(), [](const TreeFilePtr& a, const TreeFilePtr& b) {
      return a->meta.level != b->meta.level ? a->meta.level > b->meta.level : IsNewer(b->meta, a->meta);
    });
    Bucket bucket{partition, number, {}, {}, {}};
    for (TreeFilePtr& file : among) {
      if (file->min_key <= encoded_ && encoded_ <= file->max_key) {
        const auto age = static_cast<uint32_t>(bucket.files.size());
        bucket.files.push_back({std::move(file), age, age});
      } else {
        bucket.skipped.push_back(std::move(file));
      }
    }
    return bucket;
  }

  Status FindVersions(Bucket* bucket) const {
    // All rows are read, also those that are marked deleted.
    HEADRACE_ASSIGN_OR_RETURN(const BucketFiles files,
                              FilesOf(table_, bucket->partition, bucket->number, pool_));
    for (const MergeFile& file : bucket->files) {
      const DataFileMeta& meta = file.file->meta;
      auto version = FindIn(files, file);
      if (!version.ok()) return WithContext("explaining a key of table " + table_.name, version.status());
      if (!version->has_value()) continue;
      (*version)->unscanned = !IsScanned(table_.options, meta, without_vectors_);
      HEADRACE_ASSIGN_OR_RETURN((*version)->deleted, IsDeleted(*bucket, meta, (*version)->ordered.first_row));
      bucket->versions.push_back(**std::move(version));
    }
    std::stable_sort(bucket->versions.begin(), bucket->versions.end(),
                     [&](const Version& a, const Version& b) {
                       if (Counts(a) != Counts(b)) return Counts(a);
                       return CompareVersions(a.ordered, 0, b.ordered, 0, /*by_age=*/false) > 0;
                     });
    return Status::OK();
  }

  Result<bool> IsDeleted(const Bucket& bucket, const DataFileMeta& file, int64_t position) const {
    const BucketPlace place(bucket.partition, bucket.number);
    HEADRACE_ASSIGN_OR_RETURN(
        const std::shared_ptr<const DeletionVectors> vectors,
        ReadDeletions(table_, place, index_.DeletionsOf(place, std::vector{file.name})));
    if (vectors == nullptr) return false;
    const auto vector = vectors->find(file.name);
    return vector != vectors->end() && vector->second->IsDeleted(position);
  }

  bool Counts(const Version& version) const {
    return TakesPart(version.kind(), policy_) && !version.deleted && !version.unscanned;
  }

  Result<std::optional<Version>> FindIn(const BucketFiles& files, const MergeFile& file) const {
    const KeyColumn wanted = order_.ColumnOf(encoded_);
    RunReader reader(&files, &columns_, {file}, kBatchRows);
    HEADRACE_RETURN_NOT_OK(reader.Advance(0));
    while (!reader.done()) {
      const LoadedRows& rows = reader.rows();
      const int64_t row = rows.keys.Bound(0, reader.size(), wanted, 0, /*upper=*/false);
      if (row == reader.size()) {
        HEADRACE_RETURN_NOT_OK(reader.Advance(reader.size()));
        continue;
      }
      if (rows.keys.Compare(row, wanted, 0) != 0) return std::nullopt;
      Version version;
      version.columns = rows.batch->Slice(row, 1);
      version.file = &file;
      version.ordered.batch = version.columns;
      version.ordered.kinds = rows.kinds + row;
      version.ordered.numbers = rows.numbers + row;
      version.ordered.file = &file;
      version.ordered.first_row = rows.first_row + row;
      if (!columns_.sequences.empty()) {
        std::vector<std::shared_ptr<arrow::Array>> fields;
        for (const int position : columns_.sequences) fields.push_back(version.columns->column(position));
        HEADRACE_ASSIGN_OR_RETURN(version.ordered.order, columns_.sequence_order.Encode(fields));
      }
      return version;
    }
    return std::nullopt;
  }

  Result<std::vector<std::pair<std::string, std::string>>> SequenceFields(const Version& version) const {
    std::vector<std::pair<std::string, std::string>> fields;
    for (size_t i = 0; i < columns_.sequences.size(); ++i) {
      const std::string& name = policy_.sequence_columns[i];
      const DataType& type = schema_.fields[static_cast<size_t>(schema_.FieldIndex(name))].type;
      HEADRACE_ASSIGN_OR_RETURN(const Value value,
                                ValueAt(*version.columns->column(columns_.sequences[i]), 0, type));
      fields.emplace_back(name, IsNull(value) ? "NULL" : ToText(value, type));
    }
    return fields;
  }

  // What makes `a`, which is newer, so: in the words of its side.
  Result<std::string> Reason(const Version& a, const Version& b) const {
    if (a.ordered.order.size() > 0 && a.ordered.order.Compare(0, b.ordered.order, 0) != 0) {
      HEADRACE_ASSIGN_OR_RETURN(const auto mine, SequenceFields(a));
      HEADRACE_ASSIGN_OR_RETURN(const auto theirs, SequenceFields(b));
      size_t i = 0;
      while (i + 1 < mine.size() && mine[i].second == theirs[i].second) ++i;
      return Told(policy_.sequence_descending ? "smaller" : "larger", " sequence.field ", mine[i].first, " (",
                  mine[i].second, " over ", theirs[i].second,
                  policy_.sequence_descending ? ", sort-order descending)" : ")");
    }
    if (a.number() != b.number())
      return Told("larger sequence number (", a.number(), " over ", b.number(), ")");
    if (IsRetract(a.kind()) != IsRetract(b.kind()))
      return std::string("an add over a retraction of the same sequence number");
    const Level mine = a.file->file->meta.level;
    const Level theirs = b.file->file->meta.level;
    if (mine != theirs) return Told("lower level (", mine, " over ", theirs, ")");
    return std::string("newer level-0 file");
  }

  Result<std::string> Verdict(const std::vector<Version>& versions, size_t i) const {
    const Version& version = versions[i];
    if (version.deleted) return std::string("deleted: a deletion vector marks its row");
    if (version.unscanned)
      return std::string("not shown yet: scans pass over level 0 until a compaction has taken it in");
    if (!TakesPart(version.kind(), policy_)) return std::string("passed over: ignore-delete is set");
    if (policy_.engine == MergeEngine::kFirstRow) return FirstRowVerdict(versions, i);
    if (!policy_.newest_wins()) return PartVerdict(versions, i);
    if (i > 0) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string reason, Reason(versions[0], version));
      return "loses: the newest has the " + reason;
    }
    const bool alone = versions.size() == 1 || !Counts(versions[1]);
    std::string reason = "the only version";
    if (!alone) {
      HEADRACE_ASSIGN_OR_RETURN(reason, Reason(version, versions[1]));
    }
    return std::string(IsRetract(version.kind()) ? "the newest, a delete: " : "wins: ") + reason;
  }

  static Level LevelOf(const Version& version) { return version.file->file->meta.level; }

  // Versions are newest first: the first row is the last of those that count. Nothing: none does.
  std::optional<size_t> FirstRow(const std::vector<Version>& versions) const {
    for (size_t i = versions.size(); i > 0; --i) {
      if (Counts(versions[i - 1])) return i - 1;
    }
    return std::nullopt;
  }

  std::string FirstRowVerdict(const std::vector<Version>& versions, size_t i) const {
    return FirstRow(versions) == i ? "wins: the first row of the key" : "loses: the first row stays";
  }

  // The part that a version has in a row that is put together.
  std::string PartVerdict(const std::vector<Version>& versions, size_t i) const {
    const Version& version = versions[i];
    int32_t lowest = LevelOf(version).value;
    for (const Version& other : versions) {
      const int32_t level = LevelOf(other).value;
      if (policy_.lowest_level_alone && level > 0 && level < lowest) lowest = level;
    }
    if (policy_.lowest_level_alone && lowest < LevelOf(version).value)
      return Told("passed over: level ", lowest, " has taken it in already");
    const auto removes = [&](const Version& other) {
      return policy_.rules.remove_on_delete && other.kind() == static_cast<int8_t>(RowKind::kDelete);
    };
    if (std::any_of(versions.begin(), versions.begin() + static_cast<std::ptrdiff_t>(i), removes))
      return "does not count: a newer delete removed the row";
    if (removes(version)) return "removes the row";
    return IsRetract(version.kind()) ? "takes part: takes values back" : "takes part: adds its values";
  }

  // Which version is the row by itself. Nothing: none, or the row is put together.
  std::optional<size_t> Winner(const std::vector<Version>& versions) const {
    if (policy_.combines() || versions.empty()) return std::nullopt;
    const std::optional<size_t> winner =
        policy_.newest_wins() ? std::optional<size_t>(0) : FirstRow(versions);
    if (!winner.has_value() || !Counts(versions[*winner]) || IsRetract(versions[*winner].kind()))
      return std::nullopt;
    return winner;
  }

  std::string RelativePath(const Bucket& bucket, const DataFileMeta& meta) const {
    const Result<std::string> path =
        table_.PathOf({EntryKind::kAdd, bucket.partition, bucket.number, 0, meta});
    if (!path.ok()) return meta.name;
    return path->starts_with(table_.path + "/") ? path->substr(table_.path.size() + 1) : *path;
  }

  Status Tell(const Bucket& bucket, KeyHistory* history) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string partition, PartitionText(table_, bucket.partition));
    const size_t first = history->versions.size();
    for (size_t i = 0; i < bucket.versions.size(); ++i) {
      const Version& version = bucket.versions[i];
      const DataFileMeta& meta = version.file->file->meta;
      KeyVersion told;
      told.file = RelativePath(bucket, meta);
      told.partition = partition;
      told.bucket = bucket.number.value;
      told.level = meta.level.value;
      told.sequence = version.number();
      told.row_kind = ShortName(static_cast<RowKind>(version.kind()));
      HEADRACE_ASSIGN_OR_RETURN(told.sequence_fields, SequenceFields(version));
      told.row = columns_.Project(*version.columns);
      HEADRACE_ASSIGN_OR_RETURN(told.verdict, Verdict(bucket.versions, i));
      history->versions.push_back(std::move(told));
    }
    for (const TreeFilePtr& file : bucket.skipped) {
      HEADRACE_ASSIGN_OR_RETURN(const std::string low, KeyText(table_, file->meta.min_key));
      HEADRACE_ASSIGN_OR_RETURN(const std::string high, KeyText(table_, file->meta.max_key));
      history->skipped.push_back({RelativePath(bucket, file->meta), partition, bucket.number.value,
                                  file->meta.level.value,
                                  "keys " + (low == high ? low : low + " … " + high)});
    }
    // Of several buckets that hold the key the first one with a row tells, as in a look-up by key.
    any_counts_ |= !bucket.versions.empty() && Counts(bucket.versions[0]);
    if (const std::optional<size_t> winner = Winner(bucket.versions)) {
      if (!history->winner.has_value()) history->winner = first + *winner;
      ++buckets_with_row_;
    }
    return Status::OK();
  }

  void Conclude(KeyHistory* history) const {
    const size_t count = history->versions.size();
    if (count == 0) {
      history->conclusion = "no live file holds the key: no row";
    } else if (policy_.combines()) {
      history->conclusion = Told(
          "merge-engine ", policy_.engine == MergeEngine::kAggregation ? "aggregation" : "partial-update",
          " puts the row together from the versions that take part, the last one here first; get shows it");
    } else if (!history->winner.has_value() && !policy_.newest_wins()) {
      history->conclusion = "no version counts yet: no row";
    } else if (!history->winner.has_value()) {
      history->conclusion = any_counts_ ? "the newest version is a delete: no row"
                                        : "no version counts, each for its own reason: no row";
    } else {
      const KeyVersion& winner = history->versions[*history->winner];
      history->conclusion = winner.file + " " + winner.verdict;
      if (buckets_with_row_ > 1)
        history->conclusion +=
            Told("; ", buckets_with_row_,
                 " partitions or buckets hold a row of the key, and a scan gives them all");
    }
  }

  const Table& table_;
  const TableSchema& schema_;
  const NamedValues key_;
  arrow::MemoryPool* pool_;
  const MergePolicy policy_;
  KeyOrder order_;
  EncodedKey encoded_;
  MergeColumns columns_;
  std::vector<Bucket> buckets_;
  IndexFiles index_;
  SchemaId without_vectors_{-1};
  int buckets_with_row_ = 0;
  bool any_counts_ = false;
};

}  // namespace

Status CheckExplainable(const Table& table, const std::vector<std::pair<std::string, Value>>& key) {
  return CheckedKey(table, key).status();
}

Result<KeyHistory> ExplainKey(const Table& table, const Snapshot& snapshot,
                              const std::vector<std::pair<std::string, Value>>& key,
                              arrow::MemoryPool* pool) {
  HEADRACE_ASSIGN_OR_RETURN(NamedValues values, CheckedKey(table, key));
  return Explanation::Make(table, snapshot, std::move(values), pool);
}

}  // namespace headrace
