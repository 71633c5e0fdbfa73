// A fixed number of threads and a queue of tasks for them.
//
// Tasks start in the order they were submitted. A failed task does not stop the others; Wait() tells of it. With 0 threads every
// task runs inside Submit, in the caller's thread: the same program, without concurrency.
// Where the system refuses a thread there are fewer of them, in the extreme none.
// The destructor runs what is queued, then joins. After Shutdown() no task is taken: Submit answers kCancelled.
// Thread-safe. A task must not call Wait() or wait for a future of its own group: with all threads waiting nothing would run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/lock.h"

namespace headrace {

class TaskGroup {
 public:
  using Task = std::function<Status()>;

  explicit TaskGroup(int threads);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  int threads() const { return static_cast<int>(workers_.size()); }

  // Queues the task. Fails only after Shutdown(); the task's own status is told by Wait().
  Status Submit(Task task);

  // Queues a task whose result the caller takes from the future. Its failure is told there alone, not by Wait().
  template <typename T>
  std::future<Result<T>> SubmitFor(std::function<Result<T>()> task);

  // Returns when every task submitted so far has ended: OK, or the failure of the first submitted one that failed, with the number of
  // further ones in the message. Failures are told once; the group is usable afterwards.
  Status Wait();

  // All failures so far, in the order of submission; forgets them, as Wait() does. For callers that must treat each of them.
  std::vector<Status> TakeErrors();

  // Takes no more tasks; what is queued still runs. Does not wait.
  void Shutdown();

 private:
  struct Queued {
    int64_t number = 0;
    Task task;
  };

  void Work();
  void Finished(int64_t number, const Status& status);

  std::vector<std::thread> workers_;
  Mutex mutex_;
  CondVar work_;  // the queue has a task, or the group is closed
  CondVar done_;  // a task has ended
  std::deque<Queued> queue_ GUARDED_BY(mutex_);
  std::map<int64_t, Status> errors_ GUARDED_BY(mutex_);  // by number of submission
  int64_t submitted_ GUARDED_BY(mutex_) = 0;
  std::set<int64_t> unfinished_ GUARDED_BY(mutex_);  // numbers queued or running
  bool closed_ GUARDED_BY(mutex_) = false;
};

template <typename T>
std::future<Result<T>> TaskGroup::SubmitFor(std::function<Result<T>()> task) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future = promise->get_future();
  const Status taken = Submit([promise, task = std::move(task)] {
    promise->set_value(task());
    return Status::OK();
  });
  if (!taken.ok()) promise->set_value(taken);
  return future;
}

}  // namespace headrace
