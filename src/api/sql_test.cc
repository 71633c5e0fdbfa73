// SQL over tables: what conditions leave unread changes no answer, and one statement sees one snapshot.
#include "headrace/sql.h"

#include <filesystem>

#include <unistd.h>

#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "headrace/check.h"
#include "pipeline/row_conditions.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SqlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(arrow::compute::Initialize().ok());
    folder_ = std::filesystem::path(::testing::TempDir()) / ("headrace-sql-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    EngineOptions options;
    options.warehouse = folder_.string();
    options.durable = false;
    engine_ = Engine::Open(options).ValueOrDie();
    sql_ = Sql::Open(engine_.get(), {}).ValueOrDie();
  }
  void TearDown() override {
    sql_.reset();
    engine_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Do(const std::string& statement) {
    const auto answer = sql_->Execute(statement);
    ASSERT_TRUE(answer.ok()) << statement << "\n" << answer.status();
  }

  // Rows as text, in their order; an error as its text.
  std::string Ask(const std::string& query) {
    auto answer = sql_->Execute(query);
    if (!answer.ok()) return answer.status().ToString();
    const auto table = answer->rows->ToTable();
    if (!table.ok()) return table.status().ToString();
    const auto batch = (*table)->CombineChunksToBatch().ValueOrDie();
    std::string text;
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      for (int i = 0; i < batch->num_columns(); ++i)
        text += (i == 0 ? "" : ",") + batch->column(i)->GetScalar(row).ValueOrDie()->ToString();
      text += ";";
    }
    return text;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Sql> sql_;
};

// One condition on one of the columns k BIGINT, day DATE, s STRING, n INT, d DECIMAL(10, 2), t TIMESTAMP(3).
std::string RandomCondition(Random* random) {
  static constexpr const char* kCompare[] = {" = ", " < ", " <= ", " > ", " >= "};
  const std::string compare = kCompare[random->Below(5)];
  const auto number = [&] { return std::to_string(static_cast<int64_t>(random->Below(60)) - 5); };
  const auto day = [&] { return "'2024-01-0" + std::to_string(1 + random->Below(6)) + "'"; };
  switch (random->Below(11)) {
    case 0: return "k" + compare + number();
    case 1: return "k IN (" + number() + ", " + number() + ")";
    case 2: return "day" + compare + day();
    case 3: return "day BETWEEN DATE " + day() + " AND " + day();
    case 4: return "s" + compare + "'v" + number() + "'";
    case 5: return "n" + compare + number() + ".0";
    case 6: return number() + compare + "n";
    case 7: return "d" + compare + number() + ".25";
    case 8:
      return "t" + compare + "TIMESTAMP '2024-01-03 00:00:" + std::to_string(10 + random->Below(50)) + "'";
    case 9: return random->Below(2) == 0 ? "n IS NULL" : "s IS NOT NULL";
    default: return "(k" + compare + number() + " OR n" + compare + number() + ")";
  }
}

