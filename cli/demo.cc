// `headrace demo`: the worked example. One customer is inserted, changed twice and deleted; at each step the program shows the event, what
// the LSM tree of its bucket and the changelog gained, and the current row. Then the changes are set beside what the
// difference of the first and the last state could tell. Everything printed is read back from the table.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <arrow/record_batch.h>
#include <unistd.h>

#include "cli/demo_chain.h"
#include "cli/demo_text.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "headrace/ingest.h"

namespace headrace::cli {
namespace {

constexpr char kTable[] = "shop.customers";

struct Step {
  const char* title;
  const char* event;  // in Debezium's form, with the whole row before
};

constexpr Step kSteps[] = {
    {"INSERT Marina Costa, plan trial, Av. Paulista 1000",
     R"({"before":null,"after":{"customer_id":8821,"name":"Marina Costa","email":"marina@example.com","plan":"trial","address":"Av. Paulista 1000"},"op":"c"})"},
    {"UPDATE plan trial → pro",
     R"({"before":{"customer_id":8821,"name":"Marina Costa","email":"marina@example.com","plan":"trial","address":"Av. Paulista 1000"},"after":{"customer_id":8821,"name":"Marina Costa","email":"marina@example.com","plan":"pro","address":"Av. Paulista 1000"},"op":"u"})"},
    {"UPDATE address → Rua das Acácias 120",
     R"({"before":{"customer_id":8821,"name":"Marina Costa","email":"marina@example.com","plan":"pro","address":"Av. Paulista 1000"},"after":{"customer_id":8821,"name":"Marina Costa","email":"marina@example.com","plan":"pro","address":"Rua das Acácias 120"},"op":"u"})"},
    {"DELETE",
     R"({"before":{"customer_id":8821,"name":"Marina Costa","email":"marina@example.com","plan":"pro","address":"Rua das Acácias 120"},"after":null,"op":"d"})"},
};

Status PrintChanges(ChangeReader* changes, const std::string& indent) {
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, changes->Next());
    if (batch == nullptr) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(const std::string text, TextOf(*batch, indent));
    std::printf("%s", text.c_str());
  }
}

class Demo {
 public:
  Demo(std::string folder, Engine* engine) : folder_(std::move(folder)), engine_(engine) {}

  Status Play() {
    ARROW_RETURN_NOT_OK(CreateTable());
    for (int i = 0; i < static_cast<int>(std::size(kSteps)); ++i) ARROW_RETURN_NOT_OK(PlayStep(i));
    return Compare();
  }

 private:
  Status CreateTable() {
    TableDefinition definition;
    definition.columns = "customer_id BIGINT, name STRING, email STRING, plan STRING, address STRING";
    definition.primary_key = {"customer_id"};
    definition.options = {
        {"bucket", "4"}, {"changelog-producer", "input"}, {"changelog.time-retained", "7 d"}};
    ARROW_RETURN_NOT_OK(engine_->CreateTable(kTable, definition).status());
    ARROW_ASSIGN_OR_RAISE(table_, engine_->OpenTable(kTable));
    std::printf("Table %s (customer_id BIGINT PRIMARY KEY, name, email, plan, address), 4 buckets,\n",
                kTable);
    std::printf("changelog-producer=input: each change is kept as it came, on the write path.\n");
    return Status::OK();
  }

  Status PlayStep(int number) {
    const Step& step = kSteps[number];
    std::printf("\nt%d  %s\n    event      %s\n", number, step.title, step.event);
    if (number == 2) ARROW_RETURN_NOT_OK(CompactFirst());
    ARROW_RETURN_NOT_OK(IngestEvent(number));
    ARROW_RETURN_NOT_OK(ShowTree());
    ARROW_RETURN_NOT_OK(ShowChanges());
    return ShowRow();
  }

  Status CompactFirst() {
    ARROW_ASSIGN_OR_RAISE(const CompactResult result, table_->Compact(true));
    std::printf("    compaction the first two files are merged into a deeper run (snapshot %lld)\n",
                static_cast<long long>(result.snapshots.empty() ? 0 : result.snapshots.back()));
    next_change_ += static_cast<int64_t>(result.snapshots.size());
    return Status::OK();
  }

  Status IngestEvent(int number) {
    const std::string file = folder_ + "/event-" + std::to_string(number) + ".jsonl";
    std::ofstream(file) << kSteps[number].event << '\n';
    IngestOptions options;
    options.inputs = {file};
    options.format = EventFormat::kDebeziumJson;
    IngestReport report;
    return Ingest(engine_, kTable, options, &report);
  }

  // The runs of the customer's bucket: the only one with files.
  Status ShowTree() {
    ARROW_ASSIGN_OR_RAISE(const std::vector<BucketInfo> buckets, table_->Tree(std::nullopt));
    int64_t level_zero_files = 0;
    std::string deeper;
    for (const BucketInfo& bucket : buckets) {
      for (const RunInfo& run : bucket.runs) {
        if (run.level == 0) {
          level_zero_files += run.files;
        } else {
          deeper += (deeper.empty() ? "" : ", ") + std::string("L") + std::to_string(run.level) + " with " +
                    CountText(run.rows) + (run.rows == 1 ? " row" : " rows");
        }
      }
    }
    std::printf("    L0         %lld %s (one more)\n", static_cast<long long>(level_zero_files),
                level_zero_files == 1 ? "file" : "files");
    std::printf("    deeper     %s\n", deeper.empty() ? "no run" : deeper.c_str());
    return Status::OK();
  }

