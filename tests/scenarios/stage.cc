#include "tests/scenarios/stage.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include <arrow/record_batch.h>

#include "base/text.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "commit/expiry.h"
#include "io/local_store.h"
#include "io/memory_store.h"
#include "tests/scenarios/rows.h"
#include "tests/scenarios/terms.h"
#include "tests/scenarios/words.h"
#include "write/postpone_compaction.h"

namespace headrace::scenario {
namespace {

constexpr int64_t kStart = 1'700'000'000'000;  // the clock at the beginning
constexpr int64_t kMemoryBytes = 64LL << 20;
constexpr char kDatabase[] = "db";
constexpr char kOverwriter[] = "overwrite";
constexpr char kCompactor[] = "compaction";

// Errors after which a writer is of no more use.
bool EndsWriter(const Status& status) {
  return !status.ok() && !IsKind(status, ErrorKind::kInvalid) && !IsKind(status, ErrorKind::kCommitUnknown);
}

}  // namespace

Stage::Stage(StageOptions options)
    : options_(std::move(options)),
      clock_(std::make_shared<ManualClock>(kStart)),
      below_(std::make_shared<MemoryStore>(clock_)),
      faults_(std::make_shared<FaultStore>(below_)),
      budget_(std::make_unique<MemoryBudget>(kMemoryBytes)) {}

Stage::~Stage() = default;

Status Stage::Run(const Statement& statement) {
  const Status status = Perform(statement);
  const auto told = [&](const std::string& what) {
    return Corruption(Trimmed(Print(statement)), "\n", what);
  };
  switch (statement.expected) {
    case Expected::kEither: return Status::OK();
    case Expected::kSuccess:
      return status.ok() ? status : told(std::string(NameOf(KindOf(status))) + ": " + status.message());
    case Expected::kError: break;
  }
  if (status.ok()) return told("no error came");
  if (KindOf(status) != statement.error_kind)
    return told("another kind of error came, " + WordOf(KindOf(status)) + ": " + status.message());
  if (status.message().find(statement.error_text) == std::string::npos)
    return told("the error is another one: " + status.message());
  return Status::OK();
}

Status Stage::Perform(const Statement& statement) {
  switch (statement.verb) {
    case Verb::kStore: return SetStore(statement);
    case Verb::kMemory: {
      if (!writers_.empty()) return Invalid("memory is set before the first writer is there");
      HEADRACE_ASSIGN_OR_RETURN(const int64_t bytes, ParseMemorySize(statement.name));
      budget_ = std::make_unique<MemoryBudget>(bytes);
      scratch_ = statement.full ? std::make_unique<LocalScratch>(TemporaryFolder()) : nullptr;
      return Status::OK();
    }
    case Verb::kClock: clock_->Advance(statement.number.value_or(0)); return Status::OK();
    case Verb::kCreate: return Create(statement);
    case Verb::kDrop: return Catalog(faults_, clock_, warehouse_).DropTable({kDatabase, statement.name});
    case Verb::kRename: {
      HEADRACE_RETURN_NOT_OK(Catalog(faults_, clock_, warehouse_)
                                 .RenameTable({kDatabase, statement.name}, {kDatabase, statement.text}));
      if (table_ == statement.name) table_ = statement.text;
      return Status::OK();
    }
    case Verb::kUse: table_ = statement.name; return Status::OK();
    case Verb::kAlter: return Alter(statement);
    case Verb::kWrite: return Judge(statement.name, Write(statement));
    case Verb::kFlush:
    case Verb::kCompactWriter: {
      HEADRACE_ASSIGN_OR_RETURN(Writer* const writer, WriterOf(statement.name));
      return Judge(statement.name, writer->session->Compact(statement.full));
    }
    case Verb::kPrepare: return Judge(statement.name, Prepare(statement.name, statement.number));
    case Verb::kCommit: return Judge(statement.name, Commit(statement));
    case Verb::kTogether: return CommitTogether(statement.columns);
    case Verb::kClose: writers_.erase(statement.name); return Status::OK();
    case Verb::kRestart: Restart(); return Status::OK();
    case Verb::kCompact: return Compact(statement.full);
    case Verb::kExpire: {
      HEADRACE_ASSIGN_OR_RETURN(const Table table, OpenTable());
      return Expire(table, {.retention = table.options.retention, .old_changelogs = true}).status();
    }
    case Verb::kOverwrite: return Overwrite(statement);
    case Verb::kFault: return SetFault(statement);
    case Verb::kHeal:
      faults_->SetPlan({});
      failing_ = false;
      return Status::OK();
    case Verb::kRead:
    case Verb::kGet:
    case Verb::kChanges:
    case Verb::kStreamVisible:
    case Verb::kSnapshots:
    case Verb::kLevels:
    case Verb::kCheck: return Observe(statement);
  }
  return Status::OK();
}

// ---- the place

Status Stage::SetStore(const Statement& statement) {
  if (!table_.empty()) return Invalid("the store is chosen before the first table is made");
  if (statement.name == "memory") return Status::OK();
  if (statement.name != "local") return Invalid("'", statement.name, "' is not a store: memory, local");
  if (options_.folder.empty()) return Invalid("there is no folder for a local store");
  below_ = std::make_shared<LocalStore>();
  faults_ = std::make_shared<FaultStore>(below_);
  warehouse_ = options_.folder;
  return Status::OK();
}

Status Stage::SetFault(const Statement& statement) {
  FaultPlan plan{.kind = statement.fault, .at = statement.number.value_or(0)};
  plan.counts = [operation = statement.operation, part = statement.text](StoreOperation done,
                                                                         const std::string& path) {
    if (path.find(part) == std::string::npos) return false;
    if (operation.empty()) return true;
    return operation == "changes" ? Changes(done) : WordOf(done) == operation;
  };
  faults_->SetPlan(std::move(plan));
  failing_ = true;
  return Status::OK();
}

void Stage::Restart() {
  // The writers' own cleaning up must not happen.
  faults_->SetPlan({.kind = FaultKind::kStop, .at = 0});
  (void)faults_->Stat(warehouse_);
  writers_.clear();
  faults_->SetPlan({});
  failing_ = false;
}

// ---- tables

Status Stage::Create(const Statement& statement) {
  NewTable table;
  HEADRACE_ASSIGN_OR_RETURN(table.fields, ParseColumns(statement.text));
  table.primary_keys = statement.primary_key;
  table.partition_keys = statement.partition_by;
  table.options = statement.options;
  HEADRACE_RETURN_NOT_OK(Catalog(faults_, clock_, warehouse_)
                             .CreateTable({kDatabase, statement.name}, std::move(table))
                             .status());
  table_ = statement.name;
  return Status::OK();
}

Result<Table> Stage::OpenTable() const {
  if (table_.empty()) return Invalid("no table is in use: create one first");
  return Catalog(faults_, clock_, warehouse_).OpenTable({kDatabase, table_}, Access::kWrite);
}

Result<Table> Stage::LookAt() const {
  if (table_.empty()) return NotFound("no table is in use");
  return Catalog(below_, clock_, warehouse_).OpenTable({kDatabase, table_}, Access::kRead);
}

Status Stage::Alter(const Statement& statement) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, OpenTable());
  std::vector<SchemaChange> changes;
  for (const std::string& key : statement.unset) changes.emplace_back(UnsetOption{key});
  for (const auto& [key, value] : statement.options) changes.emplace_back(SetOption{key, value});
  return AlterSchema(table, changes).status();
}

