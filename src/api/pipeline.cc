// The public pipeline over the pipeline room: tables made, statements planned, stages run.
#include "headrace/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "api/create_table_text.h"
#include "api/engine_state.h"
#include "base/error.h"
#include "base/text.h"
#include "catalog/snapshots.h"
#include "catalog/table.h"
#include "format/data_type.h"
#include "ingest/position.h"
#include "pipeline/keyed_copies.h"
#include "pipeline/pipeline.h"
#include "pipeline/query_binding.h"
#include "pipeline/run_stages.h"
#include "pipeline/stage_plan.h"

namespace headrace {
namespace {

constexpr int64_t kLeastQueryBytes = 64LL << 20;

class StagedPipeline final : public Pipeline {
 public:
  StagedPipeline(EngineInternals* engine, const PipelineOptions& options)
      : engine_(engine), options_(options) {
    SharedState* state = engine->state().get();
    room_.open = [this](const std::string& name, Access access) { return OpenNamed(name, access); };
    room_.budget = &state->budget;
    room_.compactors = &state->tasks;
    room_.lookup_cache = &state->lookup_cache;
    room_.scratch = state->scratch.get();
    room_.queries = {options.memory_bytes, options.threads, options.spill_directory};
    if (room_.queries.spill_directory.empty())
      room_.queries.spill_directory = std::filesystem::temp_directory_path().string();
    room_.cancel = options.cancel;
  }

  Status Open(std::vector<std::string>* notes) {
    HEADRACE_ASSIGN_OR_RETURN(pipeline::Script script,
                              pipeline::ParsePipeline(options_.script, options_.database));
    for (const CreateTableText& create : script.tables) HEADRACE_RETURN_NOT_OK(MakeTable(create, notes));
    HEADRACE_ASSIGN_OR_RETURN(const auto binding, pipeline::QueryBinding::Open(room_.queries));
    if (!script.database.empty()) HEADRACE_RETURN_NOT_OK(binding->session()->Use(script.database));
    HEADRACE_RETURN_NOT_OK(Plan(binding.get(), script.inserts, {}));
    if (script.copies) HEADRACE_RETURN_NOT_OK(PlanWithCopies(binding.get(), &script, notes));
    // Every stage has a DuckDB of its own; together they keep to what was given.
    room_.queries.memory_bytes =
        std::max(kLeastQueryBytes, options_.memory_bytes / static_cast<int64_t>(script.inserts.size()));
    HEADRACE_RETURN_NOT_OK(pipeline::CheckNoRing(plans_));
    for (const auto& [target, inserts] : InsertsOf(script.inserts)) {
      if (inserts > 1 && options_.rebuild)
        return Unsupported("--rebuild with ", inserts, " INSERTs into ", target,
                           ": each would take away what the others wrote; empty the table and use another "
                           "--name, or put the SELECTs together by UNION ALL");
    }
    return Status::OK();
  }

  std::string Explain() const override { return explained_; }

  Status Run(const PipelineRunOptions& run) override {
    for (const auto& [table, snapshot] : run.until_snapshots) HEADRACE_RETURN_NOT_OK(CheckFollowed(table));
    HEADRACE_RETURN_NOT_OK(Start());
    pipeline::RunOptions options;
    options.once = run.once;
    options.until = run.until_snapshots;
    options.every_ms = run.every_ms;
    options.clock = engine_->state()->clock.get();
    options.cancel = options_.cancel;
    if (run.status != nullptr) {
      options.told = [&](const std::vector<pipeline::StageTold>& stages) { run.status(Told(stages)); };
    }
    return pipeline::RunStages(&stages_, options);
  }

  Result<std::vector<PipelineStage>> Stages() override {
    HEADRACE_RETURN_NOT_OK(Start());
    std::vector<pipeline::StageTold> stages;
    for (const auto& stage : stages_) {
      HEADRACE_ASSIGN_OR_RETURN(stages.emplace_back().state, stage->State());
    }
    return Told(stages);
  }

 private:
  static std::map<std::string, int> InsertsOf(const std::vector<InsertText>& inserts) {
    std::map<std::string, int> inserts_of;
    for (const InsertText& insert : inserts) ++inserts_of[insert.name];
    return inserts_of;
  }

  Status Plan(pipeline::QueryBinding* binding, const std::vector<InsertText>& inserts,
              const std::vector<pipeline::KeyedCopy>& copies) {
    const std::map<std::string, int> inserts_of = InsertsOf(inserts);
    std::map<std::string, int> planned_of;
    pipeline::UniqueColumns unique;
    plans_.clear();
    explained_.clear();
    for (const InsertText& insert : inserts) {
      const bool is_copy = std::any_of(copies.begin(), copies.end(),
                                       [&](const auto& copy) { return copy.name == insert.name; });
      const std::string job = pipeline::JobName(is_copy ? pipeline::kCopiesJob : options_.name, insert.name,
                                                ++planned_of[insert.name]);
      HEADRACE_ASSIGN_OR_RETURN(pipeline::StagePlan plan,
                                pipeline::PlanStage(binding, insert, job, room_, unique, copies));
      plan.is_copy = is_copy;
      if (inserts_of.at(insert.name) == 1 && !plan.unique_columns.empty())
        unique[insert.name] = plan.unique_columns;
      explained_ += pipeline::Explain(plan);
      plans_.push_back(std::move(plan));
    }
    return Status::OK();
  }

