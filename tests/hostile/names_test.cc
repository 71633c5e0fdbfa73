// Names of databases, tables and jobs: none leads out of its folder, whatever is done with it; and links are not followed by deletions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_budget.h"
#include "commit/commit.h"
#include "ingest/jobs.h"
#include "ingest/position.h"
#include "tests/hostile/guarded_warehouse.h"
#include "write/test_rows.h"

namespace headrace::hostile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IntRows;
using ::testing::IsEmpty;
using testing::Must;

std::vector<std::string> NamesThatAreNone() {
  return {
      "",
      ".",
      "..",
      "/",
      "//",
      "../elsewhere",
      "../../elsewhere",
      "/etc",
      "a/b",
      "a/../b",
      "..\\elsewhere",
      "a\\b",
      std::string("t\0x", 3),
      std::string("\0", 1),
      "t\n",
      "t\x01",
      "t\x7f",
      " t",
      "t ",
      "\tt",
      "t.db",
      ".hidden",
      "t:x",
      "file:/etc",
      "t$snapshots",
      "$files",
      "t$branch_x",
      "\xff\xfe",
      "\xc0\xaf",       // '/' in a form that UTF-8 forbids
      "a\xed\xa0\x80",  // half of a surrogate pair
      std::string(201, 'x'),
      std::string(4096, 'x'),
      std::string(1 << 20, '/'),
  };
}

class Names : public GuardedWarehouse {
 protected:
  // Every act that takes a name refuses it, and nothing comes to be.
  void ExpectRefusedEverywhere(const TableIdentifier& name) {
    const TableIdentifier plain{"db", "t"};
    const std::map<std::string, Status> acts = {
        {"create", catalog_.CreateTable(name, Simple()).status()},
        {"open", catalog_.OpenTable(name, Access::kRead).status()},
        {"drop", catalog_.DropTable(name)},
        {"rename from", catalog_.RenameTable(name, plain)},
        {"rename to", catalog_.RenameTable(plain, name)},
    };
    for (const auto& [act, status] : acts) {
      EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid)) << act << " '" << name.database.substr(0, 40) << "' '"
                                                       << name.table.substr(0, 40) << "': " << status;
      EXPECT_LT(status.message().size(), 1000u) << "a message that repeats a name of a megabyte";
    }
  }
};

TEST_F(Names, OfTablesThatLeadElsewhereAreRefusedByEveryAct) {
  Must(catalog_.CreateTable({"db", "t"}, Simple()));
  const auto tree = TreeOf(warehouse_);
  for (const std::string& name : NamesThatAreNone()) ExpectRefusedEverywhere({"db", name});
  EXPECT_EQ(TreeOf(warehouse_), tree);
  EXPECT_TRUE(Untouched());
}

TEST_F(Names, OfDatabasesThatLeadElsewhereAreRefusedByEveryAct) {
  Must(catalog_.CreateTable({"db", "t"}, Simple()));
  const auto tree = TreeOf(warehouse_);
  for (const std::string& name : NamesThatAreNone()) {
    ExpectRefusedEverywhere({name, "t"});
    EXPECT_TRUE(IsKind(catalog_.CreateDatabase(name), ErrorKind::kInvalid));
    EXPECT_TRUE(IsKind(catalog_.DropDatabase(name, true), ErrorKind::kInvalid));
    EXPECT_TRUE(IsKind(catalog_.ListTables(name).status(), ErrorKind::kInvalid));
  }
  for (const Status& status : {catalog_.CreateDatabase("sys"), catalog_.DropDatabase("sys", true)})
    EXPECT_TRUE(IsKind(status, ErrorKind::kInvalid)) << "the system database is not a folder";
  EXPECT_EQ(TreeOf(warehouse_), tree);
  EXPECT_TRUE(Untouched());
}

