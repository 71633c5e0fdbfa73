// A number of bytes that the buffers of one engine share.
//
// Whoever is about to hold much memory reserves it first. A Reservation gives its bytes back when it ends; it may grow and
// shrink in between, and may outlive the MemoryBudget object. A refusal is kOverBudget and changes nothing: the caller flushes,
// spills, or reports it. Nothing waits here.
// Invariant: used() is the sum of the living reservations, never above limit().
// MemoryBudget is thread-safe; one Reservation belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace headrace {

class MemoryBudget;

class Reservation {
 public:
  Reservation() = default;  // of nothing, from no budget: may only be assigned to
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { Release(); }

  int64_t bytes() const { return bytes_; }

  // More bytes, or kOverBudget and the reservation as it was. `what` names the buffer in the message.
  Status Grow(int64_t more, std::string_view what = {});
  // Gives back `fewer` bytes, at most all of them.
  void Shrink(int64_t fewer);
  // Grows or shrinks to exactly `bytes`.
  Status Resize(int64_t bytes, std::string_view what = {});
  // Gives everything back.
  void Release() { Shrink(bytes_); }

 private:
  friend class MemoryBudget;
  struct State;
  explicit Reservation(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  int64_t bytes_ = 0;
};

class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes);

  Result<Reservation> Reserve(int64_t bytes, std::string_view what = {});

  int64_t limit() const;
  int64_t used() const;
  int64_t available() const;
  int64_t peak() const;  // the most that was ever in use at once

 private:
  std::shared_ptr<Reservation::State> state_;
};

}  // namespace headrace
