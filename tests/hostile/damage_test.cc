// Every truncation and every flipped bit of every metadata file that reading touches, and of data files at sampled places.
//
// Each damage must end in one of three ways:
//   told       an error that names a file of the table;
//   harmless   the same rows and changes as before;
//   unseen     other rows or changes: only in the fields named below, which nothing in the format covers.
// Never a crash, a hang, or a piece of memory beyond all proportion to the file.
//
// What is told: any truncation of a snapshot, schema, manifest list, manifest or data file (sizes are told by whoever names the file, and
// JSON does not end early); a flip in a page of a data file (its checksum), in a name, a size, a count of files or rows, a kind, a
// schema id that does not exist. What is not: see kUncovered; and two damages at once that fit each other.
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/memory_budget.h"
#include "catalog/schema_log.h"
#include "catalog/snapshots.h"
#include "file/json_lines.h"
#include "file/manifest_file.h"
#include "io/fault_store.h"
#include "read/changes.h"
#include "read/scan.h"
#include "tests/hostile/allocation_guard.h"
#include "tests/hostile/described.h"
#include "write/test_rows.h"

namespace headrace::hostile {
namespace {

using ::testing::IsEmpty;
using testing::Must;

// Sanitizers make a trial five to ten times as dear: there every 13th damage is tried, an odd step that meets every bit of a byte. The tree
// without them (make dev) tries all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStep = 13;
#else
constexpr size_t kStep = 1;
#endif

// What no check can tell apart from another table's truth: a column's id in the schema a file was written with. The column then reads as one that
// the file does not know, as null.
const std::vector<std::string> kUncovered = {"fields/0/id", "fields/1/id"};

constexpr int64_t kMostMemory = 64 << 20;  // of a table of a few kilobytes

// A damaged file as it was before and after.
struct Damage {
  std::string path;
  std::string bytes;
  std::string what;  // "cut to 17 bytes", "bit 3 of byte 17 flipped"
};

// Calls `act` with each truncation and each flip, a step apart.
void ForEachDamage(const std::string& path, const std::string& good, size_t step,
                   const std::function<void(const Damage&)>& act) {
  for (size_t length = 0; length < good.size(); length += step)
    act({path, good.substr(0, length), "cut to " + std::to_string(length) + " bytes"});
  for (size_t bit = 0; bit < good.size() * 8; bit += step) {
    Damage damage{path, good,
                  "bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " flipped"};
    damage.bytes[bit / 8] = static_cast<char>(damage.bytes[bit / 8] ^ (1 << (bit % 8)));
    act(damage);
  }
}

// What a user sees of the table: the rows of the newest snapshot and all changes, as JSON lines.
Result<std::string> Seen(std::shared_ptr<Store> store, const std::string& path,
                         const std::shared_ptr<Clock>& clock) {
  arrow::CappedMemoryPool pool(arrow::default_memory_pool(), kMostMemory);
  HEADRACE_ASSIGN_OR_RETURN(const Table table,
                            OpenTableAt(std::move(store), clock, path, "db.t", Access::kRead));
  std::string seen;
  HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, ReadLatestSnapshot(table));
  if (!snapshot.has_value()) return std::string("nothing committed");
  ScanOptions scan;
  scan.pool = &pool;
  HEADRACE_ASSIGN_OR_RETURN(const auto rows, OpenScan(table, *snapshot, scan));
  const JsonLines lines(table.schema->fields);
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    HEADRACE_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) break;
    HEADRACE_RETURN_NOT_OK(lines.Append(*batch, &seen));
  }
  ChangeStreamOptions follow;
  follow.pool = &pool;
  HEADRACE_ASSIGN_OR_RETURN(const auto stream, ChangeStream::Open(table, follow));
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(auto next, stream->Next());
    if (!next.has_value()) return seen;
    seen += "snapshot " + std::to_string(next->snapshot.id.value) + "\n";
    while (next->rows != nullptr) {
      HEADRACE_RETURN_NOT_OK(next->rows->ReadNext(&batch));
      if (batch == nullptr) break;
      const int last = batch->num_columns() - 1;
      seen += batch->column(last)->ToString();
      HEADRACE_ASSIGN_OR_RETURN(const auto values, batch->RemoveColumn(last));
      HEADRACE_RETURN_NOT_OK(lines.Append(*values, &seen));
    }
  }
}