class PrunedTables : public SqlTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PrunedTables, GiveTheSameRowsWithAndWithoutConditionsInTheScan) {
  Random random(20261130);
  Do(std::string("CREATE TABLE db.t (k BIGINT, day DATE, s STRING, n INT, d DECIMAL(10, 2), t TIMESTAMP(3)") +
     GetParam());
  for (int commit = 0; commit < 12; ++commit) {
    const std::string from = std::to_string(random.Below(40));
    Do("INSERT INTO db.t SELECT k, DATE '2024-01-01' + CAST(k % 4 AS INTEGER), CASE WHEN k % 7 <> 0 THEN 'v' "
       "|| (k + " +
       from + ") % 50 END, CASE WHEN k % 5 <> 1 THEN k - " + std::to_string(commit) +
       " END, k * 1.25, TIMESTAMP '2024-01-03 00:00:00' + INTERVAL (k) SECOND "
       "FROM (SELECT range AS k FROM range(" +
       from + ", " + from + " + 8))");
    if (commit % 4 == 3 && std::string(GetParam()).find("PRIMARY") != std::string::npos) {
      Do("DELETE FROM db.t WHERE k % 9 = " + std::to_string(commit));
    }
    if (commit == 7) {
      ASSERT_TRUE(engine_->OpenTable("db.t").ValueOrDie()->Compact(true).ok());
    }
  }
  for (int i = 0; i < 60; ++i) {
    std::string condition = RandomCondition(&random);
    while (random.Below(3) != 0) condition += " AND " + RandomCondition(&random);
    const std::string rest = " WHERE " + condition + " ORDER BY ALL";
    EXPECT_EQ(Ask("SELECT * FROM db.t" + rest), Ask("SELECT * FROM (SELECT * FROM db.t)" + rest))
        << condition;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PrunedTables,
    ::testing::Values(
        ", PRIMARY KEY (k, day) NOT ENFORCED) PARTITIONED BY (day) WITH ('bucket'='2', "
        "'num-sorted-run.compaction-trigger'='3')",
        ", PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='3', 'write-only'='true')",
        ", PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='2', 'deletion-vectors.enabled'='true')",
        ") PARTITIONED BY (day) WITH ('bucket'='-1')", ") WITH ('bucket'='2', 'bucket-key'='k')"));

TEST_F(SqlTest, ReadsOnlyTheFilesThatConditionsLeave) {
  Do("CREATE TABLE db.t (k BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='4', "
     "'write-only'='true')");
  for (int i = 0; i < 4; ++i)
    Do("INSERT INTO db.t SELECT range, " + std::to_string(i) + " FROM range(" + std::to_string(i * 100) +
       ", " + std::to_string(i * 100 + 100) + ")");
  // Every file that is read is there; the others may be missing.
  const auto files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.path().extension() == ".parquet") found.push_back(entry.path());
    }
    return found;
  };
  EXPECT_EQ(Ask("SELECT v FROM db.t WHERE k = 250"), "2;");
  ASSERT_EQ(files().size(), 16u);
  // One commit and one bucket hold the key: fifteen files are not looked at.
  int missed = 0;
  for (const auto& file : files()) {
    const std::filesystem::path aside = file.string() + ".aside";
    std::filesystem::rename(file, aside);
    missed += Ask("SELECT v FROM db.t WHERE k = 250") != "2;";
    std::filesystem::rename(aside, file);
  }
  EXPECT_EQ(missed, 1);
  EXPECT_EQ(Ask("SELECT count(*) FROM db.t WHERE k >= 300"), "100;");
}

TEST_F(SqlTest, SaysWhichTableWasMeant) {
  Do("CREATE TABLE plant.devices (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')");
  for (const char* statement :
       {"SELECT * FROM plant.devcies", "SELECT count(*) FROM changes('plant.devcies')",
        "INSERT INTO plant.devcies VALUES (1)", "DELETE FROM plant.devcies"})
    EXPECT_THAT(Ask(statement), HasSubstr("did you mean plant.devices?")) << statement;
  EXPECT_THAT(CheckTable(engine_.get(), "plant.devcies", {}).status().message(),
              HasSubstr("did you mean plant.devices?"));
  EXPECT_THAT(Ask("SELECT * FROM devices"),
              testing::AllOf(HasSubstr("There is plant.devices: write the database"), Not(HasSubstr("pg_"))));
  EXPECT_THAT(Ask("SELECT * FROM devcies"), HasSubstr("Did you mean plant.devices?"));
  EXPECT_THAT(Ask("SELECT * FROM measured"),
              testing::AllOf(HasSubstr("No database has a table of that name"), Not(HasSubstr("pg_"))));
  Do("USE plant");
  EXPECT_THAT(Ask("SELECT * FROM devcies"), HasSubstr("Did you mean devices?"));
}

TEST_F(SqlTest, PassesNoConditionOfATableThatIsNamedMoreThanOnce) {
  Do("CREATE TABLE db.t (k BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='1', "
     "'write-only'='true')");
  for (int i = 0; i < 3; ++i)
    Do("INSERT INTO db.t VALUES (" + std::to_string(i) + ", " + std::to_string(i * 10) + ")");
  EXPECT_EQ(Ask("SELECT k, (SELECT count(*) FROM db.t) FROM db.t WHERE k = 1"), "1,3;");
  EXPECT_EQ(Ask("SELECT (SELECT count(*) FROM paimon('db.t')) FROM db.t WHERE k = 1"), "3;");
  EXPECT_EQ(Ask("WITH one AS (SELECT * FROM db.t WHERE k = 1) SELECT count(*) FROM one, db.t AS a"), "3;");
  Do("CREATE TEMP VIEW everything AS SELECT * FROM db.t");
  EXPECT_EQ(Ask("SELECT (SELECT count(*) FROM everything) FROM db.t WHERE k = 1"), "3;");
}

