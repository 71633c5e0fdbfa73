// The forms an ingest takes its events in, and where from: standard input, many files, CSV, Parquet, Arrow.
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "ingest/ingest_test_kit.h"
#include "ingest/jobs.h"

namespace headrace::ingest {
namespace {

using ::headrace::testing::MakeTestTable;
using ::headrace::testing::Must;
using ::headrace::testing::TestTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A file in place of descriptor 0 while it lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path) : saved_(::dup(0)) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    ::dup2(fd, 0);
    ::close(fd);
  }
  ~StandardInput() {
    ::dup2(saved_, 0);
    ::close(saved_);
  }

 private:
  const int saved_;
};

TEST_F(IngestTest, StandardInputResumesByTheNameOfItsJob) {
  const TestTable made = MakeTestTable("a INT", {}, {{"bucket", "-1"}});
  const std::string first = Write("first", "{\"a\":1}\n{\"a\":2}\nbad\n");
  const std::string second = Write("second", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
  IngestOptions options = OptionsFor("-");
  options.format = EventFormat::kJson;
  options.job = "pipe";
  IngestReport report;
  {
    const StandardInput input(first);
    EXPECT_FALSE(RunIngest(made.table, options, &report).ok());
  }
  {
    const StandardInput input(second);
    ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  }
  EXPECT_THAT(RowsOf(made.table), ElementsAre("a=1", "a=2", "a=3"));
  // Without a name every run is its own.
  options.job.clear();
  {
    const StandardInput input(second);
    ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  }
  EXPECT_THAT(RowsOf(made.table), SizeIs(6));
  std::vector<std::string> jobs;
  for (const JobInfo& job : Must(ListJobs(made.table))) jobs.push_back(job.job);
  EXPECT_THAT(jobs, ElementsAre("pipe"));
}

TEST_F(IngestTest, GlobsOfFilesAreOneJobThatGrows) {
  const TestTable made = MakeTestTable("a INT", {}, {{"bucket", "-1"}});
  Write("a-1.jsonl", "{\"a\":1}\n");
  Write("a-2.jsonl", "{\"a\":2}\n");
  IngestOptions options = OptionsFor(folder_ / "a-*.jsonl");
  options.commit_every.file = true;
  IngestReport report;
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_EQ(report.commits, 3);
  const std::optional<int64_t> newest = report.last_snapshot;
  report = IngestReport();
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_TRUE(report.already_ingested);
  EXPECT_EQ(report.commits, 0);
  EXPECT_EQ(report.lines, 0);
  EXPECT_EQ(Must(ReadLatestSnapshot(made.table))->id.value, newest);
  Write("a-3.jsonl", "{\"a\":3}\n");
  report = IngestReport();
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_FALSE(report.already_ingested);
  EXPECT_EQ(report.lines, 1);
  EXPECT_EQ(report.rows, 1);
  EXPECT_EQ(report.job_lines, 3);
  EXPECT_EQ(report.commits, 2);
  EXPECT_THAT(RowsOf(made.table), ElementsAre("a=1", "a=2", "a=3"));
}

TEST_F(IngestTest, ATruncatedFirstLineIsToldAsSuch) {
  const std::string cut = R"({"before":null,"after":{"id":1)";
  const auto opened = Ingestion::Open(OptionsFor(Write("cut.jsonl", "\n" + cut + "\n")));
  EXPECT_THAT(opened.status().message(),
              ::testing::AllOf(HasSubstr("line 2 begins as JSON does, but is not JSON"),
                               HasSubstr("the line ends at byte 30"), HasSubstr("--format")));
}

TEST_F(IngestTest, CsvIsTypedByTheTable) {
  const TestTable made =
      MakeTestTable("id INT NOT NULL, name STRING, price DECIMAL(8,2), day DATE, at TIMESTAMP(3)", {"id"},
                    {{"bucket", "1"}});
  IngestOptions options = OptionsFor(
      Write("in.csv",
            "name,id,price,day,at,kind\r\n\"a, \"\"b\"\"\",1,1.50,2024-02-29,2024-02-29T10:00:00.5,+I\r\n"
            ",2,,,,+I\r\n\"\",3,-2,1969-12-31,,+I\r\nx,2,,,,-D\r\n"));
  options.kind_column = "kind";
  options.commit_every.rows = 1;
  IngestReport report;
  const Status status = RunIngest(made.table, options, &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(report.lines, 5);
  EXPECT_EQ(report.ignored_by_rule["header"], 1);
  EXPECT_THAT(RowsOf(made.table),
              ElementsAre("at=2024-02-29T10:00:00.5|day=2024-02-29|id=1|name=a, \"b\"|price=1.50",
                          "at=null|day=1969-12-31|id=3|name=|price=-2.00"));
  // Continued in its middle the header still counts.
  Write("in.csv",
        "name,id,price,day,at,kind\r\n\"a, \"\"b\"\"\",1,1.50,2024-02-29,2024-02-29T10:00:00.5,+I\r\n"
        ",2,,,,+I\r\n\"\",3,-2,1969-12-31,,+I\r\nx,2,,,,-D\r\nnew,4,,,,+I\r\n");
  ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  EXPECT_THAT(RowsOf(made.table), SizeIs(3));
  options.inputs = {Write("bad.csv", "name,id,what\n")};
  EXPECT_THAT(RunIngest(made.table, options, &report).ToString(), HasSubstr("'what', which is no column"));
}

std::shared_ptr<arrow::RecordBatch> SomeRows() {
  arrow::Int64Builder ids;
  arrow::DoubleBuilder prices;
  arrow::StringBuilder kinds;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(ids.Append(i).ok() && prices.Append(i * 0.5).ok() &&
                kinds.Append(i == 49 ? "-D" : "+I").ok());
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("price", arrow::float64()),
                     arrow::field("kind", arrow::utf8())}),
      50, {*ids.Finish(), *prices.Finish(), *kinds.Finish()});
}