TEST_F(Names, ThatOnlyLookDangerousAreFoldersOfTheirOwn) {
  for (const std::string name : {"%2e%2e", "%2F", "..%2f..", "branch-x", "snapshot", "schema", "manifest",
                                 "~", "*", "-rf", "été", "表", "a b", "con", "$"}) {
    const bool dollar_or_dot = name.find_first_of("$.") != std::string::npos;
    const auto made = catalog_.CreateTable({"db", name}, Simple());
    ASSERT_EQ(made.ok(), !dollar_or_dot) << name << ": " << made.status();
    if (dollar_or_dot) continue;
    EXPECT_EQ(made->path, warehouse_ + "/db.db/" + name);
    EXPECT_TRUE(std::filesystem::exists(made->path + "/schema/schema-0"));
    EXPECT_TRUE(catalog_.DropTable({"db", name}).ok());
    EXPECT_FALSE(std::filesystem::exists(made->path));
  }
  const std::string longest(200, 'x');
  EXPECT_TRUE(catalog_.CreateTable({longest, longest}, Simple()).ok());
  EXPECT_THAT(Must(catalog_.ListTables(longest)), ElementsAre(longest));
  EXPECT_TRUE(Untouched());
}

TEST_F(Names, OfJobsThatLeadElsewhereWriteAndDeleteNoConsumer) {
  const Table table = Must(catalog_.CreateTable({"db", "t"}, Simple()));
  Must(store_->PublishIfAbsent(table.path + "/consumer/consumer-other", R"({"nextSnapshot":1})"));
  std::vector<std::string> jobs = NamesThatAreNone();
  jobs.insert(jobs.end(),
              {"../consumer-other", "/../../consumer/consumer-other", "x/../../consumer-other", "é"});
  const auto tree = TreeOf(table.path);
  for (const std::string& job : jobs) {
    // Dots and letters alone are a legal job name, which stands behind a prefix.
    if (job == "t.db" || std::all_of(job.begin(), job.end(), [](char c) { return c == 'x'; })) continue;
    EXPECT_TRUE(IsKind(ingest::CheckJobName(job), ErrorKind::kInvalid)) << job.substr(0, 40);
    EXPECT_TRUE(IsKind(ingest::KeepSnapshot(table, job, SnapshotId(1)), ErrorKind::kInvalid))
        << job.substr(0, 40);
    EXPECT_TRUE(ingest::ReleaseSnapshot(table, job).ok());
  }
  EXPECT_EQ(TreeOf(table.path), tree);
  EXPECT_TRUE(Untouched());
}

TEST_F(Names, OfJobsThatASnapshotTellsOfCanBeDroppedWithoutDeletingElsewhere) {
  const Table table = Must(catalog_.CreateTable({"db", "t"}, Simple()));
  Must(store_->PublishIfAbsent(table.path + "/consumer/consumer-other", R"({"nextSnapshot":1})"));
  const std::string job = "x/../../consumer/consumer-other";
  PreparedCommit commit;
  commit.user = "stranger";
  commit.properties[ingest::PositionKey(job)] = ingest::SerializePosition({});
  commit.commit_when_empty = true;
  Must(Commit(table, commit));
  ASSERT_EQ(Must(ingest::ListJobs(table)).size(), 1u);
  EXPECT_TRUE(ingest::DropJob(table, job).ok());
  EXPECT_THAT(Must(ingest::ListJobs(table)), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(table.path + "/consumer/consumer-other"));
  EXPECT_TRUE(Untouched());
}

class Links : public GuardedWarehouse {
 protected:
  // A table that lies outside the warehouse, with a row.
  Table MakeElsewhere() {
    Catalog other(store_, clock_, root_ + "/other");
    Table table = Must(other.CreateTable({"db", "t"}, Simple()));
    Write(table);
    return table;
  }

