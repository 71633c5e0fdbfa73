#include "maintain/rescale.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <arrow/record_batch.h>

#include "base/text.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "read/scan.h"

namespace headrace {
namespace {

Status CheckMayRescale(const Table& table, int32_t buckets) {
  if (buckets < 1)
    return Invalid("rescaling table ", table.name, " to ", buckets, " buckets: at least 1 is needed");
  if (BucketModeOf(*table.schema, table.options) == BucketMode::kFixed) return Status::OK();
  return Unsupported(
      "rescaling table ", table.name, ": its option 'bucket' is ", table.options.bucket,
      ", which is no number of buckets that could be another one; buckets of such a table are made "
      "as rows come");
}

// The partition columns asked for, with the values that a partition must have in them.
Result<std::vector<std::optional<Value>>> WantedValues(const Table& table,
                                                       const std::map<std::string, std::string>& partition) {
  const std::vector<DataField> fields = table.PartitionFields();
  std::vector<std::optional<Value>> wanted(fields.size());
  for (const auto& [name, text] : partition) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&name = name](const DataField& f) { return f.name == name; });
    if (field == fields.end())
      return Invalid("rescaling table ", table.name, ": '", name, "' is no partition column",
                     fields.empty() ? std::string("; the table has no partitions")
                                    : "; those are " + Joined(table.schema->partition_keys));
    Value value;
    if (text != table.options.partition_default_name) {
      auto parsed = ValueFromText(text, field->type);
      if (!parsed.ok())
        return WithContext("rescaling table " + table.name + ", partition column " + name, parsed.status());
      value = *std::move(parsed);
    }
    wanted[static_cast<size_t>(field - fields.begin())] = std::move(value);
  }
  return wanted;
}

// The live files of the partitions that are to be rewritten.
struct Chosen {
  std::map<BinaryRow, std::vector<ManifestEntry>> partitions;
};

Result<Chosen> Choose(const Table& table, const Snapshot& snapshot, int32_t buckets,
                      const std::vector<std::optional<Value>>& wanted) {
  Chosen chosen;
  const std::vector<DataType> types = table.schema->TypesOf(table.schema->partition_keys);
  HEADRACE_ASSIGN_OR_RETURN(auto live, LiveFiles(table, snapshot));
  for (ManifestEntry& entry : live) {
    if (entry.total_buckets == buckets) continue;
    HEADRACE_ASSIGN_OR_RETURN(const auto values, DecodeBinaryRow(entry.partition, types));
    bool matches = true;
    for (size_t i = 0; i < values.size(); ++i) matches &= !wanted[i].has_value() || values[i] == *wanted[i];
    if (matches) chosen.partitions[entry.partition].push_back(std::move(entry));
  }
  return chosen;
}

// The table as the one who writes it anew sees it: what makes a changelog or marks rows deleted is not asked for, since no row changes.
Table Target(const Table& table, int32_t buckets) {
  Table target = table;
  TableOptions& options = target.options;
  options.bucket = buckets;
  options.write_only = true;
  options.changelog_producer = ChangelogProducer::kNone;
  options.deletion_vectors = false;
  options.force_lookup = false;
  options.lookup_wait = false;
  options.commit_force_compact = false;
  options.full_compaction_delta_commits.reset();
  return target;
}

// What flushes and compactions left in the end: an increment that takes nothing away, and the files that came and went.
struct Net {
  std::vector<DataFileMeta> added;
  std::vector<DataFileMeta> gone;
};

Net NetOf(const FileChange& change) {
  Net net;
  std::vector<DataFileMeta> all = change.append.added;
  all.insert(all.end(), change.compact.added.begin(), change.compact.added.end());
  std::vector<DataFileMeta> removed = change.compact.removed;
  for (DataFileMeta& file : all) {
    const auto it = std::find(removed.begin(), removed.end(), file);
    if (it == removed.end()) {
      net.added.push_back(std::move(file));
    } else {
      net.gone.push_back(std::move(file));
      removed.erase(it);
    }
  }
  // A file that only changed its level stays.
  std::unordered_set<std::string> kept;
  for (const DataFileMeta& file : net.added) kept.insert(file.name);
  std::erase_if(net.gone, [&](const DataFileMeta& file) { return kept.contains(file.name); });
  return net;
}

class Rescaling {
 public:
  Rescaling(const Table& table, int32_t buckets, const SessionOptions& options)
      : table_(table), target_(Target(table, buckets)), options_(options) {}

  Result<RescaleResult> Run(const Snapshot& snapshot, const Chosen& chosen) {
    result_.partitions = static_cast<int64_t>(chosen.partitions.size());
    prepared_.user = options_.commit_user;
    prepared_.identifier = kBatchCommitIdentifier;
    prepared_.base_snapshot = snapshot.id;
    Status done = Rewrite(snapshot, chosen);
    if (done.ok()) done = TakeAway(snapshot, chosen);
    if (!done.ok()) {
      DeleteNew();
      return done;
    }
    auto made = Commit(table_, prepared_);
    if (!made.ok()) {
      if (!IsKind(made.status(), ErrorKind::kCommitUnknown)) DeleteNew();
      return made.status();
    }
    result_.snapshots = *std::move(made);
    return std::move(result_);
  }

