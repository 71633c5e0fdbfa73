// Primary keys that a query gives, and the rows that tables have of them: in memory while they are few, else through temporary tables, which DuckDB spills.
//
// Keys are gone through by pages, so that of however many rows no more than a page's are held at once. One object at a time: all share the temporary
// table "$keys". One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "pipeline/stage_work.h"

namespace headrace::pipeline {

class TouchedKeys {
 public:
  // `query` gives each key once, its columns in the order of the primary key, in any types of their values.
  static Result<TouchedKeys> Of(StageWork* work, const std::string& query);

  int64_t count() const { return count_; }
  Result<bool> HoldNull() const;

  int64_t pages() const;  // at least one
  // The name stands for the rows that the table has of a page's keys at the snapshot.
  Status PutRows(int64_t page, const std::string& name, const Table& table,
                 const std::optional<Snapshot>& snapshot) const;

  // " FROM …" of the rows that the table has of these keys at the snapshot; they are known by `name` until the step ends.
  Result<std::string> RowsIn(const std::string& name, const Table& table,
                             const std::optional<Snapshot>& snapshot) const;

 private:
  explicit TouchedKeys(StageWork* work) : work_(work) {}

  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Page(int64_t page) const;

  StageWork* work_;
  int64_t count_ = 0;
  std::vector<std::shared_ptr<arrow::RecordBatch>> few_;  // all of them, if they are no more than a page
};

}  // namespace headrace::pipeline
