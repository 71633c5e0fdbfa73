// Mutex, MutexLock and CondVar: the standard ones with Clang's thread-safety attributes, so that -Wthread-safety proves
// which member is guarded by which mutex. With g++ the attributes expand to nothing.
//
// A guarded member says so: `std::vector<Task> queue_ GUARDED_BY(mutex_);`; a function that expects the lock held says
// `REQUIRES(mutex_)`. A Mutex is not recursive. A CondVar is used with the Mutex it waits on, always in a loop over the condition.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define HEADRACE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define HEADRACE_THREAD_ATTRIBUTE(x)
#endif

#define CAPABILITY(name) HEADRACE_THREAD_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY HEADRACE_THREAD_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(mutex) HEADRACE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) HEADRACE_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
#define REQUIRES(...) HEADRACE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) HEADRACE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) HEADRACE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) HEADRACE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS HEADRACE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace headrace {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Gives the mutex up while waiting and holds it again on return. May wake without cause.
  void Wait(Mutex& mutex) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    held.release();
  }

  // False when the time passed without a notification.
  bool WaitForMs(Mutex& mutex, int64_t ms) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    const bool notified =
        condition_.wait_for(held, std::chrono::milliseconds(ms)) == std::cv_status::no_timeout;
    held.release();
    return notified;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace headrace
