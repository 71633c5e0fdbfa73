// A fixture with write sessions, random rows for them, and their table as a scan shows it. Included by tests alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory_budget.h"
#include "base/random.h"
#include "read/scan.h"
#include "write/test_rows.h"

namespace headrace::testing {

class SessionCase : public ::testing::Test {
 protected:
  SessionOptions OptionsOf(const std::string& user) {
    return {.commit_user = user, .budget = &budget_, .compactors = nullptr, .pool = nullptr};
  }
  std::unique_ptr<WriteSession> Open(const Table& table, const std::string& user = "u") {
    return Must(WriteSession::Open(table, OptionsOf(user)));
  }

  MemoryBudget budget_{64 << 20};
};

inline std::vector<std::string> KindsOf(const std::vector<Snapshot>& snapshots) {
  std::vector<std::string> kinds;
  for (const Snapshot& snapshot : snapshots) kinds.emplace_back(NameOf(snapshot.commit_kind));
  return kinds;
}

// Up to `most` - 1 rows of keys below `keys`, one in `deletes_one_in` of them a delete; the model follows.
inline std::vector<Row> DrawRows(Random* random, uint64_t most, uint64_t keys, uint64_t deletes_one_in,
                                 const std::function<int32_t()>& value, IntRows* model) {
  std::vector<Row> rows;
  for (uint64_t i = random->Below(most); i > 0; --i) {
    const auto id = static_cast<int32_t>(random->Below(keys));
    const int32_t v = value();
    const bool deletes = random->OneIn(deletes_one_in);
    rows.push_back({id, v, static_cast<int8_t>(deletes ? 3 : 0)});
    if (deletes)
      model->erase(id);
    else
      (*model)[id] = v;
  }
  return rows;
}

// Fails on a key that is there twice.
inline IntRows ScanById(const Table& table, const Snapshot& snapshot) {
  IntRows rows;
  const auto reader = Must(OpenScan(table, snapshot, {}));
  std::shared_ptr<arrow::RecordBatch> batch;
  while (reader->ReadNext(&batch).ok() && batch != nullptr) {
    const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
    const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(1));
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      const std::optional<int32_t> v = values.IsNull(i) ? std::nullopt : std::optional(values.Value(i));
      EXPECT_TRUE(rows.try_emplace(ids.Value(i), v).second) << "key " << ids.Value(i) << " is there twice";
    }
  }
  return rows;
}
inline IntRows ScanById(const Table& table) {
  const auto latest = Must(ReadLatestSnapshot(table));
  return latest.has_value() ? ScanById(table, *latest) : IntRows();
}

}  // namespace headrace::testing