TEST_F(IngestTest, ParquetAndArrowGoIntoNarrowerTypesExactlyOrNotAtAll) {
  const std::shared_ptr<arrow::RecordBatch> rows = SomeRows();
  const std::string parquet = folder_ / "in.parquet";
  {
    auto file = Must(arrow::io::FileOutputStream::Open(parquet));
    const auto table = Must(arrow::Table::FromRecordBatches({rows}));
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 20).ok());
  }
  const std::string arrow_file = folder_ / "in.arrow";
  {
    auto file = Must(arrow::io::FileOutputStream::Open(arrow_file));
    auto writer = Must(arrow::ipc::MakeFileWriter(file, rows->schema()));
    ASSERT_TRUE(writer->WriteRecordBatch(*rows).ok() && writer->Close().ok());
  }
  for (const std::string& path : {parquet, arrow_file}) {
    const TestTable made =
        MakeTestTable("id INT NOT NULL, price FLOAT, note STRING", {"id"}, {{"bucket", "1"}});
    IngestOptions options = OptionsFor(path);
    options.kind_column = "kind";
    IngestReport report;
    const Status status = RunIngest(made.table, options, &report);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(report.lines, 50);
    EXPECT_THAT(RowsOf(made.table), SizeIs(49));
    IngestReport again;
    ASSERT_TRUE(RunIngest(made.table, options, &again).ok());
    EXPECT_TRUE(again.already_ingested);

    const TestTable narrow =
        MakeTestTable("id TINYINT NOT NULL, price DECIMAL(3,1)", {"id"}, {{"bucket", "1"}});
    EXPECT_THAT(RunIngest(narrow.table, options, &report).ToString(),
                HasSubstr("does not go into DECIMAL(3, 1)"));

    const TestTable stops =
        MakeTestTable("id INT NOT NULL, price FLOAT, kind VARCHAR(1)", {"id"}, {{"bucket", "1"}});
    options.kind_column.clear();
    EXPECT_THAT(RunIngest(stops.table, options, &report).ToString(),
                HasSubstr("row 1: column 'kind' is of length 2"));
    options.dead_letter_file = folder_ / (path.substr(path.size() - 5) + ".dead");
    ASSERT_TRUE(RunIngest(stops.table, options, &report).ok());
    EXPECT_EQ(report.dead_letters, 50);
  }
}

TEST_F(IngestTest, AnArrowStreamComesFromStandardInputToo) {
  const std::shared_ptr<arrow::RecordBatch> rows = SomeRows();
  const auto write = [&](const std::string& name, int batches) {
    auto file = Must(arrow::io::FileOutputStream::Open(folder_ / name));
    auto writer = Must(arrow::ipc::MakeStreamWriter(file, rows->schema()));
    for (int i = 0; i < batches; ++i) EXPECT_TRUE(writer->WriteRecordBatch(*rows->Slice(i * 10, 10)).ok());
    EXPECT_TRUE(writer->Close().ok());
    return std::string(folder_ / name);
  };
  const std::string whole = write("whole", 5);
  const TestTable made = MakeTestTable("id INT, price FLOAT, kind STRING", {}, {{"bucket", "-1"}});
  IngestOptions options = OptionsFor("-");
  options.format = EventFormat::kArrow;
  options.job = "pipe";
  options.commit_every.rows = 15;
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  options.progress = [&](const IngestProgress& progress) { cancel = progress.lines_read >= 10; };
  IngestReport report;
  {
    const StandardInput input(whole);
    ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
  }
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.lines, 10);
  cancel = false;
  options.progress = nullptr;
  {
    const StandardInput input(whole);
    const Status status = RunIngest(made.table, options, &report);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(report.resumed);
  EXPECT_THAT(RowsOf(made.table), SizeIs(50));
  {
    const StandardInput input(whole);
    ASSERT_TRUE(RunIngest(made.table, options, &report).ok());
    EXPECT_TRUE(report.already_ingested);
  }
  {
    const StandardInput input(write("shorter", 3));
    EXPECT_THAT(RunIngest(made.table, options, &report).ToString(), HasSubstr("fewer rows"));
  }
  options.format = EventFormat::kParquet;
  EXPECT_THAT(RunIngest(made.table, options, &report).ToString(), HasSubstr("not from standard input"));
}

}  // namespace
}  // namespace headrace::ingest
