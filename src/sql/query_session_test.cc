// Queries over relations made of batches: rows, types, one state a statement, errors with their kinds, interruption.
#include "sql/query_session.h"

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<arrow::RecordBatch> Numbers(int64_t from, int64_t to) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder names;
  for (int64_t i = from; i < to; ++i) {
    EXPECT_TRUE(numbers.Append(i).ok());
    EXPECT_TRUE((i % 7 == 0 ? names.AppendNull() : names.Append("n" + std::to_string(i))).ok());
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8())}), to - from,
      {numbers.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
}

// Gives a batch so often, after a while each time, or an error in the end.
class Repeated final : public arrow::RecordBatchReader {
 public:
  Repeated(std::shared_ptr<arrow::RecordBatch> batch, int times, Status end,
           std::chrono::milliseconds wait = {})
      : batch_(std::move(batch)), times_(times), end_(std::move(end)), wait_(wait) {}
  std::shared_ptr<arrow::Schema> schema() const override { return batch_->schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    std::this_thread::sleep_for(wait_);
    *out = times_-- > 0 ? batch_ : nullptr;
    return *out == nullptr ? end_ : Status::OK();
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
  int times_;
  Status end_;
  std::chrono::milliseconds wait_;
};

class BatchRelation final : public Relation {
 public:
  BatchRelation(std::shared_ptr<arrow::RecordBatch> batch, int pieces, int times, Status end,
                std::chrono::milliseconds wait)
      : batch_(std::move(batch)),
        schema_(batch_->schema()),
        pieces_(pieces),
        times_(times),
        end_(std::move(end)),
        wait_(wait) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                            const std::vector<ColumnCondition>&) override {
    HEADRACE_ASSIGN_OR_RETURN(const auto batch, batch_->SelectColumns(columns));
    std::vector<RelationPiece> pieces;
    for (int i = 0; i < pieces_; ++i) {
      pieces.push_back([this, batch]() -> Result<std::unique_ptr<arrow::RecordBatchReader>> {
        return std::make_unique<Repeated>(batch, times_, end_, wait_);
      });
    }
    return pieces;
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::shared_ptr<arrow::Schema> schema_;
  int pieces_;
  int times_;
  Status end_;
  std::chrono::milliseconds wait_;
};

// Tables of one database, db, and how often each was opened.
class TestRelations final : public Relations {
 public:
  Result<std::shared_ptr<Relation>> Open(const RelationName& name) override {
    ++opened[name.table];
    if (name.database != "db") return NotFound("there is no database ", name.database);
    if (name.table == "numbers") return Make(Numbers(0, 5000), 4, 2);
    if (name.table == "odd Name") return Make(Numbers(0, 10), 1, 1);
    if (name.table == "NUMBERS") return Make(Numbers(0, 1), 1, 1);
    if (name.table == "growing") return Make(Numbers(0, opened[name.table]), 1, 1);
    if (name.table == "damaged") return Make(Numbers(0, 10), 1, 1, Corruption("file x.parquet is damaged"));
    if (name.table == "slow")
      return Make(Numbers(0, 10), 1, 1000000, Status::OK(), std::chrono::milliseconds(5));
    return NotFound("there is no table ", name.table);
  }

  std::map<std::string, int> opened;

 private:
  static std::shared_ptr<Relation> Make(std::shared_ptr<arrow::RecordBatch> batch, int pieces, int times,
                                        Status end = Status::OK(), std::chrono::milliseconds wait = {}) {
    return std::make_shared<BatchRelation>(std::move(batch), pieces, times, std::move(end), wait);
  }
};

class QuerySessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto session = QuerySession::Open(
        {.memory_bytes = 256 << 20, .threads = 2, .spill_directory = ::testing::TempDir()}, &relations_);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = std::move(session).ValueUnsafe();
  }

  Status Run(std::string_view sql, std::shared_ptr<arrow::RecordBatch>* out) {
    HEADRACE_ASSIGN_OR_RETURN(const QuerySession::Answer answer, session_->Query(sql));
    HEADRACE_ASSIGN_OR_RETURN(const auto table, answer.rows->ToTable());
    HEADRACE_ASSIGN_OR_RETURN(*out, table->CombineChunksToBatch());
    return Status::OK();
  }
  std::string Text(std::string_view sql) {
    std::shared_ptr<arrow::RecordBatch> batch;
    const Status status = Run(sql, &batch);
    if (!status.ok()) return status.ToString();
    std::string text;
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      for (int column = 0; column < batch->num_columns(); ++column)
        text += (column == 0 ? (row == 0 ? "" : "; ") : ", ") +
                batch->column(column)->GetScalar(row).ValueOrDie()->ToString();
    }
    return text;
  }

  TestRelations relations_;
  std::unique_ptr<QuerySession> session_;
};

