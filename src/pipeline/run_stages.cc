#include "pipeline/run_stages.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/lock.h"
#include "pipeline/waited_for.h"

namespace headrace::pipeline {
namespace {

constexpr int64_t kToldEveryMs = 250;
constexpr int64_t kFirstWaitMs = 500;
constexpr int64_t kLongestWaitMs = 30'000;
constexpr int64_t kNapMs = 20;

bool IsCancelled(const RunOptions& options) { return options.cancel != nullptr && options.cancel->load(); }

void Nap() { std::this_thread::sleep_for(std::chrono::milliseconds(kNapMs)); }

// A stage and what became of its steps. One thread.
class TriedStage {
 public:
  TriedStage(Stage* stage, const RunOptions& options) : stage_(stage), options_(options) {}

  // Whether it made a step. After a failure nothing is tried for a while, with `once` not again.
  bool Step() {
    if (!failure_.ok() && (options_.once || options_.clock->NowMs() < next_try_ms_)) return false;
    const Result<bool> stepped = stage_->Step();
    if (stepped.ok()) {
      failure_ = Status::OK();
      tries_ = 0;
      return *stepped;
    }
    if (IsKind(stepped.status(), ErrorKind::kCancelled)) return false;
    failure_ = stepped.status();
    next_try_ms_ = options_.clock->NowMs() + std::min(kLongestWaitMs, kFirstWaitMs << std::min(tries_, 10));
    ++tries_;
    return false;
  }

  // `told` keeps the state that it has where there is no newer one to be known.
  void Tell(StageTold* told) {
    if (auto state = stage_->State(); state.ok()) told->state = *std::move(state);
    told->failure = failure_;
  }

  Stage& stage() { return *stage_; }
  const Status& failure() const { return failure_; }

 private:
  Stage* const stage_;
  const RunOptions& options_;
  Status failure_;
  int64_t next_try_ms_ = 0;
  int tries_ = 0;
};

// In rounds, until one makes no step.
void RunOnce(std::vector<TriedStage>* stages, const RunOptions& options, std::vector<StageTold>* told) {
  int64_t next_told_ms = 0;
  for (bool any = true; any && !IsCancelled(options);) {
    any = false;
    for (TriedStage& stage : *stages) {
      if (!IsCancelled(options)) any |= stage.Step();
    }
    if (options.told == nullptr || options.clock->NowMs() < next_told_ms) continue;
    next_told_ms = options.clock->NowMs() + kToldEveryMs;
    for (size_t i = 0; i < stages->size(); ++i) (*stages)[i].Tell(&(*told)[i]);
    options.told(*told);
  }
}

// The stages of one target, on a thread of their own.
struct Lane {
  std::vector<size_t> stages;
  std::vector<Lane*> sources;  // that write what it reads
  int64_t next_told_ms = 0;    // of its thread alone
  // Under the mutex of Lanes:
  bool tried = false;
  int64_t news = 0;  // steps of its sources
};

class Lanes {
 public:
  Lanes(std::vector<TriedStage>* stages, const std::vector<std::unique_ptr<Stage>>& all,
        const RunOptions& options, std::vector<StageTold>* told)
      : stages_(*stages), options_(options), waited_for_(all, options.until), told_(told) {
    for (size_t i = 0; i < stages_.size(); ++i) LaneOf(TargetOf(i))->stages.push_back(i);
    for (const auto& lane : lanes_) FindSources(lane.get());
  }

  Status Run() EXCLUDES(mutex_) {
    std::vector<std::jthread> threads;
    for (const auto& lane : lanes_) threads.emplace_back([this, at = lane.get()] { Serve(at); });
    while (!IsCancelled(options_) && !HasEnded()) {
      Tell();
      Nap();
    }
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      changed_.NotifyAll();
    }
    threads.clear();
    const MutexLock lock(mutex_);
    return failed_;
  }

 private:
  const std::string& TargetOf(size_t i) const { return stages_[i].stage().plan().target; }

  Lane* LaneOf(const std::string& target) {
    for (const auto& lane : lanes_) {
      if (TargetOf(lane->stages.front()) == target) return lane.get();
    }
    return lanes_.emplace_back(std::make_unique<Lane>()).get();
  }

  void FindSources(Lane* lane) {
    for (const auto& other : lanes_) {
      const bool is_read = std::any_of(lane->stages.begin(), lane->stages.end(), [&](size_t i) {
        return stages_[i].stage().plan().Follows(TargetOf(other->stages.front()));
      });
      if (is_read) lane->sources.push_back(other.get());
    }
  }

  void Serve(Lane* lane) EXCLUDES(mutex_) {
    if (!AwaitSources(*lane)) return;
    while (true) {
      const int64_t begun_ms = options_.clock->NowMs();
      const int64_t news = NewsOf(*lane);
      bool any = false;
      for (const size_t i : lane->stages) any |= !IsCancelled(options_) && stages_[i].Step();
      NoteSteps(lane, any);
      if (!Rest(*lane, begun_ms, news, any)) return;
    }
  }