// ---- writers

SessionOptions Stage::OptionsOf(const std::string& user) const {
  return {.commit_user = user,
          .budget = budget_.get(),
          .compactors = nullptr,
          .scratch = scratch_.get(),
          .pool = nullptr};
}

int64_t Stage::IdentifierOf(const std::string& writer) const {
  const auto it = identifiers_.find(writer);
  return it == identifiers_.end() ? 0 : it->second;
}

Result<Stage::Writer*> Stage::WriterOf(const std::string& name) {
  if (const auto it = writers_.find(name); it != writers_.end()) return &it->second;
  Writer writer;
  HEADRACE_ASSIGN_OR_RETURN(writer.table, OpenTable());
  HEADRACE_ASSIGN_OR_RETURN(writer.session, WriteSession::Open(writer.table, OptionsOf(name)));
  return &(writers_[name] = std::move(writer));
}

Status Stage::Judge(const std::string& writer, const Status& status) {
  if (EndsWriter(status)) writers_.erase(writer);
  return status;
}

Status Stage::Write(const Statement& statement) {
  HEADRACE_ASSIGN_OR_RETURN(Writer* const writer, WriterOf(statement.name));
  std::vector<Row> rows = statement.rows;
  if (options_.tamper) options_.tamper(&rows);
  if (rows.empty()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const auto batch, BatchOf(writer->table.schema->fields, rows));
  return writer->session->Write(batch, KindsOf(rows));
}

