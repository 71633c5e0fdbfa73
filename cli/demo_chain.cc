#include "cli/demo_chain.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>

#include "cli/demo_text.h"
#include "headrace/ingest.h"
#include "headrace/pipeline.h"
#include "headrace/sql.h"

namespace headrace::cli {
namespace {

constexpr char kSources[] = R"(
CREATE TABLE shop.customers (customer_id BIGINT, plan STRING, PRIMARY KEY (customer_id) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'input');
CREATE TABLE shop.orders (order_id BIGINT, customer_id BIGINT, day DATE, amount DECIMAL(10, 2), PRIMARY KEY (order_id) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'input');
)";

constexpr char kTargets[] = R"(
CREATE TABLE shop.enriched (order_id BIGINT, day DATE, plan STRING, amount DECIMAL(10, 2), PRIMARY KEY (order_id) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'input');
CREATE TABLE shop.revenue (plan STRING, day DATE, orders BIGINT, amount DECIMAL(38, 2), PRIMARY KEY (plan, day) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'input');
)";

constexpr char kInserts[] = R"(INSERT INTO shop.enriched
  SELECT o.order_id, o.day, coalesce(c.plan, 'unknown'), o.amount
  FROM shop.orders o LEFT JOIN shop.customers c ON o.customer_id = c.customer_id;
INSERT INTO shop.revenue
  SELECT plan, day, count(*), sum(amount) FROM shop.enriched GROUP BY plan, day;
)";

constexpr char kRevenueOfSources[] =
    "SELECT coalesce(c.plan, 'unknown') AS plan, o.day, count(*) AS orders, sum(o.amount) AS amount "
    "FROM shop.orders o LEFT JOIN shop.customers c ON o.customer_id = c.customer_id GROUP BY ALL ORDER BY "
    "ALL";

// One change: the row after it, or nothing when it goes.
struct RowChange {
  const char* table;
  int64_t key;
  const char* after;
};

struct ChainStep {
  const char* title;
  std::vector<RowChange> changes;
};

const std::vector<ChainStep>& Steps() {
  static const std::vector<ChainStep> steps = {
      {"Marina and Otto sign up; three orders, one of a customer who is not known yet",
       {{"customers", 1, R"({"customer_id":1,"plan":"trial"})"},
        {"customers", 2, R"({"customer_id":2,"plan":"pro"})"},
        {"orders", 101, R"({"order_id":101,"customer_id":1,"day":"2026-05-17","amount":"40.00"})"},
        {"orders", 102, R"({"order_id":102,"customer_id":2,"day":"2026-05-17","amount":"25.00"})"},
        {"orders", 103, R"({"order_id":103,"customer_id":3,"day":"2026-05-18","amount":"12.50"})"}}},
      {"an order more, and one is corrected",
       {{"orders", 104, R"({"order_id":104,"customer_id":1,"day":"2026-05-18","amount":"8.00"})"},
        {"orders", 102, R"({"order_id":102,"customer_id":2,"day":"2026-05-17","amount":"30.00"})"}}},
      {"Marina goes from trial to pro: what she ordered before moves with her, and trial is empty",
       {{"customers", 1, R"({"customer_id":1,"plan":"pro"})"}}},
      {"the customer of order 103 becomes known, late",
       {{"customers", 3, R"({"customer_id":3,"plan":"team"})"}}},
      {"orders are cancelled", {{"orders", 103, nullptr}, {"orders", 104, nullptr}}},
  };
  return steps;
}

// Change events in Debezium's form: each with the whole row before it.
class ChangeGenerator {
 public:
  std::string Next(const RowChange& change) {
    std::string& row = rows_[{change.table, change.key}];
    const std::string before = row.empty() ? "null" : row;
    row = change.after == nullptr ? "" : change.after;
    const char* const op = change.after == nullptr ? "d" : before == "null" ? "c" : "u";
    return R"({"before":)" + before + R"(,"after":)" + (row.empty() ? "null" : row) + R"(,"op":")" + op +
           R"("})";
  }

 private:
  std::map<std::pair<std::string, int64_t>, std::string> rows_;
};

class Chain {
 public:
  Chain(std::string folder, Engine* engine) : folder_(std::move(folder)), engine_(engine) {}

