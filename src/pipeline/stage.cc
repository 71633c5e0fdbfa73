// Positions, steps and what becomes of a failed one; how an answer is made is told by first_answer.h and changed_answer.h.
#include "pipeline/stage.h"

#include <algorithm>
#include <utility>

#include "catalog/snapshots.h"
#include "pipeline/changed_answer.h"
#include "pipeline/first_answer.h"
#include "pipeline/folded_groups.h"
#include "pipeline/stage_sources.h"
#include "pipeline/stage_work.h"
#include "pipeline/touched_rows.h"

namespace headrace::pipeline {
namespace {

constexpr int64_t kPositionEveryMs = 10'000;  // a position without rows is committed so often
constexpr int kMostRaces = 8;

class TableStage final : public Stage {
 public:
  TableStage(StagePlan plan, const StageRoom* room, Table target)
      : work_(std::move(plan), room, std::move(target)) {}

  Status Start(bool rebuild) {
    HEADRACE_RETURN_NOT_OK(OpenSources(&work_));
    HEADRACE_ASSIGN_OR_RETURN(work_.session, QuerySession::Open(work_.room->queries, &work_.relations));
    HEADRACE_RETURN_NOT_OK(work_.writer.Open());
    HEADRACE_ASSIGN_OR_RETURN(work_.target_folds, TargetFolds(&work_));
    if (work_.plan.adds) HEADRACE_RETURN_NOT_OK(CheckAddsUp(&work_));
    if (rebuild && work_.plan.adds)
      return Unsupported("--rebuild of ", work_.plan.target,
                         ", which adds what it is given to what it has; make the table anew instead");
    if (rebuild && !work_.target_schema().has_primary_key() && work_.writer.view() &&
        work_.writer.view()->total_record_count.value_or(1) > 0)
      return Unsupported("--rebuild of ", work_.plan.target,
                         ", which has rows and no primary key by which they could be taken out; make the "
                         "table anew, or give it a primary key, and run the pipeline under another --name");
    rebuild_ = rebuild;
    if (rebuild_) {
      forsaken_ = SourcesForsaken();
      work_.writer.StartAnew();
    }
    HEADRACE_RETURN_NOT_OK(TakePosition());
    last_position_ms_ = NowMs();
    return HoldSources(&work_);
  }

  Result<bool> Step() override {
    const int64_t begun = NowMs();
    if (!work_.writer.is_open()) HEADRACE_RETURN_NOT_OK(Reopen());
    for (int race = 0;; ++race) {
      const Result<bool> stepped = work_.writer.found() ? StepOn() : Backfill();
      work_.relations.Clear();
      if (stepped.ok()) {
        work_.by_sums = false;
        if (*stepped) state_.step_ms = NowMs() - begun;
        return stepped;
      }
      const Status failed =
          WithContext("bringing " + work_.plan.target + " up to date" + RangesText(work_), stepped.status());
      HEADRACE_RETURN_NOT_OK(Recover());
      if (IsKind(failed, ErrorKind::kInvalid) && !work_.by_sums && CanGoBySums(work_)) {
        work_.by_sums = true;
        continue;
      }
      if (!IsKind(failed, ErrorKind::kCommitConflict) || race == kMostRaces) return failed;
    }
  }

  Status Close() override {
    if (!work_.writer.found()) {
      // Another process may have made what this one did not.
      HEADRACE_ASSIGN_OR_RETURN(const auto position,
                                ingest::FindPosition(work_.writer.target(), work_.plan.job));
      return position ? Status::OK() : ReleaseSources(work_);
    }
    if (!moved_ || !work_.writer.is_open()) return Status::OK();
    const Status committed = CommitPosition();
    // It has no rows; another process that has moved it is further.
    return IsKind(committed, ErrorKind::kCommitConflict) ? Status::OK() : committed;
  }

  void Interrupt() override { work_.session->Interrupt(); }
  const StagePlan& plan() const override { return work_.plan; }

  bool HasTakenIn(const std::string& table, int64_t snapshot) const override {
    return std::none_of(work_.sources.begin(), work_.sources.end(), [&](const StageSource& source) {
      return source.drives && source.table.name == table &&
             (!work_.writer.found() || source.next <= snapshot);
    });
  }

  Result<StageState> State() override {
    StageState state = state_;
    state.target = work_.plan.target;
    state.job = work_.plan.job;
    state.troubles = work_.writer.troubles();
    if (work_.writer.last_snapshot()) state.target_snapshot = work_.writer.last_snapshot()->value;
    if (work_.writer.view()) state.target_seen = work_.writer.view()->id.value;
    for (StageSource& source : work_.sources) {
      StageSourceState& told = state.sources.emplace_back();
      told.table = source.table.name;
      HEADRACE_ASSIGN_OR_RETURN(told.next_snapshot, NextOf(source));
      HEADRACE_ASSIGN_OR_RETURN(told.lag, LagBehind(source.table, told.next_snapshot));
    }
    return state;
  }

 private:
  // The first snapshot of the source that is not in the target, as people are told.
  Result<int64_t> NextOf(const StageSource& source) const {
    if (!source.drives) {  // it is read as it is
      HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> latest, FindLatestSnapshotId(source.table));
      return latest ? latest->value + 1 : 1;
    }
    if (work_.writer.found()) return source.next;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotId> earliest, FindEarliestSnapshotId(source.table));
    return earliest ? earliest->value : 1;
  }

  int64_t NowMs() const { return work_.writer.target().clock->NowMs(); }

