#include "tests/laws/harness/trial.h"

#include <utility>

#include <arrow/record_batch.h>

#include "catalog/snapshots.h"
#include "read/scan.h"
#include "tests/laws/harness/model.h"
#include "tests/scenarios/laws.h"
#include "tests/scenarios/rows.h"

namespace headrace::laws {
namespace {

using scenario::Expected;
using scenario::Stage;
using scenario::Verb;

constexpr char kOverwriter[] = "overwrite";

constexpr char kStatementLaw[] = "statements do not fail by themselves";
constexpr char kRowsLaw[] = "a snapshot holds the rows of the map";
constexpr char kChangesLaw[] = "the changes of a snapshot are those of its commit";
constexpr char kAcknowledgedLaw[] = "what was acknowledged is there";
constexpr char kSnapshotLaw[] = "snapshots are dense and each was asked for";
constexpr char kTableLaw[] = "what is named is there, in one split, and read alike in every way";
constexpr char kFollowingLaw[] = "following snapshot by snapshot is one look at the range";
constexpr size_t kMostAbsentKeysAsked = 10;
constexpr char kGetLaw[] = "a key whose row is gone is not found";
constexpr char kDamageLaw[] = "a check finds no damage";
constexpr char kHistoryLaw[] = "old snapshots stay as they were";

class Trial {
 public:
  Trial(const std::vector<Statement>& history, const TrialOptions& options)
      : history_(history), stage_({.folder = "", .tamper = options.tamper}) {}

  TrialResult Run() {
    for (size_t i = 0; i < history_.size() && !result_.failure.has_value(); ++i) {
      at_ = i;
      Play(history_[i]);
    }
    if (!result_.failure.has_value()) CheckAtTheEnd();
    return std::move(result_);
  }

 private:
  // ---- telling

  void Fail(const char* law, std::string message, std::vector<Statement> witnesses = {}) {
    if (result_.failure.has_value()) return;
    Failure& failure = result_.failure.emplace();
    failure.law = law;
    failure.message = std::move(message);
    failure.statement = at_;
    failure.shown.origin = "history";
    failure.shown.heading = {"Law: " + failure.law + "."};
    failure.shown.statements = played_;
    for (Statement& witness : witnesses) failure.shown.statements.push_back(std::move(witness));
  }

  static Statement ReadOf(std::optional<int64_t> snapshot, const std::vector<Row>& rows) {
    Statement read;
    read.verb = Verb::kRead;
    read.at = snapshot;
    read.rows = rows;
    return read;
  }

  static Statement ChangesOf(int64_t snapshot, const std::vector<Row>& rows) {
    Statement changes;
    changes.verb = Verb::kChanges;
    changes.from = changes.to = snapshot;
    changes.rows = rows;
    return changes;
  }

  // ---- playing

  void Play(const Statement& statement) {
    if (statement.verb == Verb::kCreate) {
      auto model = Model::Make(statement);
      if (!model.ok()) return Fail(kStatementLaw, model.status().message());
      model_ = std::move(*model);
    }
    const bool fault_before = stage_.fault_happened();
    std::vector<std::pair<std::string, int64_t>> identifiers;
    for (const std::string& name : {statement.name, statement.text, std::string(kOverwriter)})
      if (!name.empty()) identifiers.emplace_back(name, stage_.IdentifierOf(name));
    const Status status = stage_.Perform(statement);
    if (stage_.fault_happened() && !fault_before) ++result_.faults;

    played_.push_back(statement);
    if (stage_.is_failing() && !status.ok()) played_.back().expected = Expected::kEither;
    if (!status.ok() && !IsForgiven(status)) {
      played_.back().expected = Expected::kSuccess;
      return Fail(kStatementLaw, Print(statement) + NameOfKind(status) + ": " + status.message());
    }
    if (model_.has_value()) {
      Account(statement, status, identifiers);
      Look(status.ok() ? identifiers : decltype(identifiers){}, statement);
    }
  }

  static std::string NameOfKind(const Status& status) { return std::string(NameOf(KindOf(status))); }

  // With a fault about, the store's own errors are to be expected, and no others.
  bool IsForgiven(const Status& status) const {
    return stage_.is_failing() &&
           (IsKind(status, ErrorKind::kIo) || IsKind(status, ErrorKind::kCommitUnknown));
  }

