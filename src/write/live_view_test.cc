#include "write/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "io/fault_store.h"
#include "write/test_rows.h"

namespace headrace::testing {
namespace {

// Beside a writer that makes a snapshot whenever we read one, damage looks like a snapshot that has ended.
TEST(LiveView, DamageBesideABusyWriterIsToldInTheEnd) {
  const TestTable made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}});
  MemoryBudget budget(64 << 20);
  const auto session = Must(WriteSession::Open(made.table, {.commit_user = "u", .budget = &budget}));
  ASSERT_TRUE(WriteRows(session.get(), made.table, {{.id = 1, .v = 1}}).ok());
  Snapshot snapshot = Must(CommitRows(session.get(), 1)).back();
  ASSERT_TRUE(made.store->Replace(ManifestPath(made.table, snapshot.delta_manifest_list), "damaged").ok());
  auto faults = std::make_shared<FaultStore>(made.store);
  faults->SetHook([&](StoreOperation operation, const std::string& path) {
    if (operation != StoreOperation::kReadAll || path.find("/manifest/") == std::string::npos) return;
    ++snapshot.id.value;
    ASSERT_TRUE(made.store->Replace(SnapshotPath(made.table, snapshot.id), SerializeSnapshot(snapshot)).ok());
  });
  const Table busy = Reopened(made.table, faults);
  LiveView view(busy);
  const Status loaded = view.Load({{BinaryRow{}, BucketId(0)}});
  EXPECT_TRUE(IsKind(loaded, ErrorKind::kCorruption)) << loaded;
  const Status listed = view.AllBuckets().status();
  EXPECT_TRUE(IsKind(listed, ErrorKind::kCorruption)) << listed;
}

}  // namespace
}  // namespace headrace::testing
