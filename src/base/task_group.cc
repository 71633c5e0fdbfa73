// The queue, the threads that serve it, and the count that Wait() waits for.
#include "base/task_group.h"

#include <system_error>
#include <utility>

namespace headrace {

TaskGroup::TaskGroup(int threads) {
  try {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: go on with those that started.
  }
}

TaskGroup::~TaskGroup() {
  Shutdown();
  for (std::thread& worker : workers_) worker.join();
}

Status TaskGroup::Submit(Task task) {
  int64_t number = 0;
  {
    MutexLock lock(mutex_);
    if (closed_) return Cancelled("the task group has been shut down: no further task is taken");
    number = submitted_++;
    unfinished_.insert(number);
    if (!workers_.empty()) {
      queue_.push_back({number, std::move(task)});
      work_.NotifyOne();
      return Status::OK();
    }
  }
  Finished(number, task());
  return Status::OK();
}

void TaskGroup::Work() {
  while (true) {
    Queued next;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !closed_) work_.Wait(mutex_);
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    const Status status = next.task();
    next.task = nullptr;  // what the task held is gone before it counts as finished
    Finished(next.number, status);
  }
}

void TaskGroup::Finished(int64_t number, const Status& status) {
  MutexLock lock(mutex_);
  unfinished_.erase(number);
  if (!status.ok()) errors_.emplace(number, status);
  done_.NotifyAll();
}

Status TaskGroup::Wait() {
  MutexLock lock(mutex_);
  const int64_t target = submitted_;
  while (!unfinished_.empty() && *unfinished_.begin() < target) done_.Wait(mutex_);
  if (errors_.empty()) return Status::OK();
  const auto errors = std::exchange(errors_, {});
  const Status& first = errors.begin()->second;
  if (errors.size() == 1) return first;
  return MakeError(KindOf(first),
                   first.message() + " (and " + std::to_string(errors.size() - 1) + " more tasks failed)");
}

std::vector<Status> TaskGroup::TakeErrors() {
  MutexLock lock(mutex_);
  std::vector<Status> statuses;
  for (auto& [number, status] : std::exchange(errors_, {})) statuses.push_back(status);
  return statuses;
}

void TaskGroup::Shutdown() {
  MutexLock lock(mutex_);
  closed_ = true;
  work_.NotifyAll();
}

}  // namespace headrace