  // Tells the model what was done.
  void Account(const Statement& statement, const Status& status,
               const std::vector<std::pair<std::string, int64_t>>& identifiers) {
    switch (statement.verb) {
      case Verb::kWrite:
        if (status.ok()) (void)model_->Wrote(statement.name, statement.rows);
        break;
      case Verb::kPrepare:
      case Verb::kCommit:
        for (const auto& [writer, before] : identifiers)
          if (writer != kOverwriter && stage_.IdentifierOf(writer) != before)
            model_->Prepared(writer, stage_.IdentifierOf(writer));
        break;
      case Verb::kOverwrite:
        if (stage_.IdentifierOf(kOverwriter) != identifiers.back().second)
          (void)model_->Overwrote(kOverwriter, stage_.IdentifierOf(kOverwriter), statement.options,
                                  statement.rows);
        break;
      case Verb::kRestart: model_->ForgetAll(); break;
      default: break;
    }
    for (const auto& [writer, before] : identifiers)
      if (writer != kOverwriter && !stage_.has_writer(writer)) model_->Forget(writer);
  }

  // ---- checking

  void Look(const std::vector<std::pair<std::string, int64_t>>& acknowledged, const Statement& statement) {
    const auto table = stage_.LookAt();
    if (!table.ok()) return;  // not made yet
    CheckNewSnapshots(*table);
    if (result_.failure.has_value()) return;
    if (statement.verb != Verb::kCommit && statement.verb != Verb::kOverwrite) return;
    for (const auto& [writer, before] : acknowledged) {
      if ((writer == kOverwriter) != (statement.verb == Verb::kOverwrite)) continue;
      const int64_t identifier = stage_.IdentifierOf(writer);
      if (identifier == before && stage_.has_prepared(writer)) continue;
      if (model_->IsMissing(writer, identifier))
        return Fail(kAcknowledgedLaw,
                    "commit " + std::to_string(identifier) + " of " + writer + " is in no snapshot",
                    {ReadOf({}, model_->LatestWith(writer, identifier))});
    }
  }

  void CheckNewSnapshots(const Table& table) {
    const auto latest = FindLatestSnapshotId(table);
    if (!latest.ok()) return Fail(kSnapshotLaw, latest.status().message(), {Check()});
    while (latest->has_value() && seen_ < (*latest)->value && !result_.failure.has_value()) {
      const auto snapshot = ReadSnapshot(table, SnapshotId(seen_ + 1));
      if (!snapshot.ok()) return Fail(kSnapshotLaw, snapshot.status().message(), {Check()});
      const auto rows_wait = model_->postponed() ? RowsWait(table, *snapshot) : Result<bool>(false);
      if (!rows_wait.ok()) return Fail(kSnapshotLaw, rows_wait.status().message(), {Check()});
      const Status observed = model_->Observe(*snapshot, *rows_wait);
      if (!observed.ok()) return Fail(kSnapshotLaw, observed.message(), {ReadOf({}, model_->latest())});
      ++seen_;
      ++result_.snapshots;
      CheckSnapshot(table, *snapshot);
    }
  }

  void CheckSnapshot(const Table& table, const Snapshot& snapshot) {
    const int64_t id = snapshot.id.value;
    const auto then = TableAsOf(table, snapshot);
    if (!then.ok()) return Fail(kTableLaw, then.status().message(), {Check()});
    const std::vector<Row>& expected = model_->RowsAt(id);
    const auto rows = scenario::RowsOf(*then, snapshot);
    if (!rows.ok()) return Fail(kRowsLaw, rows.status().message(), {ReadOf(id, expected)});
    const bool whole = ShowsTheMap(*then, snapshot);
    if (const auto difference =
            whole ? scenario::Difference(expected, *rows, false) : std::optional<std::string>())
      return Fail(kRowsLaw, "snapshot " + std::to_string(id) + ": " + *difference, {ReadOf(id, expected)});
    for (const Status& law :
         {scenario::CheckReferences(*then, snapshot), scenario::CheckSplits(*then, snapshot),
          scenario::CheckReaders(*then, snapshot, *rows)})
      if (!law.ok()) return Fail(kTableLaw, law.message(), {Check()});
    if (const Status damage = scenario::CheckDamage(table, false); !damage.ok())
      return Fail(kDamageLaw, damage.message(), {Check()});
    if (whole) CheckAbsentKeys(*then, snapshot);
    CheckChanges(table, id);
  }

  // Where a batch read leaves level 0 out, only a snapshot without rows there holds all of the map.
  static bool ShowsTheMap(const Table& then, const Snapshot& snapshot) {
    if (!then.options.scans_skip_level_zero()) return true;
    bool whole = true;
    const Status visited = VisitLiveFiles(then, snapshot, {}, [&](ManifestEntry&& entry) {
      whole = whole && (entry.file.level.value > 0 || entry.bucket.value < 0);
      return Status::OK();
    });
    return visited.ok() && whole;
  }

