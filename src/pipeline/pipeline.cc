#include "pipeline/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include <xxhash.h>

#include "base/text.h"
#include "pipeline/waited_for.h"

namespace headrace::pipeline {
namespace {

constexpr int64_t kToldEveryMs = 250;
constexpr int64_t kFirstWaitMs = 500;
constexpr int64_t kLongestWaitMs = 30'000;
constexpr int64_t kNapMs = 20;

Result<std::string> FullName(const std::string& name, const std::string& database) {
  if (name.find('.') != std::string::npos) return name;
  if (database.empty())
    return Invalid("table ", name, " lacks its database; write db.", name, ", or USE db; first");
  return database + "." + name;
}

Status TakeSetting(const SetText& set, Script* script) {
  if (set.key != "copies")
    return Unsupported("SET '", set.key, "': a pipeline has one setting, SET 'copies' = 'true'");
  if (set.value != "true" && set.value != "false")
    return Invalid("SET 'copies' = '", set.value, "': it is 'true' or 'false'");
  script->copies = set.value == "true";
  return Status::OK();
}

class Rounds {
 public:
  Rounds(std::vector<std::unique_ptr<Stage>>* stages, const RunOptions& options)
      : stages_(*stages), options_(options), failures_(stages->size()), waited_for_(*stages, options.until) {}

  Status Run() {
    while (!cancelled()) {
      const int64_t begun = options_.clock->NowMs();
      const bool any = Round();
      Tell(false);
      HEADRACE_ASSIGN_OR_RETURN(const bool is_done, waited_for_.Look());
      if (is_done) break;
      if (any) {
        if (!options_.once) WaitUntil(begun + options_.every_ms);
        continue;
      }
      if (options_.once) break;
      WaitUntil(begun + options_.every_ms);
    }
    Status closed;
    for (const auto& stage : stages_) {
      const Status status = stage->Close();
      if (closed.ok()) closed = status;
    }
    Tell(true);
    if (!options_.once) return closed;
    for (const StageFailure& failure : failures_) HEADRACE_RETURN_NOT_OK(failure.status);
    return closed;
  }

 private:
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  // Whether a stage made a step.
  bool Round() {
    bool any = false;
    for (size_t i = 0; i < stages_.size() && !cancelled(); ++i) {
      StageFailure& failure = failures_[i];
      if (!failure.status.ok() && (options_.once || options_.clock->NowMs() < failure.next_try_ms)) continue;
      const Result<bool> stepped = stages_[i]->Step();
      if (stepped.ok()) {
        failure = StageFailure();
        any |= *stepped;
      } else if (!IsKind(stepped.status(), ErrorKind::kCancelled)) {
        failure.status = stepped.status();
        const int64_t wait = std::min(kLongestWaitMs, kFirstWaitMs << std::min(failure.tries, 10));
        ++failure.tries;
        failure.next_try_ms = options_.clock->NowMs() + wait;
      }
    }
    return any;
  }

  void Tell(bool last) {
    const int64_t now = options_.clock->NowMs();
    if (options_.told == nullptr || (!last && now < next_told_ms_)) return;
    next_told_ms_ = now + kToldEveryMs;
    options_.told(stages_, failures_);
  }

  void WaitUntil(int64_t ms) const {
    while (!cancelled() && options_.clock->NowMs() < ms)
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::min(kNapMs, ms - options_.clock->NowMs() + 1)));
  }

  std::vector<std::unique_ptr<Stage>>& stages_;
  const RunOptions& options_;
  std::vector<StageFailure> failures_;
  WaitedFor waited_for_;
  int64_t next_told_ms_ = 0;
};

}  // namespace

Result<Script> ParsePipeline(std::string_view text, const std::string& database) {
  Script script;
  script.database = database;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> statements, SplitScript(text));
  for (const std::string& statement : statements) {
    HEADRACE_ASSIGN_OR_RETURN(Statement parsed, ParseStatement(statement));
    if (auto* create = std::get_if<CreateTableText>(&parsed)) {
      HEADRACE_ASSIGN_OR_RETURN(create->name, FullName(create->name, script.database));
      if (!create->query.empty())
        return Unsupported(
            "CREATE TABLE ", create->name,
            " … AS in a pipeline; write CREATE TABLE with its columns and key, and INSERT INTO … SELECT");
      script.tables.push_back(std::move(*create));
    } else if (auto* insert = std::get_if<InsertText>(&parsed)) {
      HEADRACE_ASSIGN_OR_RETURN(insert->name, FullName(insert->name, script.database));
      script.inserts.push_back(std::move(*insert));
    } else if (const auto* use = std::get_if<UseText>(&parsed)) {
      if (!script.inserts.empty() && use->database != script.database)
        return Unsupported("USE ", use->database, " after an INSERT; write it at the head of the pipeline");
      script.database = use->database;
    } else if (const auto* set = std::get_if<SetText>(&parsed)) {
      HEADRACE_RETURN_NOT_OK(TakeSetting(*set, &script));
    } else {
      return Unsupported("a pipeline holds CREATE TABLE, INSERT INTO … SELECT, USE and SET, and here is: ",
                         statement.substr(0, 60));
    }
  }
  if (script.inserts.empty())
    return Invalid("the pipeline holds no INSERT INTO … SELECT, so there is nothing to run");
  return script;
}

std::string JobName(std::string_view pipeline, std::string_view target, int nth_of_target) {
  std::string name = std::string(pipeline) + "." + std::string(target);
  if (nth_of_target > 1) name += "." + std::to_string(nth_of_target);
  const bool plain =
      name.size() <= 100 && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
      });
  if (plain) return name;
  char hashed[32];
  std::snprintf(hashed, sizeof(hashed), "run-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(name.data(), name.size())));
  return hashed;
}

Status CheckNoRing(const std::vector<StagePlan>& plans) {
  std::map<std::string, std::set<std::string>> feeds;  // by target: all that it is made of, however far
  for (const StagePlan& plan : plans) feeds[plan.target].insert(plan.tables.begin(), plan.tables.end());
  for (size_t round = 0; round < plans.size(); ++round) {
    for (auto& [target, sources] : feeds) {
      std::set<std::string> further;
      for (const std::string& source : sources) {
        const auto made = feeds.find(source);
        if (made != feeds.end()) further.insert(made->second.begin(), made->second.end());
      }
      sources.merge(further);
    }
  }
  for (const auto& [target, sources] : feeds) {
    if (sources.count(target) != 0)
      return Unsupported("table ", target, " is made of itself by way of ",
                         Joined({sources.begin(), sources.end()}),
                         "; such a ring might never come to rest. Leave one of its INSERTs out");
  }
  return Status::OK();
}

Status RunStages(std::vector<std::unique_ptr<Stage>>* stages, const RunOptions& options) {
  // Between its statements a step looks at `cancel` itself; a long one is ended from beside it.
  const std::jthread watcher([&](const std::stop_token& done) {
    while (!done.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kNapMs));
      if (options.cancel == nullptr || !options.cancel->load()) continue;
      for (const auto& stage : *stages) stage->Interrupt();
    }
  });
  return Rounds(stages, options).Run();
}

}  // namespace headrace::pipeline