TEST_F(SqlTest, TellsDamageFromASnapshotThatMayBeExpiring) {
  Do("CREATE TABLE db.t (k INT) WITH ('bucket'='-1')");
  Do("INSERT INTO db.t VALUES (1)");
  const auto remove = [&](const std::string& beginning) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.path().filename().string().rfind(beginning, 0) == 0) found.push_back(entry.path());
    }
    for (const auto& path : found) std::filesystem::remove(path);
  };
  remove("data-");
  EXPECT_EQ(KindOf(sql_->Execute("SELECT * FROM db.t").status()), ErrorKind::kCorruption);
  EXPECT_THAT(Ask("SELECT * FROM db.t"), Not(HasSubstr("expiry")));
  Do("INSERT INTO db.t VALUES (2)");
  EXPECT_THAT(Ask("SELECT * FROM paimon('db.t', snapshot => 1)"),
              HasSubstr("unless an expiry is ending this snapshot"));
  remove("manifest-");
  EXPECT_THAT(Ask("SELECT * FROM paimon('db.t', snapshot => 1)"),
              HasSubstr("unless an expiry is ending this snapshot"));
}

TEST_F(SqlTest, CutsTimesToWhatTheirColumnsHold) {
  Do("CREATE TABLE db.t (k INT, ts TIMESTAMP(0), l TIMESTAMP_LTZ(3), t0 TIME(0), t3 TIME(3), r ROW<a "
     "TIMESTAMP(0)>, v INT, "
     "PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='1')");
  Do("INSERT INTO db.t VALUES (1, TIMESTAMP '2024-01-05 08:00:00.2', TIMESTAMPTZ '2024-01-05 "
     "08:00:00.123456+00', "
     "TIME '10:11:12.7', TIME '10:11:12.123999', {'a': TIMESTAMP '2024-01-05 08:00:00'}, 0)");
  const std::string row = "SELECT ts::VARCHAR, epoch_us(l)::VARCHAR, t0::VARCHAR, t3::VARCHAR FROM db.t";
  const std::string is = "2024-01-05 08:00:00,1704441600123000,10:11:12,10:11:12.123;";
  EXPECT_EQ(Ask(row), is);
  Do("UPDATE db.t SET v = 1");
  Do("UPDATE db.t SET ts = ts, l = l, t0 = t0, t3 = t3, r = r");
  EXPECT_EQ(Ask(row), is);
}

TEST_F(SqlTest, TakesNoTextOrBytesLongerThanTheirColumn) {
  Do("CREATE TABLE db.t (k INT, c CHAR(2), v VARCHAR(3), b BINARY(2), w VARBINARY(3), PRIMARY KEY (k) NOT "
     "ENFORCED) "
     "WITH ('bucket'='1')");
  Do("INSERT INTO db.t VALUES (1, 'ab', 'éüß', 'ab'::BLOB, 'abc'::BLOB)");
  for (const char* set : {"c = 'abc'", "v = 'éüßx'", "b = 'abc'::BLOB", "w = 'abcd'::BLOB"})
    EXPECT_THAT(Ask(std::string("UPDATE db.t SET ") + set), HasSubstr("does not fit column")) << set;
  EXPECT_THAT(Ask("INSERT INTO db.t (k, v) VALUES (2, 'abcd')"), HasSubstr("it has 4 characters"));
  EXPECT_EQ(Ask("SELECT k, v FROM db.t"), "1,éüß;");
}