TEST_F(QuerySessionTest, ReadsAllPiecesOfARelationWithTheColumnsThatAreAskedFor) {
  EXPECT_EQ(Text("SELECT count(*), sum(id), count(name) FROM db.numbers"), "40000, 99980000, 34280");
  EXPECT_EQ(Text("SELECT name FROM db.numbers WHERE id = 4999 GROUP BY name"), "n4999");
  EXPECT_EQ(Text("SELECT db.numbers.id, n.name FROM db.numbers, db.numbers AS n WHERE numbers.id = 8 AND "
                 "n.id = 7 LIMIT 1"),
            "8, null");
}

TEST_F(QuerySessionTest, OpensARelationOnceAStatement) {
  EXPECT_EQ(Text("SELECT (SELECT count(*) FROM db.growing), (SELECT count(*) FROM paimon('db.growing')), "
                 "count(*) FROM db.growing"),
            "1, 1, 1");
  EXPECT_EQ(Text("SELECT count(*) FROM db.growing"), "2");
  EXPECT_EQ(relations_.opened["growing"], 2);
}

TEST_F(QuerySessionTest, KnowsNamesOfQueriesAndOfItsOwnThings) {
  EXPECT_EQ(Text("WITH numbers AS (SELECT 1 AS a) SELECT * FROM numbers"), "1");
  EXPECT_EQ(Text("CREATE TEMP VIEW few AS SELECT * FROM db.numbers WHERE id < 3"), "");
  EXPECT_EQ(Text("SELECT count(*) FROM few"), "24");
  EXPECT_THAT(Text("EXPLAIN SELECT count(*) FROM db.growing"), HasSubstr("PAIMON"));
  const std::string file = ::testing::TempDir() + "headrace-copied.csv";
  EXPECT_EQ(Text("COPY (SELECT id FROM db.growing) TO '" + file + "'"), "2");
  EXPECT_EQ(Text("SELECT count(*) FROM '" + file + "'"), "2");
  ASSERT_TRUE(session_->Use("db").ok());
  EXPECT_EQ(Text("SELECT count(*) FROM growing"), "3");
}

// DuckDB does not tell the tables of these before they are there.
TEST_F(QuerySessionTest, FindsTheTablesOfQueriesThatDependOnTheirColumns) {
  for (const char* query : {"SELECT count(*) > 0 FROM db.numbers JOIN db.numbers AS b USING (id)",
                            "SELECT count(*) > 0 FROM db.numbers NATURAL JOIN db.numbers AS b",
                            "SELECT count(*) > 0 FROM (SELECT COLUMNS('n.*') FROM db.numbers)",
                            "SELECT count(*) > 0 FROM db.numbers WHERE name COLLATE NOCASE = 'N5'",
                            "SELECT count(*) > 0 FROM db.\"numbers\" AS b",
                            "SELECT count(*) > 0 FROM db.\"odd Name\" AS b, db.growing"}) {
    SetUp();
    EXPECT_EQ(Text(query), "true") << query;
  }
}