  // Until they have tried a first step: what they make of what is there is then one state to begin with. False: the end came first.
  bool AwaitSources(const Lane& lane) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!ends_ && std::any_of(lane.sources.begin(), lane.sources.end(),
                                 [](const Lane* source) { return !source->tried; }))
      changed_.Wait(mutex_);
    return !ends_;
  }

  int64_t NewsOf(const Lane& lane) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return lane.news;
  }

  // For those who read what was made, those who watch, and those who wait.
  void NoteSteps(Lane* lane, bool any) EXCLUDES(mutex_) {
    if (options_.told != nullptr && options_.clock->NowMs() >= lane->next_told_ms) {
      lane->next_told_ms = options_.clock->NowMs() + kToldEveryMs;
      for (const size_t i : lane->stages) {
        StageTold told = ToldOf(i);
        stages_[i].Tell(&told);
        PutTold(i, std::move(told));
      }
    }
    const MutexLock lock(mutex_);
    lane->tried = true;
    for (const auto& other : lanes_) {
      if (any && std::find(other->sources.begin(), other->sources.end(), lane) != other->sources.end())
        ++other->news;
    }
    for (const size_t i : lane->stages) {
      const Status looked = waited_for_.LookAt(i);
      if (failed_.ok()) failed_ = looked;
    }
    ends_ = ends_ || waited_for_.is_done() || !failed_.ok();
    changed_.NotifyAll();
  }

  // Until the next step; false: there is none.
  bool Rest(const Lane& lane, int64_t begun_ms, int64_t news, bool any) EXCLUDES(mutex_) {
    const int64_t regularly = begun_ms + std::max<int64_t>(options_.every_ms, any ? 0 : kNapMs);
    const int64_t with_news = std::min(regularly, begun_ms + options_.every_ms / 2);
    const MutexLock lock(mutex_);
    while (!ends_) {
      const int64_t left = (lane.news == news ? regularly : with_news) - options_.clock->NowMs();
      if (left <= 0) return true;
      changed_.WaitForMs(mutex_, left);
    }
    return false;
  }

  bool HasEnded() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return ends_;
  }

  StageTold ToldOf(size_t i) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return (*told_)[i];
  }

  void PutTold(size_t i, StageTold told) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    (*told_)[i] = std::move(told);
    is_newly_told_ = true;
  }

  // On the caller's thread.
  void Tell() EXCLUDES(mutex_) {
    const int64_t now = options_.clock->NowMs();
    if (options_.told == nullptr || now < next_told_ms_) return;
    std::vector<StageTold> told;
    {
      const MutexLock lock(mutex_);
      if (!std::exchange(is_newly_told_, false)) return;
      told = *told_;
    }
    next_told_ms_ = now + kToldEveryMs;
    options_.told(told);
  }

  std::vector<TriedStage>& stages_;  // each of its lane's thread
  const RunOptions& options_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  int64_t next_told_ms_ = 0;
  Mutex mutex_;
  CondVar changed_;
  WaitedFor waited_for_ GUARDED_BY(mutex_);
  std::vector<StageTold>* const told_ PT_GUARDED_BY(mutex_);
  bool is_newly_told_ GUARDED_BY(mutex_) = true;
  bool ends_ GUARDED_BY(mutex_) = false;
  Status failed_ GUARDED_BY(mutex_);
};

Status CloseAll(std::vector<TriedStage>* stages) {
  Status closed;
  for (TriedStage& one : *stages) {
    const Status status = one.stage().Close();
    if (closed.ok()) closed = status;
  }
  return closed;
}

Status RunAndClose(const std::vector<std::unique_ptr<Stage>>& all, const RunOptions& options) {
  std::vector<TriedStage> stages;
  for (const auto& stage : all) stages.emplace_back(stage.get(), options);
  std::vector<StageTold> told(stages.size());
  const auto look = [&] {
    for (size_t i = 0; i < stages.size(); ++i) stages[i].Tell(&told[i]);
  };
  look();
  Status ended;
  if (options.once) {
    RunOnce(&stages, options, &told);
  } else {
    ended = Lanes(&stages, all, options, &told).Run();
  }
  const Status closed = CloseAll(&stages);
  if (options.told != nullptr) {
    look();
    options.told(told);
  }
  if (options.once) {
    for (const TriedStage& stage : stages) HEADRACE_RETURN_NOT_OK(stage.failure());
  }
  return ended.ok() ? closed : ended;
}

}  // namespace

Status RunStages(std::vector<std::unique_ptr<Stage>>* stages, const RunOptions& options) {
  // Between its statements a step looks at `cancel` itself; a long one is ended from beside it.
  const std::jthread watcher([&](const std::stop_token& done) {
    while (!done.stop_requested()) {
      Nap();
      if (!IsCancelled(options)) continue;
      for (const auto& stage : *stages) stage->Interrupt();
    }
  });
  return RunAndClose(*stages, options);
}

}  // namespace headrace::pipeline