  // Where the target's position says the sources are.
  Status TakePosition() {
    moved_ = false;
    work_.watermark.reset();
    if (!work_.writer.found()) return Status::OK();
    const ingest::Position& position = work_.writer.committed();
    work_.watermark = position.watermark;
    const std::string& target = work_.plan.target;
    if (position.sql_hash != work_.plan.hash) {
      return Invalid("table ", target, " holds what another statement made under the job ", work_.plan.job,
                     "; say --rebuild to compute it anew by this one");
    }
    for (StageSource& source : work_.sources) {
      const auto known = std::find_if(position.sources.begin(), position.sources.end(),
                                      [&](const auto& one) { return one.table == source.table.name; });
      if (known == position.sources.end())
        return Corruption("table ", target, ": the position of the job ", work_.plan.job,
                          " lacks the source ", source.table.name);
      if (known->made_ms != 0 && source.made_ms != 0 && known->made_ms != source.made_ms) {
        return Invalid("the source ", source.table.name, " was dropped and made anew since the job ",
                       work_.plan.job, " ran last; --rebuild computes ", target, " anew");
      }
      source.next = known->next_snapshot;
      HEADRACE_RETURN_NOT_OK(CheckSameColumns(work_, source.table, SchemaId(known->schema_id)));
    }
    return Status::OK();
  }

  ingest::Position PositionNow() const {
    ingest::Position position;
    position.format = "sql";
    position.sql_hash = work_.plan.hash;
    position.watermark = work_.watermark;
    for (const StageSource& source : work_.sources)
      position.sources.push_back(
          {source.table.name, source.table.schema->id.value, source.next, source.made_ms, !source.drives});
    return position;
  }

  // From what the target holds now, whoever wrote it: a process that was overtaken by another goes on when that one has ended.
  Status Reopen() {
    HEADRACE_RETURN_NOT_OK(work_.writer.Open());
    if (rebuild_) work_.writer.StartAnew();
    return TakePosition();
  }

  // After a failure: what is in memory is what the target holds.
  Status Recover() {
    HEADRACE_RETURN_NOT_OK(work_.writer.Restart());
    return TakePosition();
  }

  Result<bool> StepOn() {
    HEADRACE_ASSIGN_OR_RETURN(const bool any, FindRanges(&work_));
    if (!any) {
      if (moved_ && NowMs() - last_position_ms_ >= kPositionEveryMs) HEADRACE_RETURN_NOT_OK(CommitPosition());
      return false;
    }
    for (size_t i = 0; i < work_.sources.size(); ++i) HEADRACE_RETURN_NOT_OK(ReadState(&work_, i));
    HEADRACE_RETURN_NOT_OK(WriteChangedAnswer(&work_));
    for (StageSource& source : work_.sources) source.next = source.range.to + 1;
    moved_ = true;
    if (work_.writer.rows_since_commit() > 0 || NowMs() - last_position_ms_ >= kPositionEveryMs)
      HEADRACE_RETURN_NOT_OK(CommitPosition());
    return true;
  }

  // The first commit: the whole answer at the newest snapshots.
  Result<bool> Backfill() {
    for (StageSource& source : work_.sources) {
      HEADRACE_ASSIGN_OR_RETURN(source.now, ReadLatestSnapshot(source.table));
      source.next = source.now ? source.now->id.value + 1 : 1;
      const bool is_unmade_copy = !source.now && work_.plan.CopyNamed(source.table.name) != nullptr;
      if (is_unmade_copy) return false;  // its own first commit comes before
    }
    HEADRACE_RETURN_NOT_OK(WriteFirstAnswer(&work_, rebuild_ || work_.plan.is_copy));
    const Status committed = CommitPosition();
    if (work_.writer.found()) rebuild_ = false;
    HEADRACE_RETURN_NOT_OK(committed);
    HEADRACE_RETURN_NOT_OK(ReleaseTables(work_, forsaken_));
    forsaken_.clear();
    return true;
  }

  // What the statement that is made anew read before, and reads no more.
  std::vector<std::string> SourcesForsaken() const {
    std::vector<std::string> tables;
    if (!work_.writer.found()) return tables;
    for (const auto& source : work_.writer.committed().sources) {
      if (std::find(work_.plan.tables.begin(), work_.plan.tables.end(), source.table) ==
          work_.plan.tables.end())
        tables.push_back(source.table);
    }
    return tables;
  }

  Status CommitPosition() {
    const int64_t rows = work_.writer.rows_since_commit();
    HEADRACE_RETURN_NOT_OK(work_.writer.Commit(PositionNow()));
    if (rows > 0) ++state_.steps;
    state_.rows += rows;
    moved_ = false;
    last_position_ms_ = NowMs();
    return HoldSources(&work_);
  }

  StageWork work_;
  StageState state_;
  bool rebuild_ = false;
  std::vector<std::string> forsaken_;  // held until the first commit of a rebuild
  bool moved_ = false;                 // the sources are ahead of the committed position
  int64_t last_position_ms_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stage>> Stage::Open(StagePlan plan, const StageRoom* room, bool rebuild) {
  HEADRACE_ASSIGN_OR_RETURN(Table target, room->open(plan.target, Access::kWrite));
  const std::string name = plan.target;
  auto stage = std::make_unique<TableStage>(std::move(plan), room, std::move(target));
  const Status started = stage->Start(rebuild);
  if (!started.ok()) return WithContext("starting the stage of " + name, started);
  return stage;
}

}  // namespace headrace::pipeline
