// What a table holds, compared with the rows it should hold, so that just the difference is written.
//
// Of every live row its key's bytes and 128 bits of a hash over all its values are kept: equal hashes count as equal rows. Rows are looked at in
// parts by their key's hash, as many as memory asks for; the caller goes through all rows once a part. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

class LiveRows {
 public:
  // `snapshot` must outlive it. `shape` has a key.
  LiveRows(const Table& table, const TableShape& shape, const Snapshot& snapshot)
      : table_(table), shape_(shape), snapshot_(snapshot) {}

  // How many parts keep within so many bytes.
  int PartsFor(int64_t bytes) const;
  Status ReadPart(int part, int parts);

  enum class Verdict { kNotOfThisPart, kNew, kSame, kDiffers };
  // Of a row that should be there; each key once. A row that is never asked for should not be there.
  Verdict Compare(const arrow::RecordBatch& rows, int64_t row);
  // Rows of this part that were never asked for, batch by batch, to be deleted.
  Status EachLeftOver(const std::function<Status(const arrow::RecordBatch& rows, int64_t row)>& each);

 private:
  using Fingerprint = std::pair<uint64_t, uint64_t>;
  std::string KeyOf(const arrow::RecordBatch& rows, int64_t row) const;
  bool OfThisPart(const std::string& key) const;
  Status EachLive(const std::function<Status(const arrow::RecordBatch& rows)>& each) const;

  const Table& table_;
  const TableShape& shape_;
  const Snapshot& snapshot_;
  int part_ = 0;
  int parts_ = 1;
  std::unordered_map<std::string, Fingerprint> live_;
};

}  // namespace headrace::ingest