  // Makes the copies that the plans would read in part, and plans again with them.
  Status PlanWithCopies(pipeline::QueryBinding* binding, pipeline::Script* script,
                        std::vector<std::string>* notes) {
    std::map<std::string, pipeline::KeyedCopy> wanted;  // by name
    for (const pipeline::StagePlan& plan : plans_) {
      for (const auto& [table, copy] : plan.copies_wanted) wanted.emplace(copy.name, copy);
    }
    if (wanted.empty()) return Status::OK();
    std::vector<pipeline::KeyedCopy> copies;
    for (const auto& [name, copy] : wanted) {
      HEADRACE_RETURN_NOT_OK(CheckNameIsFree(copy, *script));
      HEADRACE_ASSIGN_OR_RETURN(pipeline::KeyedCopy made, MakeCopy(copy, notes));
      copies.push_back(std::move(made));
    }
    HEADRACE_ASSIGN_OR_RETURN(script->inserts, WithCopies(script->inserts, copies));
    return Plan(binding, script->inserts, copies);
  }

  static Status CheckNameIsFree(const pipeline::KeyedCopy& copy, const pipeline::Script& script) {
    const auto has_name = [&](const auto& statement) { return statement.name == copy.name; };
    if (std::none_of(script.tables.begin(), script.tables.end(), has_name) &&
        std::none_of(script.inserts.begin(), script.inserts.end(), has_name))
      return Status::OK();
    return Invalid(
        "SET 'copies' = 'true': the copy of ", copy.source, " by ", copy.column, " would be ", copy.name,
        ", which the pipeline makes itself; give that table another name, or read it in the query in "
        "the place of ",
        copy.source);
  }

  // The copy's table, made where it is absent. Rows that no copy's stage wrote are not taken for its own.
  Result<pipeline::KeyedCopy> MakeCopy(const pipeline::KeyedCopy& copy, std::vector<std::string>* notes) {
    HEADRACE_ASSIGN_OR_RETURN(const Table source, OpenNamed(copy.source, Access::kRead));
    TableDefinition definition;
    HEADRACE_ASSIGN_OR_RETURN(const auto created,
                              CreateIfAbsent(pipeline::TableOfCopy(copy, source), &definition));
    if (created)
      notes->push_back("created table " + copy.name + " in " + created->path + ", a copy of " + copy.source);
    HEADRACE_ASSIGN_OR_RETURN(const Table made, OpenNamed(copy.name, Access::kRead));
    HEADRACE_ASSIGN_OR_RETURN(pipeline::KeyedCopy checked, pipeline::WithColumns(copy, source, made));
    HEADRACE_ASSIGN_OR_RETURN(const auto rows, ReadLatestSnapshot(made));
    HEADRACE_ASSIGN_OR_RETURN(
        const auto position,
        ingest::FindPosition(made, pipeline::JobName(pipeline::kCopiesJob, copy.name, 1)));
    if (rows && !position && !options_.rebuild)
      return Invalid("SET 'copies' = 'true': table ", copy.name,
                     " is there with snapshots of which none tells where the copy of ", copy.source,
                     " stands; --rebuild makes the copy's rows of it, or drop it");
    return checked;
  }

  // Each copy's statement behind those that write its source, whose keys are known then.
  Result<std::vector<InsertText>> WithCopies(const std::vector<InsertText>& inserts,
                                             const std::vector<pipeline::KeyedCopy>& copies) const {
    std::map<std::string, int> left = InsertsOf(inserts);
    std::vector<InsertText> all;
    const auto add_copies_of = [&](const std::function<bool(const std::string&)>& is_source) -> Status {
      for (const pipeline::KeyedCopy& copy : copies) {
        if (!is_source(copy.source)) continue;
        HEADRACE_ASSIGN_OR_RETURN(const Table made, OpenNamed(copy.name, Access::kRead));
        all.push_back(pipeline::InsertOfCopy(copy, made));
      }
      return Status::OK();
    };
    HEADRACE_RETURN_NOT_OK(add_copies_of([&](const std::string& source) { return left.count(source) == 0; }));
    for (const InsertText& insert : inserts) {
      all.push_back(insert);
      if (--left[insert.name] > 0) continue;
      HEADRACE_RETURN_NOT_OK(add_copies_of([&](const std::string& source) { return source == insert.name; }));
    }
    return all;
  }

  Result<Table> OpenNamed(const std::string& name, Access access) const {
    return access == Access::kWrite ? engine_->OpenForWriting(name) : engine_->OpenForReading(name);
  }

  Status CheckFollowed(const std::string& name) const {
    std::set<std::string> followed;
    for (const pipeline::StagePlan& plan : plans_) {
      for (const std::string& table : plan.tables)
        if (plan.Follows(table)) followed.insert(table);
    }
    if (followed.count(name) != 0) return Status::OK();
    return Invalid("waiting for a snapshot of ", name,
                   ": no statement of the pipeline follows it; they follow ",
                   Joined({followed.begin(), followed.end()}));
  }

