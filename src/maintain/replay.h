// The state that changes add up to, as digests: a key's last row, and whether each change fits the one before it.
//
// Only keys of one share are kept (`share` of `shares`, by the key's digest), so a table of any size is replayed in bounded memory. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/table_schema.h"

namespace headrace {

struct RowDigest {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const RowDigest&) const = default;
};
struct RowDigestHash {
  size_t operator()(const RowDigest& digest) const { return static_cast<size_t>(digest.low); }
};

struct KeyedDigest {
  RowDigest key;
  RowDigest row;
};

// Digests of the rows of batches that begin with all columns of the table. A key is that of the primary and the partition keys: the same
// primary key in two partitions is two keys.
class RowDigester {
 public:
  explicit RowDigester(const TableSchema& schema);
  Result<std::vector<KeyedDigest>> Digest(const arrow::RecordBatch& rows) const;
  // The key columns of one row as people read them.
  Result<std::string> KeyText(const arrow::RecordBatch& rows, int64_t row) const;

 private:
  const TableSchema schema_;
  std::vector<int> key_columns_;
};

enum class Step {
  kFits,
  kInsertOfPresent,   // +I or +U of a key that is there
  kRetractOfAbsent,   // -U or -D of a key that is not there
  kRetractOfAnother,  // -U or -D with other values than the key has
};

// Of each row how often it is added, less how often it is retracted.
using RowBalance = std::unordered_map<RowDigest, int, RowDigestHash>;

class Replay {
 public:
  Replay(uint64_t share, uint64_t shares) : share_(share), shares_(shares) {}

  bool IsMine(const RowDigest& key) const { return key.high % shares_ == share_; }
  // Changes the state as a follower would, whether the step fits or not. Precondition: IsMine.
  Step Apply(const KeyedDigest& change, bool retract);
  // Several changes of a key whose order is not told: what they make of its row together.
  Step ApplyTogether(const RowDigest& key, RowBalance changes);
  // The row of a key, taken out of the state; null when it has none.
  enum class Match { kSame, kOther, kAbsent };
  Match Take(const KeyedDigest& expected);
  // Keys that are left.
  const std::unordered_map<RowDigest, RowDigest, RowDigestHash>& rows() const { return rows_; }

 private:
  uint64_t share_;
  uint64_t shares_;
  std::unordered_map<RowDigest, RowDigest, RowDigestHash> rows_;
};

}  // namespace headrace