class Damages : public ::testing::Test {
 protected:
  // Two schemas, an append, an update with a delete, a full compaction, and an append after it.
  Damages() {
    made_ = testing::MakeTestTable(
        "id INT, v INT", {"id"},
        {{"bucket", "1"}, {"changelog-producer", "input"}, {"manifest.merge-min-count", "3"}});
    store_ = made_.store;
    Write({{1, 10}, {2, 20}, {3, 30}}, false);
    Must(AlterSchema(made_.table, {SetOption{"num-sorted-run.compaction-trigger", "9"}}));
    made_.table = testing::Reopened(made_.table, store_);
    Write({{1, 11}, {2, 20, 3}}, false);
    Write({}, true);
    Write({{4, 40}}, false);
    const auto log = std::make_shared<FaultStore>(store_);
    right_ = Must(Seen(log, path(), made_.clock));
    for (const LoggedOperation& operation : log->log()) {
      const bool reads = operation.operation == StoreOperation::kReadAll ||
                         operation.operation == StoreOperation::kOpenForRead;
      if (reads && operation.done) touched_.insert(operation.path);
    }
  }

  const std::string& path() const { return made_.table.path; }

  void Write(const std::vector<testing::Row>& rows, bool compact) {
    MemoryBudget budget(8 << 20);
    const auto session = Must(WriteSession::Open(
        made_.table, {.commit_user = "u", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
    if (!rows.empty()) {
      ASSERT_TRUE(testing::WriteRows(session.get(), made_.table, rows).ok());
    }
    if (compact) {
      ASSERT_TRUE(session->Compact(true).ok());
    }
    Must(testing::CommitRows(session.get(), ++identifier_));
  }

  std::vector<std::string> Touched(std::string_view part) const {
    std::vector<std::string> paths;
    for (const std::string& one : touched_)
      if (one.find(part) != std::string::npos) paths.push_back(one);
    return paths;
  }

  std::string Bytes(const std::string& file) const { return Must(store_->ReadAll(file)); }

  enum class End { kTold, kHarmless, kUnseen };

  // Reads the table with the damage in place. `changed` says what of the file means something else now, for the message.
  End Read(const Damage& damage, const std::string& changed) {
    const std::string good = Bytes(damage.path);
    EXPECT_TRUE(store_->Replace(damage.path, damage.bytes).ok());
    TakeLargestAllocation();
    const auto seen = Seen(store_, path(), made_.clock);
    EXPECT_LT(TakeLargestAllocation(), static_cast<size_t>(kMostMemory))
        << damage.path << ", " << damage.what;
    EXPECT_TRUE(store_->Replace(damage.path, good).ok());
    if (seen.ok()) return *seen == right_ ? End::kHarmless : End::kUnseen;
    const Status& status = seen.status();
    // A file of the table by its path; or the table with a data file by its name, or with an option by its key.
    EXPECT_THAT(status.message(), ::testing::AnyOf(::testing::HasSubstr(path() + "/"),
                                                   ::testing::ContainsRegex("table db.t.*data-[0-9a-f]+-"),
                                                   ::testing::ContainsRegex("table db.t.*option '")))
        << damage.path << ", " << damage.what << changed;
    // Only what Arrow reads may ask for too much: the head of a page is under no checksum. The caller's pool says no.
    const bool of_data = damage.path.ends_with(".parquet");
    EXPECT_FALSE(IsKind(status, ErrorKind::kIo) || (IsKind(status, ErrorKind::kOverBudget) && !of_data))
        << damage.path << ", " << damage.what << changed << ": " << status;
    return End::kTold;
  }

  // Every damage of the files whose paths have `part` in them. `describe` decodes: an error that names the file is told already; what decodes
  // to the same is harmless; only the rest is read. Fields of unseen damages go to `unseen`.
  template <typename Describe>
  void Try(std::string_view part, Describe describe, std::map<std::string, int>* unseen) {
    std::map<End, int> ends;
    for (const std::string& file : Touched(part)) {
      const std::string good = Bytes(file);
      const std::map<std::string, std::string> meant = Must(describe(good, file));
      ForEachDamage(file, good, kStep, [&](const Damage& damage) {
        TakeLargestAllocation();
        const auto means = describe(damage.bytes, file);
        EXPECT_LT(TakeLargestAllocation(), static_cast<size_t>(kMostMemory)) << file << ", " << damage.what;
        if (!means.ok()) {
          ++ends[End::kTold];
          EXPECT_THAT(means.status().message(), ::testing::HasSubstr(file)) << damage.what;
          return;
        }
        const bool cut = damage.bytes.size() < good.size();
        if (*means == meant && !cut) {
          ++ends[End::kHarmless];
          return;
        }
        const std::set<std::string> fields = Differing(meant, *means);
        const End end = Read(damage, ", which changes " + ::testing::PrintToString(fields));
        ++ends[end];
        // A cut that leaves whole JSON is one of the line feed at its end.
        EXPECT_TRUE(!cut || end == End::kTold || (end == End::kHarmless && *means == meant))
            << file << ", " << damage.what;
        if (end != End::kUnseen) return;
        for (const std::string& field : fields) ++(*unseen)[field];
      });
    }
    std::cout << part << ": " << ends[End::kTold] << " told, " << ends[End::kHarmless] << " harmless, "
              << ends[End::kUnseen] << " unseen in " << ::testing::PrintToString(*unseen) << std::endl;
    EXPECT_GT(ends[End::kTold], 0);
  }

  static std::set<std::string> Keys(const std::map<std::string, int>& counts) {
    std::set<std::string> keys;
    for (const auto& [key, count] : counts) keys.insert(key);
    return keys;
  }

  testing::TestTable made_;
  std::shared_ptr<Store> store_;
  int64_t identifier_ = 0;
  std::string right_;
  std::set<std::string> touched_;
};

TEST_F(Damages, OfSnapshots) {
  std::map<std::string, int> unseen;
  Try("/snapshot/snapshot-", DescribeSnapshot, &unseen);
  EXPECT_THAT(Keys(unseen), IsEmpty());
}

TEST_F(Damages, OfSchemas) {
  std::map<std::string, int> unseen;
  Try("/schema/schema-", DescribeSchema, &unseen);
  EXPECT_THAT(Keys(unseen), ::testing::IsSubsetOf(kUncovered));
}

TEST_F(Damages, OfManifestLists) {
  std::map<std::string, int> unseen;
  Try("/manifest/manifest-list-", DescribeManifestList, &unseen);
  EXPECT_THAT(Keys(unseen), IsEmpty());
}

TEST_F(Damages, OfManifests) {
  std::map<std::string, int> unseen;
  std::set<std::string> lists;
  for (const std::string& list : Touched("/manifest/manifest-list-")) touched_.erase(list);
  Try("/manifest/manifest-", DescribeManifest, &unseen);
  EXPECT_THAT(Keys(unseen), IsEmpty());
}

TEST_F(Damages, OfHints) {
  for (const char* hint : {"LATEST", "EARLIEST"}) {
    const std::string file = path() + "/snapshot/" + hint;
    for (const std::string good : {"1", "2", "4", "12345"}) {
      ForEachDamage(file, good, 1, [&](const Damage& damage) {
        ASSERT_TRUE(store_->Replace(file, damage.bytes).ok());
        EXPECT_EQ(Must(Seen(store_, path(), made_.clock)), right_) << hint << " '" << damage.bytes << "'";
      });
    }
    ASSERT_TRUE(store_->Delete(file).ok());
  }
}

TEST_F(Damages, OfDataFiles) {
  std::map<End, int> ends;
  std::map<std::string, int> unseen;
  const std::vector<std::string> files = Touched(".parquet");
  ASSERT_GT(files.size(), 3u);
  for (const std::string& file : files) {
    ForEachDamage(file, Bytes(file), 7 * kStep, [&](const Damage& damage) {
      const End end = Read(damage, "");
      ++ends[end];
      if (end == End::kUnseen) ++unseen[damage.what];
    });
  }
  std::cout << "data files: " << ends[End::kTold] << " told, " << ends[End::kHarmless] << " harmless, "
            << ends[End::kUnseen] << " unseen" << ::testing::PrintToString(unseen) << std::endl;
  EXPECT_THAT(unseen, IsEmpty());
}

}  // namespace
}  // namespace headrace::hostile