Status Stage::Prepare(const std::string& name, std::optional<int64_t> identifier) {
  HEADRACE_ASSIGN_OR_RETURN(Writer* const writer, WriterOf(name));
  int64_t& counted = identifiers_[name];
  counted = identifier.value_or(counted + 1);
  HEADRACE_ASSIGN_OR_RETURN(writer->prepared,
                            writer->session->PrepareCommit(counted, /*wait_for_compaction=*/true));
  return Status::OK();
}

Status Stage::CommitPrepared(const std::string& name) {
  HEADRACE_ASSIGN_OR_RETURN(Writer* const writer, WriterOf(name));
  if (!writer->prepared.has_value()) return Invalid("writer ", name, " has prepared nothing");
  HEADRACE_RETURN_NOT_OK(writer->session->Commit(*writer->prepared).status());
  return Status::OK();
}

Status Stage::Commit(const Statement& statement) {
  if (!statement.text.empty()) return CommitOvertaken(statement);
  HEADRACE_ASSIGN_OR_RETURN(Writer* const writer, WriterOf(statement.name));
  if (statement.once) {
    if (!statement.number.has_value()) return Invalid("'once' needs an identifier: as N");
    HEADRACE_ASSIGN_OR_RETURN(const auto found,
                              FindCommitted(writer->table, statement.name, *statement.number));
    if (found.has_value()) {
      writers_.erase(statement.name);
      return Status::OK();
    }
  }
  if (!statement.again && !writer->prepared.has_value())
    HEADRACE_RETURN_NOT_OK(Prepare(statement.name, statement.number));
  const Status done = CommitPrepared(statement.name);
  // Kept for `again`; the next plain commit prepares anew.
  if (done.ok() && !statement.again) writer->prepared.reset();
  return done;
}

// The other writer commits when the first is about to publish its snapshot.
Status Stage::CommitOvertaken(const Statement& statement) {
  HEADRACE_ASSIGN_OR_RETURN(Writer* const writer, WriterOf(statement.name));
  if (!writer->prepared.has_value()) HEADRACE_RETURN_NOT_OK(Prepare(statement.name, statement.number));
  bool met = false;
  Status other;
  const auto overtake = [&] {
    met = true;
    Statement overtaking;
    overtaking.name = statement.text;
    other = Judge(statement.text, Commit(overtaking));
  };
  faults_->SetHook([&](StoreOperation operation, const std::string& path) {
    if (met || operation != StoreOperation::kPublish || path.find("/snapshot/") == std::string::npos) return;
    overtake();
  });
  const Status done = CommitPrepared(statement.name);
  faults_->SetHook(nullptr);
  if (!met) overtake();
  if (done.ok()) writer->prepared.reset();
  HEADRACE_RETURN_NOT_OK(WithContext("the overtaking commit of " + statement.text, other));
  return done;
}

