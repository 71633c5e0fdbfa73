// Writers beside a change of the schema: files name the schema they were written with, and no compaction drops a column it does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/schema_log.h"
#include "write/test_sessions.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using testing::CommitRows;
using ::testing::HasSubstr;
using testing::IntRows;
using testing::MakeTestTable;
using testing::Must;
using testing::Reopened;
using testing::Row;
using testing::ScanById;
using testing::WriteRows;

// The schemas of the live files, in the order of their ids.
std::multiset<int64_t> SchemasOfFiles(const Table& table) {
  std::multiset<int64_t> ids;
  for (const ManifestEntry& entry : Must(LiveFiles(table, *Must(ReadLatestSnapshot(table)))))
    ids.insert(entry.file.schema_id.value);
  return ids;
}

// Rows of "id, v" with a third column, which is always 7.
std::shared_ptr<arrow::RecordBatch> WiderBatchOf(const Table& table, const std::vector<Row>& rows) {
  arrow::Int32Builder ids, values, more;
  for (const Row& row : rows)
    if (!ids.Append(row.id).ok() || !values.Append(*row.v).ok() || !more.Append(7).ok()) std::abort();
  return arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields), static_cast<int64_t>(rows.size()),
                                  {Must(ids.Finish()), Must(values.Finish()), Must(more.Finish())});
}

// The third column by id.
IntRows ThirdById(const Table& table) {
  IntRows rows;
  const auto reader = Must(OpenScan(table, *Must(ReadLatestSnapshot(table)), {}));
  std::shared_ptr<arrow::RecordBatch> batch;
  while (reader->ReadNext(&batch).ok() && batch != nullptr) {
    const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
    const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(2));
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      rows[ids.Value(i)] = values.IsNull(i) ? std::nullopt : std::optional(values.Value(i));
  }
  return rows;
}

class AlteredTableCase : public testing::SessionCase {};
class Written : public AlteredTableCase,
                public ::testing::WithParamInterface<std::map<std::string, std::string>> {};

TEST_P(Written, ByAnOlderSchemaAfterTheChangeIsReadInTheNewOneAndRewrittenByIt) {
  std::map<std::string, std::string> options = {{"bucket", "1"}};
  options.insert(GetParam().begin(), GetParam().end());
  const Table old = MakeTestTable("id INT, v INT", {"id"}, options).table;
  const auto running = Open(old, "running");
  ASSERT_TRUE(WriteRows(running.get(), old, {{1, 10}, {2, 20}, {3, 30}}).ok());
  Must(CommitRows(running.get(), 1));
  Must(AlterSchema(old, {AddColumn{{"more"}, "INT"}}));

  // It meets only files of its own schema, and goes on; the snapshot names the table's newest.
  ASSERT_TRUE(WriteRows(running.get(), old, {{2, 21}, {3, 0, 3}}).ok());
  Must(CommitRows(running.get(), 2));
  EXPECT_EQ(Must(ReadLatestSnapshot(old))->schema_id, SchemaId(1));
  EXPECT_THAT(SchemasOfFiles(old), ::testing::Each(0));
  const Table now = Reopened(old, old.store);
  EXPECT_EQ(ScanById(now), (IntRows{{1, 10}, {2, 21}}));
  EXPECT_EQ(ThirdById(now), (IntRows{{1, std::nullopt}, {2, std::nullopt}}));

  // A writer of the new schema compacts old files into it.
  const auto fresh = Open(now, "fresh");
  ASSERT_TRUE(fresh->Write(WiderBatchOf(now, {{4, 40}, {1, 11}}), nullptr).ok());
  Must(CommitRows(fresh.get(), 1));
  ASSERT_TRUE(fresh->Compact(/*full=*/true).ok());
  Must(CommitRows(fresh.get(), 2));
  EXPECT_THAT(SchemasOfFiles(now), ::testing::Each(1));
  EXPECT_EQ(ScanById(now), (IntRows{{1, 11}, {2, 21}, {4, 40}}));
  EXPECT_EQ(ThirdById(now), (IntRows{{1, 7}, {2, std::nullopt}, {4, 7}}));

  // The old writer would drop the column from here on.
  Status refused;
  for (int64_t commit = 3; commit < 5 && refused.ok(); ++commit) {
    refused = WriteRows(running.get(), old, {{5, 50}});
    if (refused.ok()) refused = CommitRows(running.get(), commit).status();
  }
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid)) << refused;
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("bucket 0 has files of schema 1"),
                                       HasSubstr("than schema 0"), HasSubstr("open the table again")));
  EXPECT_EQ(ThirdById(now).at(1), 7);
  EXPECT_EQ(ThirdById(now).at(4), 7);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, Written,
    ::testing::Values(std::map<std::string, std::string>{},
                      std::map<std::string, std::string>{{"changelog-producer", "lookup"}},
                      std::map<std::string, std::string>{{"changelog-producer", "full-compaction"}},
                      std::map<std::string, std::string>{{"deletion-vectors.enabled", "true"}}));