  // A table that is there stays as it is. Keys that differ are a mistake, which no ALTER mends; columns may have been altered since.
  Status CheckKeptTable(const std::string& name, const TableDefinition& wanted,
                        std::vector<std::string>* notes) const {
    HEADRACE_ASSIGN_OR_RETURN(const Table table, OpenNamed(name, Access::kRead));
    const auto differs = [&](const char* what, const std::vector<std::string>& is,
                             const std::vector<std::string>& would_be) {
      return Invalid("CREATE TABLE ", name, ": the table is there already, with ", what, " (", Joined(is),
                     ") where the file says (", Joined(would_be),
                     "); drop it for the file's to be made, or let the file say what it is");
    };
    if (table.schema->primary_keys != wanted.primary_key)
      return differs("the primary key", table.schema->primary_keys, wanted.primary_key);
    if (table.schema->partition_keys != wanted.partition_by)
      return differs("the partition keys", table.schema->partition_keys, wanted.partition_by);
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> fields, ParseColumns(wanted.columns));
    std::vector<std::string> columns;
    for (const DataField& field : fields) columns.push_back(field.name);
    if (columns != table.schema->ColumnNames())
      notes->push_back("table " + name + " is there already and stays as it is: its columns are " +
                       Joined(table.schema->ColumnNames()) + ", the file says " + Joined(columns));
    return Status::OK();
  }

  // Nothing: there is a table of that name.
  Result<std::optional<CreatedTable>> CreateIfAbsent(const CreateTableText& create,
                                                     TableDefinition* definition) const {
    std::string written;
    HEADRACE_ASSIGN_OR_RETURN(*definition,
                              ParseTableDefinition(create.definition, /*with_columns=*/true, &written));
    auto created = engine_->CreateTable(create.name, *definition);
    if (IsKind(created.status(), ErrorKind::kAlreadyExists)) return std::nullopt;
    HEADRACE_RETURN_NOT_OK(created.status());
    return *std::move(created);
  }

  Status MakeTable(const CreateTableText& create, std::vector<std::string>* notes) {
    TableDefinition definition;
    HEADRACE_ASSIGN_OR_RETURN(const auto created, CreateIfAbsent(create, &definition));
    if (!created) return CheckKeptTable(create.name, definition, notes);
    notes->push_back("created table " + create.name + " in " + created->path);
    for (const std::string& note : created->notes) notes->push_back("  with " + note);
    return Status::OK();
  }

  Status Start() {
    if (!stages_.empty()) return Status::OK();
    std::vector<std::unique_ptr<pipeline::Stage>> stages;
    for (const pipeline::StagePlan& plan : plans_) {
      HEADRACE_ASSIGN_OR_RETURN(auto stage, pipeline::Stage::Open(plan, &room_, options_.rebuild));
      stages.push_back(std::move(stage));
    }
    stages_ = std::move(stages);
    return Status::OK();
  }

  std::vector<PipelineStage> Told(const std::vector<pipeline::StageTold>& stages) const {
    const int64_t now = engine_->state()->clock->NowMs();
    std::vector<PipelineStage> told;
    for (const auto& [state, failure] : stages) {
      PipelineStage& stage = told.emplace_back();
      stage.target = state.target;
      stage.job = state.job;
      stage.target_snapshot = state.target_snapshot;
      stage.commits = state.steps;
      stage.rows = state.rows;
      stage.step_ms = state.step_ms;
      if (!state.troubles.held_back.ok()) stage.held_back = state.troubles.held_back.message();
      stage.commits_held_back = state.troubles.commits_held_back;
      if (!state.troubles.expiry.ok()) stage.expiry = state.troubles.expiry.message();
      stage.expiries_failed = state.troubles.expiries_failed;
      if (!failure.ok()) stage.error = failure.message();
      for (const pipeline::StageSourceState& source : state.sources) {
        PipelineSource& one = stage.sources.emplace_back();
        one.table = source.table;
        one.next_snapshot = source.next_snapshot;
        one.latest_snapshot = source.lag.latest;
        one.behind_rows = source.lag.rows;
        if (source.lag.since_ms) one.behind_ms = std::max<int64_t>(0, now - *source.lag.since_ms);
      }
    }
    return told;
  }

  EngineInternals* const engine_;
  const PipelineOptions options_;
  pipeline::StageRoom room_;
  std::vector<pipeline::StagePlan> plans_;
  std::string explained_;
  std::vector<std::unique_ptr<pipeline::Stage>> stages_;
};

}  // namespace

Result<std::unique_ptr<Pipeline>> Pipeline::Open(Engine* engine, const PipelineOptions& options,
                                                 std::vector<std::string>* notes) {
  // Every engine is made by Engine::Open, whose class is this one.
  auto pipeline = std::make_unique<StagedPipeline>(static_cast<EngineInternals*>(engine), options);
  HEADRACE_RETURN_NOT_OK(pipeline->Open(notes));
  return pipeline;
}

}  // namespace headrace