  static Result<bool> RowsWait(const Table& table, const Snapshot& snapshot) {
    bool wait = false;
    HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, snapshot, {}, [&](ManifestEntry&& entry) {
      wait = wait || entry.bucket.value < 0;
      return Status::OK();
    }));
    return wait;
  }

  // What is deleted is not found by its key either.
  void CheckAbsentKeys(const Table& then, const Snapshot& snapshot) {
    const std::vector<std::vector<Cell>> keys = model_->AbsentKeys();
    const size_t stride = keys.size() / kMostAbsentKeysAsked + 1;
    for (size_t i = 0; i < keys.size(); i += stride) {
      const auto values = scenario::ValuesOf(then.schema->FieldsOf(then.schema->primary_keys), keys[i]);
      const auto found = values.ok() ? FindByKey(then, snapshot, *values, {})
                                     : Result<std::shared_ptr<arrow::RecordBatch>>(values.status());
      if (found.ok() && *found == nullptr) continue;
      Statement get;
      get.verb = Verb::kGet;
      get.at = snapshot.id.value;
      get.key = keys[i];
      return Fail(kGetLaw, found.ok() ? "a row is found" : found.status().message(), {get});
    }
  }

  void CheckChanges(const Table& table, int64_t id) {
    const auto changes = scenario::ChangesOf(table, id, id);
    if (!changes.ok())
      return Fail(kChangesLaw, changes.status().message(), {ChangesOf(id, model_->ChangesAt(id))});
    if (changes->size() != 1)
      return Fail(kChangesLaw, "snapshot " + std::to_string(id) + " is not followed", {Check()});
    if (const auto wrong = model_->WrongChanges(id, (*changes)[0].rows))
      Fail(kChangesLaw, "snapshot " + std::to_string(id) + ": " + *wrong,
           {ChangesOf(id, model_->ChangesAt(id))});
  }

  static Statement Check() {
    Statement check;
    check.verb = Verb::kCheck;
    return check;
  }

  void CheckAtTheEnd() {
    Statement restart, compact;
    restart.verb = Verb::kRestart;
    compact.verb = Verb::kCompact;
    compact.full = true;
    Play(restart);
    if (!result_.failure.has_value()) Play(compact);
    if (result_.failure.has_value() || !model_.has_value()) return;
    const auto table = stage_.LookAt();
    if (!table.ok()) return;
    const auto ids = ListSnapshotIds(*table);
    if (!ids.ok()) return Fail(kHistoryLaw, ids.status().message(), {Check()});
    if (ids->empty()) return;
    if (const Status following = scenario::CheckFollowing(*table, ids->front().value, seen_); !following.ok())
      return Fail(kFollowingLaw, following.message(), {Check()});
    if (const Status damage = scenario::CheckDamage(*table, true); !damage.ok())
      return Fail(kDamageLaw, damage.message(), {Check()});
    for (const SnapshotId id : *ids) CheckOld(*table, id);
    const auto changelogs = ListChangelogIds(*table);
    if (!changelogs.ok()) return Fail(kHistoryLaw, changelogs.status().message(), {Check()});
    for (const SnapshotId id : *changelogs)
      if (id <= SnapshotId(seen_)) CheckChanges(*table, id.value);
  }

  void CheckOld(const Table& table, SnapshotId id) {
    const auto snapshot = ReadSnapshot(table, id);
    const auto rows =
        snapshot.ok() ? ReadThen(table, *snapshot) : Result<std::vector<Row>>(snapshot.status());
    const std::vector<Row>& expected = model_->RowsAt(id.value);
    if (!rows.ok()) return Fail(kHistoryLaw, rows.status().message(), {ReadOf(id.value, expected)});
    if (const auto difference = ShowsTheMap(table, *snapshot) ? scenario::Difference(expected, *rows, false)
                                                              : std::optional<std::string>())
      return Fail(kHistoryLaw, "snapshot " + std::to_string(id.value) + ": " + *difference,
                  {ReadOf(id.value, expected)});
    CheckChanges(table, id.value);
  }

  static Result<std::vector<Row>> ReadThen(const Table& table, const Snapshot& snapshot) {
    HEADRACE_ASSIGN_OR_RETURN(const Table then, TableAsOf(table, snapshot));
    return scenario::RowsOf(then, snapshot);
  }

  const std::vector<Statement>& history_;
  Stage stage_;
  std::optional<Model> model_;
  std::vector<Statement> played_;
  size_t at_ = 0;
  int64_t seen_ = 0;
  TrialResult result_;
};

}  // namespace

TrialResult Try(const std::vector<Statement>& history, const TrialOptions& options) {
  return Trial(history, options).Run();
}

}  // namespace headrace::laws