 private:
  Status Rewrite(const Snapshot& snapshot, const Chosen& chosen) {
    HEADRACE_ASSIGN_OR_RETURN(const IndexFiles index, IndexFiles::Read(table_, snapshot));
    SessionOptions options = options_;
    options.ignore_existing = true;
    HEADRACE_ASSIGN_OR_RETURN(const auto session, WriteSession::Open(target_, options));
    for (const auto& [partition, files] : chosen.partitions) {
      HEADRACE_ASSIGN_OR_RETURN(const auto splits, PlanSplits(table_, files, index, ScanView::kEveryLevel));
      for (const Split& split : splits) HEADRACE_RETURN_NOT_OK(Copy(split, session.get()));
    }
    // What lies in level 0 alone is not seen by every kind of table.
    if (table_.schema->has_primary_key()) HEADRACE_RETURN_NOT_OK(session->Compact(/*full=*/true));
    HEADRACE_ASSIGN_OR_RETURN(const PreparedCommit written,
                              session->PrepareCommit(kBatchCommitIdentifier, /*wait_for_compaction=*/true));
    for (const BucketChange& change : written.changes) {
      Net net = NetOf(change.change);
      HEADRACE_ASSIGN_OR_RETURN(const std::string directory,
                                table_.BucketDirectory(change.partition, change.bucket));
      for (const DataFileMeta& file : net.gone) (void)table_.store->Delete(directory + "/" + file.name);
      result_.files_after += static_cast<int64_t>(net.added.size());
      for (const DataFileMeta& file : net.added) result_.bytes_written += file.size_bytes;
      BucketChange& fresh = prepared_.changes.emplace_back(
          BucketChange{change.partition, change.bucket, change.total_buckets, {}});
      fresh.change.append.added = std::move(net.added);
    }
    return Status::OK();
  }

  Status Copy(const Split& split, WriteSession* session) {
    ScanOptions options;
    options.pool = options_.pool;
    HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenSplit(table_, split, options));
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) return Status::OK();
      result_.rows += batch->num_rows();
      HEADRACE_RETURN_NOT_OK(session->Write(batch, nullptr));
    }
  }

  // The old files, and the index files that are about them.
  Status TakeAway(const Snapshot& snapshot, const Chosen& chosen) {
    std::map<BucketPlace, BucketChange> gone;
    const auto at = [&](const BinaryRow& partition, BucketId bucket, int32_t total) -> FileIncrement& {
      const auto [it, fresh] =
          gone.try_emplace({partition, bucket}, BucketChange{partition, bucket, total, {}});
      return it->second.change.append;
    };
    for (const auto& [partition, files] : chosen.partitions) {
      result_.files_before += static_cast<int64_t>(files.size());
      for (const ManifestEntry& entry : files)
        at(partition, entry.bucket, entry.total_buckets).removed.push_back(entry.file);
    }
    if (snapshot.index_manifest.has_value()) {
      HEADRACE_ASSIGN_OR_RETURN(const auto entries, ReadIndexManifest(table_, *snapshot.index_manifest));
      for (const IndexManifestEntry& entry : entries) {
        const auto it = chosen.partitions.find(entry.partition);
        if (it != chosen.partitions.end())
          at(entry.partition, entry.bucket, it->second.front().total_buckets).index_removed.push_back(entry);
      }
    }
    for (auto& [place, change] : gone) prepared_.changes.push_back(std::move(change));
    return Status::OK();
  }

  void DeleteNew() {
    for (const BucketChange& change : prepared_.changes) {
      const auto directory = table_.BucketDirectory(change.partition, change.bucket);
      if (!directory.ok()) continue;
      for (const DataFileMeta& file : change.change.append.added)
        (void)table_.store->Delete(*directory + "/" + file.name);
    }
  }

  const Table& table_;
  const Table target_;
  const SessionOptions& options_;
  PreparedCommit prepared_;
  RescaleResult result_;
};

}  // namespace

Result<RescaleResult> Rescale(const Table& table, int32_t buckets,
                              const std::map<std::string, std::string>& partition,
                              const SessionOptions& options) {
  HEADRACE_RETURN_NOT_OK(CheckMayRescale(table, buckets));
  HEADRACE_ASSIGN_OR_RETURN(const auto wanted, WantedValues(table, partition));
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
  RescaleResult result;
  if (latest.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(const Chosen chosen, Choose(table, *latest, buckets, wanted));
    if (!chosen.partitions.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(result, Rescaling(table, buckets, options).Run(*latest, chosen));
    }
  }
  // Writers go by the option: it follows once every partition has that many.
  if (partition.empty() && table.options.bucket != buckets) {
    HEADRACE_RETURN_NOT_OK(AlterBuckets(table, buckets).status());
    result.option_changed = true;
  }
  return result;
}

}  // namespace headrace