TEST_F(AlteredTableCase, AWriteOnlyWriterOfAnOlderSchemaGoesOnBesideNewerFiles) {
  const Table old = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}, {"write-only", "true"}}).table;
  const auto running = Open(old, "running");
  Must(AlterSchema(old, {AddColumn{{"more"}, "INT"}}));
  const Table now = Reopened(old, old.store);
  const auto fresh = Open(now, "fresh");
  ASSERT_TRUE(fresh->Write(WiderBatchOf(now, {{1, 10}, {2, 20}}), nullptr).ok());
  Must(CommitRows(fresh.get(), 1));
  ASSERT_TRUE(WriteRows(running.get(), old, {{2, 21}}).ok());
  Must(CommitRows(running.get(), 1));
  EXPECT_EQ(ThirdById(now), (IntRows{{1, 7}, {2, std::nullopt}}));
}

TEST_F(AlteredTableCase, OptionsAloneStopNoWriter) {
  const Table old = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const auto running = Open(old, "running");
  Must(AlterSchema(old, {SetOption{"num-sorted-run.compaction-trigger", "3"}}));
  const Table now = Reopened(old, old.store);
  const auto fresh = Open(now, "fresh");
  ASSERT_TRUE(WriteRows(fresh.get(), now, {{1, 10}}).ok());
  Must(CommitRows(fresh.get(), 1));
  ASSERT_TRUE(WriteRows(running.get(), old, {{2, 20}}).ok());
  Must(CommitRows(running.get(), 1));
  EXPECT_EQ(ScanById(now), (IntRows{{1, 10}, {2, 20}}));
}

// Files have key columns by the names of their time.
TEST_F(AlteredTableCase, AColumnRenamedAndAKeyRenamedKeepTheirValues) {
  const Table old = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  {
    const auto session = Open(old, "a");
    ASSERT_TRUE(WriteRows(session.get(), old, {{1, 10}, {2, 20}, {3, 30}}).ok());
    Must(CommitRows(session.get(), 1));
  }
  Must(AlterSchema(old, {RenameColumn{{"id"}, "key"}, RenameColumn{{"v"}, "id"}}));
  const Table now = Reopened(old, old.store);
  EXPECT_EQ(ScanById(now), (IntRows{{1, 10}, {2, 20}, {3, 30}}));
  const auto session = Open(now, "b");
  ASSERT_TRUE(WriteRows(session.get(), now, {{2, 22}, {4, 40}, {3, 0, 3}}).ok());
  Must(CommitRows(session.get(), 1));
  EXPECT_EQ(ScanById(now), (IntRows{{1, 10}, {2, 22}, {4, 40}}));
  ASSERT_TRUE(session->Compact(/*full=*/true).ok());
  Must(CommitRows(session.get(), 2));
  EXPECT_EQ(ScanById(now), (IntRows{{1, 10}, {2, 22}, {4, 40}}));
}

}  // namespace
}  // namespace headrace
