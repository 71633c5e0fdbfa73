#include "lsm/order.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lsm/key_bytes.h"
#include "lsm/versions.h"

namespace headrace {
namespace {

// Where a part stands, with the head of its current key at hand. A finished part comes after every other.
struct IntegerCursor {
  const KeyColumn* keys = nullptr;
  int64_t row = 0;
  int64_t end = 0;
  int64_t head = 0;

  void Load() { head = keys->integer(row); }
  static int Compare(const IntegerCursor& a, const IntegerCursor& b) {
    return (a.head > b.head) - (a.head < b.head);
  }
};

struct BytesCursor {
  const KeyColumn* keys = nullptr;
  int64_t row = 0;
  int64_t end = 0;
  size_t shared = 0;  // bytes that all keys of the window begin with
  uint64_t head = 0;
  std::string_view key;

  void Load() {
    key = keys->bytes(row);
    head = HeadOf(key, shared);
  }
  static int Compare(const BytesCursor& a, const BytesCursor& b) {
    if (a.head != b.head) return a.head < b.head ? -1 : 1;
    return a.key.compare(b.key);
  }
};

// A tournament of n players: node i ≥ 1 remembers the loser of its match, node 0 the winner of all. Leaf of player p is n + p,
// its matches are at (n + p) / 2, /4, … 1. Replacing the winner's key replays only its own path.
template <typename Cursor>
class LoserTree {
 public:
  explicit LoserTree(std::vector<Cursor> cursors) : cursors_(std::move(cursors)), losers_(cursors_.size()) {
    for (Cursor& cursor : cursors_) cursor.Load();
    losers_[0] = cursors_.size() == 1 ? 0 : Play(1);
  }

  uint32_t winner() const { return losers_[0]; }
  const Cursor& top() const { return cursors_[losers_[0]]; }
  bool done() const { return top().row == top().end; }

  void Advance() {
    const uint32_t player = losers_[0];
    Cursor& cursor = cursors_[player];
    if (++cursor.row < cursor.end) cursor.Load();
    uint32_t winner = player;
    for (size_t node = (cursors_.size() + player) / 2; node >= 1; node /= 2) {
      if (Before(losers_[node], winner)) std::swap(losers_[node], winner);
    }
    losers_[0] = winner;
  }

 private:
  // Ties go to the lower player, so that the order is always the same.
  bool Before(uint32_t a, uint32_t b) const {
    const Cursor& x = cursors_[a];
    const Cursor& y = cursors_[b];
    if (x.row == x.end || y.row == y.end) return x.row != x.end;
    const int order = Cursor::Compare(x, y);
    return order != 0 ? order < 0 : a < b;
  }

  // The winner of the matches below `node`.
  uint32_t Play(size_t node) {
    if (node >= cursors_.size()) return static_cast<uint32_t>(node - cursors_.size());
    uint32_t a = Play(node * 2);
    uint32_t b = Play(node * 2 + 1);
    if (Before(b, a)) std::swap(a, b);
    losers_[node] = b;
    return a;
  }

  std::vector<Cursor> cursors_;
  std::vector<uint32_t> losers_;
};

void OrderVersions(const Window& window, bool by_age, RowRef* begin, RowRef* end) {
  if (end - begin < 2) return;
  std::sort(begin, end, [&](RowRef a, RowRef b) {
    return CompareVersions(*window.parts[a.batch].rows, a.row, *window.parts[b.batch].rows, b.row, by_age) <
           0;
  });
}

// Keys ascend in each part: what the smallest and the largest of all begin with, every key between begins with.
size_t SharedByAll(const Window& window) {
  std::string_view smallest = window.parts[0].rows->keys.bytes(window.parts[0].begin);
  std::string_view largest = smallest;
  for (const WindowPart& part : window.parts) {
    smallest = std::min(smallest, part.rows->keys.bytes(part.begin));
    largest = std::max(largest, part.rows->keys.bytes(part.end - 1));
  }
  return SharedPrefix(smallest, largest, smallest.size());
}

template <typename Cursor>
void Merge(const Window& window, bool by_age, Segments* segments) {
  std::vector<Cursor> cursors;
  size_t shared = 0;
  if constexpr (std::is_same_v<Cursor, BytesCursor>) shared = SharedByAll(window);
  for (const WindowPart& part : window.parts) {
    Cursor& cursor = cursors.emplace_back();
    cursor.keys = &part.rows->keys;
    cursor.row = part.begin;
    cursor.end = part.end;
    if constexpr (std::is_same_v<Cursor, BytesCursor>) cursor.shared = shared;
  }
  LoserTree<Cursor> tree(std::move(cursors));
  std::vector<RowRef>& rows = segments->rows;
  Cursor previous{};
  while (!tree.done()) {
    const Cursor& top = tree.top();
    if (rows.empty() || Cursor::Compare(previous, top) != 0) {
      if (!rows.empty())
        OrderVersions(window, by_age, rows.data() + segments->starts.back(), rows.data() + rows.size());
      segments->starts.push_back(static_cast<uint32_t>(rows.size()));
      previous = top;
    }
    rows.push_back({tree.winner(), static_cast<uint32_t>(top.row)});
    tree.Advance();
  }
  OrderVersions(window, by_age, rows.data() + segments->starts.back(), rows.data() + rows.size());
}

}  // namespace

void OrderRows(const Window& window, bool by_age, Segments* segments) {
  segments->clear();
  segments->rows.reserve(static_cast<size_t>(window.rows()));
  if (window.parts[0].rows->keys.is_integer()) {
    Merge<IntegerCursor>(window, by_age, segments);
  } else {
    Merge<BytesCursor>(window, by_age, segments);
  }
}

}  // namespace headrace