TEST_F(QuerySessionTest, ReadsNoTableForAnotherWhoseNameDiffersInCase) {
  EXPECT_THAT(Text("SELECT * FROM db.numbers, db.\"NUMBERS\" AS b"), HasSubstr("differ only in case"));
  EXPECT_EQ(Text("SELECT count(*) FROM db.\"NUMBERS\""), "1");
  EXPECT_EQ(Text("SELECT count(*) FROM db.numbers"), "40000");
  EXPECT_EQ(Text("SELECT count(*) FROM db.numbers, paimon('db.NUMBERS')"), "40000");
  EXPECT_EQ(Text("CREATE TEMP VIEW few AS SELECT * FROM db.numbers WHERE id < 3"), "");
  EXPECT_THAT(Text("SELECT count(*) FROM db.\"NUMBERS\""), HasSubstr("differ only in case"));
  EXPECT_EQ(Text("SELECT count(*) FROM few"), "24");
}

TEST_F(QuerySessionTest, GivesValuesOfWhatPaimonHasNoTypeForAsText) {
  EXPECT_EQ(Text("SELECT 300::UTINYINT"), Text("SELECT 300::UTINYINT"));
  const auto fields = session_->Describe(
      "SELECT 1::UTINYINT a, 2::UBIGINT b, interval 2 hour c, TIME '10:00:00' d, 1::HUGEINT e, [1] f");
  ASSERT_TRUE(fields.ok()) << fields.status();
  std::string types;
  for (const DataField& field : *fields) types += field.name + " " + ToSql(field.type) + ", ";
  EXPECT_EQ(types, "a SMALLINT, b DECIMAL(20, 0), c STRING, d TIME(3), e DECIMAL(38, 0), f ARRAY<INT>, ");
  EXPECT_EQ(Text("SELECT interval 2 hour AS c, 18446744073709551615::UBIGINT AS b"),
            "02:00:00, 18446744073709551615");
  EXPECT_THAT(Text("SELECT TIME '10:00:00.000001' AS t"),
              HasSubstr("column t of the result does not fit TIME(3)"));
}

TEST_F(QuerySessionTest, TellsAnErrorWithItsKindAndGoesOn) {
  std::shared_ptr<arrow::RecordBatch> batch;
  EXPECT_EQ(KindOf(Run("SELECT sum(id) FROM db.damaged", &batch)), ErrorKind::kCorruption);
  EXPECT_EQ(KindOf(Run("SELECT * FROM db.missing", &batch)), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(Run("SELECT * FROM paimon('missing')", &batch)), ErrorKind::kInvalid);
  EXPECT_THAT(Text("SELECT * FROM paimon(NULL)"), HasSubstr("'database.table'"));
  EXPECT_THAT(Text("SELECT nothing FROM db.numbers"), HasSubstr("nothing"));
  EXPECT_THAT(Text("SELEC 1"), HasSubstr("syntax error"));
  EXPECT_EQ(Text("SELECT 1"), "1");
}

TEST_F(QuerySessionTest, RefusesWhatItWouldNotKeep) {
  for (const char* sql : {"CREATE VIEW v AS SELECT 1", "CREATE SCHEMA s", "BEGIN",
                          "ATTACH ':memory:' AS other", "PREPARE p AS SELECT 1"}) {
    std::shared_ptr<arrow::RecordBatch> batch;
    EXPECT_EQ(KindOf(Run(sql, &batch)), ErrorKind::kUnsupported) << sql;
  }
}

// Wherever it is just then: in the views, in binding, in running.
TEST_F(QuerySessionTest, IsInterruptedFromAnotherThread) {
  for (const int every_ms : {1, 2, 5, 30}) {
    std::atomic<bool> done = false;
    std::thread other([&] {
      while (!done) {
        std::this_thread::sleep_for(std::chrono::milliseconds(every_ms));
        session_->Interrupt();
      }
    });
    std::shared_ptr<arrow::RecordBatch> batch;
    const Status status = Run("SELECT sum(id) FROM db.slow", &batch);
    done = true;
    other.join();
    EXPECT_EQ(KindOf(status), ErrorKind::kCancelled) << every_ms << ": " << status;
    EXPECT_EQ(Text("SELECT 1"), "1");
  }
}

}  // namespace
}  // namespace headrace