TEST_F(SqlTest, PassesNoConditionThatDuckDBReadsOtherwise) {
  Do("CREATE TABLE db.t (s STRING, t TIMESTAMP(9)) WITH ('bucket'='-1')");
  Do("INSERT INTO db.t VALUES ('2024-1-5', TIMESTAMP_NS '2024-01-05 08:00:00.123456789')");
  for (const char* condition :
       {"s = DATE '2024-01-05'", "t >= CAST('2024-01-05 10:00:00' AS DATE)",
        "t > TIMESTAMP '2024-01-05 08:00:00.123456789'", "t < CAST('2024-01-05 08:00:01' AS TIMESTAMP_NS)"})
    EXPECT_EQ(Ask(std::string("SELECT count(*) FROM db.t WHERE ") + condition), "1;") << condition;
  Do("INSERT INTO db.t VALUES ('ABC', NULL)");
  Do("SET default_collation = 'NOCASE'");
  EXPECT_EQ(Ask("SELECT s FROM db.t WHERE s = 'abc'"), "ABC;");
}

TEST_F(SqlTest, ChangesRowsAsTheTablesOptionsMeanAndNotAsTheyAreSpelled) {
  const auto create = [&](const std::string& options) {
    Do("CREATE TABLE db.t (k BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket'='1', " + options +
       ")");
    Do("INSERT INTO db.t VALUES (1, 1)");
  };
  create("'deduplicate.ignore-delete'='true'");
  EXPECT_THAT(Ask("DELETE FROM db.t"), HasSubstr("ignore-delete passes over deletes"));
  EXPECT_THAT(Ask("UPDATE db.t SET k = 2"), HasSubstr("ignore-delete passes over deletes"));
  Do("UPDATE db.t SET v = 2");
  EXPECT_EQ(Ask("SELECT * FROM db.t"), "1,2;");
  Do("DROP TABLE db.t");
  create("'merge-engine'='Deduplicate', 'changelog-producer'='INPUT'");
  Do("UPDATE db.t SET v = 2");
  EXPECT_EQ(Ask("SELECT _rowkind, v FROM changes('db.t')"), "+I,1;-U,1;+U,2;");
  Do("DROP TABLE db.t");
  create("'merge-engine'='partial-update', 'partial-update.remove-record-on-delete'='TRUE'");
  EXPECT_THAT(Ask("UPDATE db.t SET v = 2"), HasSubstr("is merged with what is there"));
  Do("DELETE FROM db.t");
  EXPECT_EQ(Ask("SELECT * FROM db.t"), "");
}

TEST(RowConditionOf, TakesConstantsThatMeanTheSameInTheColumnsType) {
  const std::vector<DataField> fields =
      ParseColumns("i INT, s STRING, d DECIMAL(10, 2), day DATE, t TIMESTAMP(3), f DOUBLE").ValueOrDie();
  const auto is_taken = [&](const char* column, SqlConstant::Kind kind, const char* text) {
    return RowConditionOf(fields, {column, ColumnCondition::Is::kEqual, {{kind, text}}}).has_value();
  };
  constexpr auto kNumber = SqlConstant::Kind::kNumber;
  constexpr auto kText = SqlConstant::Kind::kText;
  EXPECT_TRUE(is_taken("i", kNumber, "5"));
  EXPECT_TRUE(is_taken("I", kNumber, "5.00"));
  EXPECT_TRUE(is_taken("d", kNumber, "5.250"));
  EXPECT_TRUE(is_taken("s", kText, "1.50"));
  EXPECT_TRUE(is_taken("day", kText, "2024-01-02"));
  EXPECT_TRUE(is_taken("t", kText, "2024-01-02 03:04:05"));
  EXPECT_TRUE(is_taken("day", SqlConstant::Kind::kTime, "2024-01-02"));
  EXPECT_FALSE(is_taken("s", SqlConstant::Kind::kTime, "2024-01-02"));
  EXPECT_FALSE(is_taken("i", kNumber, "5.5"));
  EXPECT_FALSE(is_taken("i", kNumber, "5000000000"));
  EXPECT_FALSE(is_taken("i", kText, "5"));
  EXPECT_FALSE(is_taken("s", kNumber, "5"));
  EXPECT_FALSE(is_taken("d", kNumber, "5.255"));
  EXPECT_FALSE(is_taken("day", kText, "2024-1-2"));
  EXPECT_FALSE(is_taken("f", kNumber, "5"));
  EXPECT_FALSE(is_taken("nothing", kNumber, "5"));
}

}  // namespace
}  // namespace headrace
