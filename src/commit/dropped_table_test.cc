// A table that is dropped, or dropped and made anew, before any operation of a commit of its old writer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "commit/test_changes.h"
#include "io/fault_store.h"

namespace headrace {
namespace {

using testing::ChangeOf;
using testing::CommitOf;
using testing::MakeTestTable;
using testing::Must;
using testing::Reopened;

void AddFilesBelow(Store* store, const std::string& folder, std::vector<std::string>* files) {
  for (const FileInfo& child : Must(store->List(folder))) {
    if (child.is_directory)
      AddFilesBelow(store, child.path, files);
    else
      files->push_back(child.path);
  }
}

// What became of the commit when the table was dropped before operation `at`; OK with `*met` false: there is no such operation.
Status CommitWithDropAt(int64_t at, bool make_anew, bool* met, testing::TestTable* made,
                        std::optional<Table>* anew) {
  *made = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}});
  Must(Commit(made->table, CommitOf("u", 1, {ChangeOf(0, {{.name = "a"}})})));
  const auto faults = std::make_shared<FaultStore>(made->store);
  const Table table = Reopened(made->table, faults);
  int64_t operations = 0;
  faults->SetHook([&](StoreOperation, const std::string&) {
    if (operations++ != at) return;
    Catalog catalog(made->store, made->clock, "/w");
    EXPECT_TRUE(catalog.DropTable({"db", "t"}).ok());
    made->clock->Advance(1);
    if (make_anew)
      *anew = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}, {"k", std::to_string(at)}}, {},
                            made->store)
                  .table;
  });
  const Status done =
      Commit(table, CommitOf("u", 2, {ChangeOf(0, {{.name = "b", .first_sequence = 10}})})).status();
  *met = operations > at;
  return done;
}

TEST(DroppedTable, IsNeverBroughtBackByItsOldWriter) {
  int refused = 0;
  bool met = true;
  for (int64_t at = 0; met; ++at) {
    SCOPED_TRACE(at);
    testing::TestTable made;
    std::optional<Table> anew;
    const Status done = CommitWithDropAt(at, false, &met, &made, &anew);
    if (!met) break;
    // Unknown: it was published, and gone with the table before it could be looked at again.
    EXPECT_TRUE(done.ok() || IsKind(done, ErrorKind::kNotFound) || IsKind(done, ErrorKind::kCommitUnknown))
        << done;
    refused += done.ok() ? 0 : 1;
    std::vector<std::string> files;
    AddFilesBelow(made.store.get(), "/w", &files);
    // An acknowledged commit may still write its hint; nothing reads a hint without a snapshot.
    std::erase_if(files, [](const std::string& path) { return path.ends_with("/snapshot/LATEST"); });
    EXPECT_THAT(files, ::testing::IsEmpty());
    MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}, {}, made.store);
  }
  EXPECT_GT(refused, 10);
}

TEST(DroppedTable, MadeAnewGetsNothingOfWhatWasMeantForTheOldOne) {
  int refused = 0;
  bool met = true;
  for (int64_t at = 0; met; ++at) {
    SCOPED_TRACE(at);
    testing::TestTable made;
    std::optional<Table> anew;
    const Status done = CommitWithDropAt(at, true, &met, &made, &anew);
    if (!met) break;
    EXPECT_TRUE(done.ok() || IsKind(done, ErrorKind::kNotFound) || IsKind(done, ErrorKind::kCommitUnknown))
        << done;
    refused += done.ok() ? 0 : 1;
    ASSERT_TRUE(anew.has_value());
    EXPECT_EQ(Must(FindLatestSnapshotId(*anew)), std::nullopt);
    Must(Commit(*anew, CommitOf("w", 1, {ChangeOf(0, {{.name = "c"}})})));
    EXPECT_EQ(Must(LiveFiles(*anew, *Must(ReadLatestSnapshot(*anew)))).size(), 1u);
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace headrace