  Status Play() {
    ARROW_ASSIGN_OR_RAISE(sql_, Sql::Open(engine_, {}));
    ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> tables, SplitSql(kSources));
    for (const std::string& create : tables) ARROW_RETURN_NOT_OK(sql_->Execute(create).status());
    PipelineOptions options;
    options.script = std::string(kTargets) + kInserts;
    options.name = "chain";
    std::vector<std::string> notes;
    ARROW_ASSIGN_OR_RAISE(pipeline_, Pipeline::Open(engine_, options, &notes));
    std::printf(
        "Change events make shop.customers and shop.orders. A pipeline of two statements goes on from "
        "there:\n\n%s",
        kInserts);
    for (int i = 0; i < static_cast<int>(Steps().size()); ++i) ARROW_RETURN_NOT_OK(PlayStep(i));
    return Compare();
  }

 private:
  Status PlayStep(int number) {
    const ChainStep& step = Steps()[static_cast<size_t>(number)];
    std::printf("\nt%d  %s\n", number, step.title);
    std::map<std::string, std::string> events;
    for (const RowChange& change : step.changes) {
      const std::string event = generator_.Next(change);
      std::printf("    event      %-10s %s\n", change.table, event.c_str());
      events[change.table] += event + "\n";
    }
    for (const auto& [table, lines] : events) ARROW_RETURN_NOT_OK(IngestEvents(number, table, lines));
    PipelineRunOptions run;
    run.once = true;
    ARROW_RETURN_NOT_OK(pipeline_->Run(run));
    ARROW_RETURN_NOT_OK(ShowCommits());
    return Show("SELECT * FROM shop.revenue ORDER BY ALL", "    row now    ");
  }

  Status IngestEvents(int number, const std::string& table, const std::string& lines) {
    const std::string file = folder_ + "/" + table + "-" + std::to_string(number) + ".jsonl";
    std::ofstream(file) << lines;
    IngestOptions options;
    options.inputs = {file};
    options.format = EventFormat::kDebeziumJson;
    IngestReport report;
    return Ingest(engine_, "shop." + table, options, &report);
  }

  // What each stage committed; of the last one its changes too.
  Status ShowCommits() {
    ARROW_ASSIGN_OR_RAISE(const std::vector<PipelineStage> stages, pipeline_->Stages());
    for (const PipelineStage& stage : stages) {
      int64_t& known = written_[stage.target];
      std::printf("    commit     %s snapshot %lld: %lld changes\n", stage.target.c_str(),
                  static_cast<long long>(stage.target_snapshot.value_or(0)),
                  static_cast<long long>(stage.rows - known));
      known = stage.rows;
    }
    const std::string shown = "SELECT * EXCLUDE (_snapshot) FROM changes('shop.revenue', from_snapshot => " +
                              std::to_string(next_change_) + ") ORDER BY plan, day, _rowkind DESC";
    ARROW_RETURN_NOT_OK(Show(shown, "    change     "));
    next_change_ = stages.back().target_snapshot.value_or(0) + 1;
    return Status::OK();
  }

  Status Show(const std::string& query, const std::string& indent) {
    ARROW_ASSIGN_OR_RAISE(const std::string text, Rows(query, indent));
    std::printf("%s", text.c_str());
    return Status::OK();
  }

  Result<std::string> Rows(const std::string& query, const std::string& indent) {
    ARROW_ASSIGN_OR_RAISE(const SqlAnswer answer, sql_->Execute(query));
    std::string rows;
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      ARROW_RETURN_NOT_OK(answer.rows->ReadNext(&batch));
      if (batch == nullptr) return rows;
      ARROW_ASSIGN_OR_RAISE(const std::string text, TextOf(*batch, indent));
      rows += text;
    }
  }

  Status Compare() {
    ARROW_ASSIGN_OR_RAISE(const std::string kept, Rows("SELECT * FROM shop.revenue ORDER BY ALL", "    "));
    ARROW_ASSIGN_OR_RAISE(const std::string asked, Rows(kRevenueOfSources, "    "));
    std::printf("\nThe same question put to shop.orders and shop.customers as they are now:\n%s",
                asked.c_str());
    std::printf("    so: %s\n", kept == asked ? "shop.revenue holds the very same rows."
                                              : "shop.revenue holds OTHER rows; that must never be.");
    return kept == asked ? Status::OK() : Status::Invalid("shop.revenue is not what its query answers");
  }

  const std::string folder_;
  Engine* const engine_;
  ChangeGenerator generator_;
  std::unique_ptr<Sql> sql_;
  std::unique_ptr<Pipeline> pipeline_;
  std::map<std::string, int64_t> written_;
  int64_t next_change_ = 1;
};

}  // namespace

Status PlayChain(const std::string& folder, Engine* engine) { return Chain(folder, engine).Play(); }

}  // namespace headrace::cli