  Status ShowChanges() {
    ChangesOptions options;
    options.from = ChangesOptions::From::kSnapshot;
    options.from_snapshot = next_change_;
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ChangeReader> changes, table_->Changes(options));
    ARROW_RETURN_NOT_OK(PrintChanges(changes.get(), "    changelog  "));
    next_change_ = changes->next_snapshot();
    return Status::OK();
  }

  Status ShowRow() {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> row,
                          table_->Get({{"customer_id", "8821"}}, {}));
    if (row == nullptr) {
      std::printf("    row now    none\n");
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(const std::string text, TextOf(*row, "    row now    "));
    std::printf("%s", text.c_str());
    return Status::OK();
  }

  Status Compare() {
    std::printf(
        "\nWhat happened to customer 8821, from the changelog (headrace changes %s --from earliest):\n",
        kTable);
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ChangeReader> changes, table_->Changes({}));
    ARROW_RETURN_NOT_OK(PrintChanges(changes.get(), "    "));
    std::printf("\nWhat the difference of the first and the last state could tell:\n");
    ARROW_RETURN_NOT_OK(ShowState(1, "    first  "));
    ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> latest, table_->LatestSnapshot());
    ARROW_RETURN_NOT_OK(ShowState(*latest, "    last   "));
    std::printf("    so: one row is gone. It never had plan pro, and never lived in Rua das Acácias.\n");
    return Status::OK();
  }

  Status ShowState(int64_t snapshot, const std::string& indent) {
    ReadOptions options;
    options.snapshot = snapshot;
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::RecordBatchReader> rows, table_->Read(options));
    int64_t count = 0;
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
      if (batch == nullptr) break;
      count += batch->num_rows();
      ARROW_ASSIGN_OR_RAISE(const std::string text, TextOf(*batch, indent));
      std::printf("%s", text.c_str());
    }
    if (count == 0) std::printf("%sno row\n", indent.c_str());
    return Status::OK();
  }

  std::string folder_;
  Engine* engine_;
  std::unique_ptr<TableHandle> table_;
  int64_t next_change_ = 1;
};

// A folder of its own that goes away with this object, unless it is the user's.
class DemoFolder {
 public:
  static Result<DemoFolder> Make(const std::string& asked) {
    if (!asked.empty()) {
      std::error_code error;
      if (std::filesystem::exists(asked, error) && !std::filesystem::is_empty(asked, error)) {
        return Status::Invalid("the demo needs an empty folder, ", asked, " is not");
      }
      std::filesystem::create_directories(asked, error);
      if (error) return Status::IOError("folder ", asked, " cannot be made: ", error.message());
      return DemoFolder(asked, false);
    }
    std::string name = (std::filesystem::temp_directory_path() / "headrace-demo-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return Status::IOError("a temporary folder ", name, " cannot be made");
    return DemoFolder(name, true);
  }
  DemoFolder(DemoFolder&& other) noexcept
      : path_(std::move(other.path_)), own_(std::exchange(other.own_, false)) {}
  ~DemoFolder() {
    std::error_code ignored;
    if (own_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  DemoFolder(std::string path, bool own) : path_(std::move(path)), own_(own) {}
  std::string path_;
  bool own_;
};

Result<int> Run(const std::string& asked_folder, bool chain, Session& session) {
  ARROW_ASSIGN_OR_RAISE(const DemoFolder folder, DemoFolder::Make(asked_folder));
  EngineOptions options;
  options.warehouse = folder.path() + "/warehouse";
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Engine> engine, Engine::Open(options));
  ARROW_RETURN_NOT_OK(chain ? PlayChain(folder.path(), engine.get())
                            : Demo(folder.path(), engine.get()).Play());
  if (!asked_folder.empty())
    session.Note((chain ? "\nthe tables stay in " : "\nthe table stays in ") + options.warehouse);
  return kDone;
}

}  // namespace

void AddDemo(CLI::App* app, Chosen* chosen) {
  struct Arguments {
    std::string folder;
    bool chain = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("demo", "Play the worked example: four changes of one row, step by step");
  sub->add_flag("--chain", arguments->chain,
                "Play continuous SQL instead: customers and orders, joined, and summed up");
  sub->add_option("--keep", arguments->folder, "Play in this empty folder and leave the tables there")
      ->type_name("DIR");
  sub->footer("\nExamples:\n  headrace demo --chain\n  headrace demo --keep /tmp/demo");
  OnGiven(sub, chosen,
          [arguments](Session& session) { return Run(arguments->folder, arguments->chain, session); });
}

}  // namespace headrace::cli
