// The shared count behind budget and reservations: one atomic, so that taking a few bytes costs nanoseconds.
#include "base/memory_budget.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace headrace {

struct Reservation::State {
  explicit State(int64_t limit_bytes) : limit(limit_bytes) {}

  const int64_t limit;
  std::atomic<int64_t> used{0};
  std::atomic<int64_t> peak{0};

  Status Take(int64_t bytes, std::string_view what) {
    if (bytes < 0) return Invalid("a reservation of ", bytes, " bytes of memory: must not be negative");
    int64_t before = used.load();
    do {
      if (bytes > limit - before) {
        return OverBudget(what.empty() ? std::string_view("a buffer") : what, " needs ", bytes,
                          " more bytes of memory, but ", before, " of the budget's ", limit,
                          " bytes are in use; give a larger memory budget or run less at once");
      }
    } while (!used.compare_exchange_weak(before, before + bytes));
    int64_t seen = peak.load();
    while (seen < before + bytes && !peak.compare_exchange_weak(seen, before + bytes)) {
    }
    return Status::OK();
  }
};

Reservation::Reservation(Reservation&& other) noexcept
    : state_(std::move(other.state_)), bytes_(std::exchange(other.bytes_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  Release();
  state_ = std::move(other.state_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

Status Reservation::Grow(int64_t more, std::string_view what) {
  if (state_ == nullptr) return Invalid("a reservation without a budget cannot grow");
  HEADRACE_RETURN_NOT_OK(state_->Take(more, what));
  bytes_ += more;
  return Status::OK();
}

void Reservation::Shrink(int64_t fewer) {
  fewer = std::clamp(fewer, int64_t{0}, bytes_);
  if (fewer == 0) return;
  bytes_ -= fewer;
  state_->used -= fewer;
}

Status Reservation::Resize(int64_t bytes, std::string_view what) {
  if (bytes < 0) return Invalid("a reservation of ", bytes, " bytes of memory: must not be negative");
  if (bytes > bytes_) return Grow(bytes - bytes_, what);
  Shrink(bytes_ - bytes);
  return Status::OK();
}

MemoryBudget::MemoryBudget(int64_t limit_bytes)
    : state_(std::make_shared<Reservation::State>(std::max<int64_t>(limit_bytes, 0))) {}

Result<Reservation> MemoryBudget::Reserve(int64_t bytes, std::string_view what) {
  Reservation reservation(state_);
  HEADRACE_RETURN_NOT_OK(reservation.Grow(bytes, what));
  return reservation;
}

int64_t MemoryBudget::limit() const { return state_->limit; }
int64_t MemoryBudget::used() const { return state_->used.load(); }
int64_t MemoryBudget::available() const { return limit() - used(); }
int64_t MemoryBudget::peak() const { return state_->peak.load(); }

}  // namespace headrace