Status Stage::CommitTogether(const std::vector<std::string>& names) {
  for (const std::string& name : names) HEADRACE_RETURN_NOT_OK(Judge(name, Prepare(name, {})));
  std::vector<Status> results(names.size());
  std::vector<std::thread> threads;
  std::atomic<size_t> waiting = names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    Writer& writer = writers_.at(names[i]);
    threads.emplace_back([&, i] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      results[i] = writer.session->Commit(*writer.prepared).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < names.size(); ++i) {
    writers_.at(names[i]).prepared.reset();
    HEADRACE_RETURN_NOT_OK(WithContext("writer " + names[i], Judge(names[i], results[i])));
  }
  return Status::OK();
}

Status Stage::Compact(bool full) {
  HEADRACE_ASSIGN_OR_RETURN(Table table, OpenTable());
  table.options.write_only = false;
  if (BucketModeOf(*table.schema, table.options) != BucketMode::kPostponed)
    return CompactBuckets(table, full, std::nullopt);
  HEADRACE_RETURN_NOT_OK(MovePostponedRows(table, OptionsOf(kCompactor)).status());
  HEADRACE_ASSIGN_OR_RETURN(const auto counts, BucketCounts(table));
  std::map<int32_t, std::set<BinaryRow>> by_count;
  for (const auto& [partition, buckets] : counts) by_count[buckets].insert(partition);
  for (const auto& [buckets, partitions] : by_count) {
    table.options.bucket = buckets;
    HEADRACE_RETURN_NOT_OK(CompactBuckets(table, full, partitions));
  }
  return Status::OK();
}

Status Stage::CompactBuckets(const Table& table, bool full, std::optional<std::set<BinaryRow>> partitions) {
  SessionOptions options = OptionsOf(kCompactor);
  options.partitions = std::move(partitions);
  HEADRACE_ASSIGN_OR_RETURN(const auto session, WriteSession::Open(table, options));
  HEADRACE_RETURN_NOT_OK(session->Compact(full));
  HEADRACE_ASSIGN_OR_RETURN(const PreparedCommit prepared,
                            session->PrepareCommit(++identifiers_[kCompactor], /*wait_for_compaction=*/true));
  HEADRACE_RETURN_NOT_OK(session->Commit(prepared).status());
  return session->held_back();
}

// New level-0 files, and all live files of the partition away, in one snapshot.
Status Stage::Overwrite(const Statement& statement) {
  HEADRACE_ASSIGN_OR_RETURN(Table table, OpenTable());
  table.options.write_only = true;
  const TableSchema& schema = *table.schema;
  EntryFilter filter;
  if (!statement.options.empty()) {
    std::vector<Value> values;
    for (const DataField& field : table.PartitionFields()) {
      const auto it = statement.options.find(field.name);
      if (it == statement.options.end())
        return Invalid("overwriting needs a value of partition column ", field.name);
      HEADRACE_ASSIGN_OR_RETURN(const auto cells, ParseCells(it->second));
      HEADRACE_ASSIGN_OR_RETURN(const auto value, ValuesOf({field}, cells));
      values.push_back(value[0]);
    }
    HEADRACE_ASSIGN_OR_RETURN(BinaryRow row, EncodeBinaryRow(values, schema.TypesOf(schema.partition_keys)));
    filter.partitions = std::vector<BinaryRow>{std::move(row)};
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto latest, ReadLatestSnapshot(table));
  HEADRACE_ASSIGN_OR_RETURN(const auto session, WriteSession::Open(table, OptionsOf(kOverwriter)));
  if (!statement.rows.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(const auto batch, BatchOf(schema.fields, statement.rows));
    HEADRACE_RETURN_NOT_OK(session->Write(batch, KindsOf(statement.rows)));
  }
  HEADRACE_ASSIGN_OR_RETURN(PreparedCommit prepared,
                            session->PrepareCommit(++identifiers_[kOverwriter], true));
  if (latest.has_value()) {
    HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table, *latest, filter));
    for (const ManifestEntry& entry : live) {
      BucketChange& change =
          prepared.changes.emplace_back(BucketChange{entry.partition, entry.bucket, entry.total_buckets, {}});
      change.change.append.removed.push_back(entry.file);
    }
  }
  return session->Commit(prepared).status();
}

}  // namespace headrace::scenario