  static void Write(const Table& table) {
    MemoryBudget budget(8 << 20);
    const auto session = Must(WriteSession::Open(
        table, {.commit_user = "u", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
    ASSERT_TRUE(testing::WriteRows(session.get(), table, {{1, 10}}).ok());
    Must(testing::CommitRows(session.get(), 1));
  }
};

TEST_F(Links, ALinkedTableIsReadAndWrittenButNotDropped) {
  const Table real = MakeElsewhere();
  ASSERT_TRUE(catalog_.CreateDatabase("db").ok());
  std::filesystem::create_directory_symlink(real.path, warehouse_ + "/db.db/linked");
  const Table linked = Must(catalog_.OpenTable({"db", "linked"}, Access::kWrite));
  EXPECT_EQ(testing::ReadByKey(linked), (IntRows{{1, 10}}));
  Write(linked);

  TakeAsItIs();
  const Status refused = catalog_.DropTable({"db", "linked"});
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("symbolic link"));
  EXPECT_THAT(refused.message(), HasSubstr("/db.db/linked"));
  EXPECT_TRUE(Untouched()) << "half a table was deleted through the link";
  EXPECT_EQ(testing::ReadByKey(real), (IntRows{{1, 10}}));

  const Status cascade = catalog_.DropDatabase("db", true);
  EXPECT_TRUE(IsKind(cascade, ErrorKind::kInvalid)) << cascade;
  EXPECT_TRUE(Untouched());
}

TEST_F(Links, ACascadeThatMeetsALinkDropsNoneOfTheTables) {
  const Table real = MakeElsewhere();
  Must(catalog_.CreateTable({"db", "a"}, Simple()));
  std::filesystem::create_directory_symlink(real.path, warehouse_ + "/db.db/linked");
  EXPECT_TRUE(IsKind(catalog_.DropDatabase("db", true), ErrorKind::kInvalid));
  EXPECT_THAT(Must(catalog_.ListTables("db")), ElementsAre("a", "linked"));
}

TEST_F(Links, ALinkedDatabaseIsNotDropped) {
  const Table real = MakeElsewhere();
  std::filesystem::create_directory_symlink(root_ + "/other/db.db", warehouse_ + "/db.db");
  TakeAsItIs();
  EXPECT_TRUE(IsKind(catalog_.DropDatabase("db", true), ErrorKind::kInvalid));
  EXPECT_TRUE(Untouched());
  // Its tables are whole folders of their own: dropping one takes it wholly away.
  EXPECT_TRUE(catalog_.DropTable({"db", "t"}).ok());
  EXPECT_FALSE(std::filesystem::exists(real.path));
}

TEST_F(Links, InsideATableAreDeletedAndNotFollowed) {
  const Table table = Must(catalog_.CreateTable({"db", "t"}, Simple()));
  Write(table);
  std::filesystem::create_directory_symlink(root_ + "/elsewhere", table.path + "/bucket-7");
  std::filesystem::create_directory_symlink(root_ + "/elsewhere/snapshot", table.path + "/tag");
  std::filesystem::create_symlink(Elsewhere("precious"), table.path + "/README");
  EXPECT_TRUE(catalog_.DropTable({"db", "t"}).ok());
  EXPECT_FALSE(std::filesystem::exists(table.path));
  EXPECT_TRUE(Untouched());
}

TEST_F(Links, ThatLeadNowhereOrToThemselvesAreNoTables) {
  ASSERT_TRUE(catalog_.CreateDatabase("db").ok());
  std::filesystem::create_directory_symlink(root_ + "/nowhere", warehouse_ + "/db.db/gone");
  std::filesystem::create_directory_symlink(warehouse_ + "/db.db/loop", warehouse_ + "/db.db/loop");
  EXPECT_THAT(Must(catalog_.ListTables("db")), IsEmpty());
  EXPECT_TRUE(IsKind(catalog_.OpenTable({"db", "gone"}, Access::kRead).status(), ErrorKind::kNotFound));
  EXPECT_FALSE(catalog_.OpenTable({"db", "loop"}, Access::kRead).ok());
  EXPECT_FALSE(catalog_.DropTable({"db", "loop"}).ok());
}

}  // namespace
}  // namespace headrace::hostile
