// `headrace changes`: a table's changes in order, as rows or as change events, once or followed, with a consumer that remembers.
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "cli/event_arguments.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/output_stream.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_signal.h"
#include "headrace/change_events.h"

namespace headrace::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPollInterval = std::chrono::milliseconds(200);
constexpr auto kBetweenMoves = std::chrono::seconds(1);
constexpr std::string_view kDebezium = "debezium-json";

struct ChangesArguments {
  std::string table;
  std::string from;
  int64_t from_snapshot = 0;
  int64_t to_snapshot = 0;
  int64_t limit = -1;
  std::string consumer;
  std::string to;
  std::vector<std::string> kafka_options;
  bool tombstones = false;
  ChangesOptions changes;
  OutputOptions output;
};

// Where changes go: rows in some form, or events.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  // Out, and durable where it can be; between two snapshots.
  virtual Status Flush() = 0;
  virtual Status Close() = 0;
};

class RowOutlet final : public Outlet {
 public:
  RowOutlet(std::unique_ptr<RowSink> sink, std::shared_ptr<arrow::io::OutputStream> stream)
      : sink_(std::move(sink)), stream_(std::move(stream)) {}
  Status Write(const arrow::RecordBatch& batch) override { return sink_->Write(batch); }
  Status Flush() override { return stream_ == nullptr ? Status::OK() : stream_->Flush(); }
  Status Close() override { return sink_->Close(); }

 private:
  std::unique_ptr<RowSink> sink_;
  std::shared_ptr<arrow::io::OutputStream> stream_;  // null: the sink alone knows it
};

class EventOutlet final : public Outlet {
 public:
  EventOutlet(std::unique_ptr<ChangeEvents> events, std::shared_ptr<arrow::io::OutputStream> stream)
      : events_(std::move(events)), stream_(std::move(stream)) {}
  Status Write(const arrow::RecordBatch& batch) override { return events_->Write(batch); }
  Status Flush() override { return events_->Flush(); }
  Status Close() override { return stream_ == nullptr ? Status::OK() : stream_->Close(); }

 private:
  std::unique_ptr<ChangeEvents> events_;
  std::shared_ptr<arrow::io::OutputStream> stream_;  // null: a topic
};

Status CheckOutput(ChangesArguments* arguments) {
  OutputOptions& output = arguments->output;
  if (!arguments->to.empty()) {
    if (!output.file.empty()) return UsageError("--to and --output: changes go to one place");
    if (output.format.empty()) output.format = kDebezium;
    if (output.format != kDebezium)
      return UsageError("--format ", output.format, ": a topic gets ", kDebezium);
  } else if (!arguments->kafka_options.empty() || arguments->tombstones) {
    return UsageError(
        "--kafka-option and --tombstones belong to a topic: name it by --to kafka://host:9092/topic");
  }
  // A drawn table waits for its widths; who follows wants to see each change when it comes.
  const bool lines = arguments->changes.follow || !arguments->consumer.empty();
  if (lines && output.format.empty() && output.file.empty()) output.format = "jsonl";
  if (arguments->consumer.empty()) return Status::OK();
  if (arguments->to_snapshot != 0 || arguments->limit >= 0)
    return UsageError("--consumer goes with every change: leave out --to-snapshot and --limit");
  if (output.format.empty()) {
    ARROW_ASSIGN_OR_RAISE(const RowFormat format, RowFormatOfFile(output.file));
    if (format == RowFormat::kJsonLines) output.format = "jsonl";
  }
  if (output.format == kDebezium || output.format == "jsonl") return Status::OK();
  return UsageError("--consumer needs a form that can be gone on with: --format ", kDebezium, " or jsonl");
}

Status FillOptions(ChangesArguments* arguments) {
  ChangesOptions& changes = arguments->changes;
  if (arguments->to_snapshot != 0) changes.to_snapshot = arguments->to_snapshot;
  if (arguments->from_snapshot != 0) {
    changes.from = ChangesOptions::From::kSnapshot;
    changes.from_snapshot = arguments->from_snapshot;
  } else if (arguments->from.empty() || arguments->from == "earliest") {
    changes.from = ChangesOptions::From::kEarliest;
  } else if (arguments->from == "latest") {
    changes.from = ChangesOptions::From::kLatest;
  } else if (arguments->from == "full") {
    changes.from = ChangesOptions::From::kFull;
  } else {
    return UsageError("--from ", arguments->from,
                      ": write earliest, latest or full, or give --from-snapshot N");
  }
  return CheckOutput(arguments);
}

// A consumer that has a position begins there, whatever --from says.
Status BeginAtConsumer(TableHandle* table, ChangesArguments* arguments, Session& session) {
  if (arguments->consumer.empty()) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const std::optional<int64_t> next, table->ConsumerPosition(arguments->consumer));
  if (!next) return Status::OK();
  arguments->changes.from = ChangesOptions::From::kSnapshot;
  arguments->changes.from_snapshot = *next;
  session.Note("consumer " + arguments->consumer + " goes on at snapshot " + std::to_string(*next));
  return Status::OK();
}

Result<std::unique_ptr<Outlet>> OpenTopic(const ChangesArguments& arguments, const TableInfo& table,
                                          const ChangeReader& reader, Session& session) {
  KafkaOutput output;
  output.address = arguments.to;
  KafkaInput properties;
  ARROW_RETURN_NOT_OK(AddKafkaOptions(arguments.kafka_options, &properties));
  output.properties = std::move(properties.properties);
  output.tombstones = arguments.tombstones;
  output.say = [&session](const std::string& line) { session.Note(line); };
  output.cancel = &StopRequested();
  ARROW_ASSIGN_OR_RAISE(auto events, OpenDebeziumTopic(table, reader.schema(), output));
  return std::make_unique<EventOutlet>(std::move(events), nullptr);
}

Result<std::unique_ptr<Outlet>> OpenOutlet(const ChangesArguments& arguments, const TableInfo& table,
                                           const ChangeReader& reader, Session& session) {
  if (!arguments.to.empty()) return OpenTopic(arguments, table, reader, session);
  const OutputOptions& output = arguments.output;
  if (arguments.consumer.empty() && output.format != kDebezium) {
    ARROW_ASSIGN_OR_RAISE(auto sink, OpenOutput(output, reader.schema()));
    return std::make_unique<RowOutlet>(std::move(sink), nullptr);
  }
  ARROW_ASSIGN_OR_RAISE(auto stream, output.file.empty()          ? OpenStandardOutput()
                                     : arguments.consumer.empty() ? OpenOutputFile(output.file)
                                                                  : OpenForMoreLines(output.file));
  if (output.format == kDebezium) {
    ARROW_ASSIGN_OR_RAISE(auto events, OpenDebeziumLines(table, reader.schema(), stream));
    return std::make_unique<EventOutlet>(std::move(events), std::move(stream));
  }
  ARROW_ASSIGN_OR_RAISE(auto sink, OpenRowSink(RowFormat::kJsonLines, reader.schema(), stream));
  return std::make_unique<RowOutlet>(std::move(sink), std::move(stream));
}

// Moves the consumer behind what is out. Snapshots end between two calls of the reader, so what it says is whole.
class Follower {
 public:
  Follower(TableHandle* table, std::string consumer, Outlet* outlet)
      : table_(table), consumer_(std::move(consumer)), outlet_(outlet) {}

  Status Wrote(const ChangeReader& reader, bool at_once) {
    const int64_t next = reader.next_snapshot();
    if (next == moved_ || (!at_once && Clock::now() - last_ < kBetweenMoves)) return Status::OK();
    ARROW_RETURN_NOT_OK(outlet_->Flush());
    if (!consumer_.empty()) ARROW_RETURN_NOT_OK(table_->MoveConsumer(consumer_, next));
    moved_ = next;
    last_ = Clock::now();
    return Status::OK();
  }

 private:
  TableHandle* table_;
  const std::string consumer_;
  Outlet* outlet_;
  int64_t moved_ = -1;
  Clock::time_point last_;
};

Status CopyChanges(ChangeReader* reader, Outlet* outlet, Follower* follower, bool begins_with_state,
                   int64_t limit) {
  const std::atomic<bool>& stop = StopRequested();
  bool state_is_out = !begins_with_state;
  const int64_t first = reader->next_snapshot();
  while (!stop && limit != 0) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    // The rows of the first state count for nothing until all are out: only then is there a place to go on at.
    state_is_out = state_is_out || batch == nullptr || reader->next_snapshot() != first;
    if (state_is_out) ARROW_RETURN_NOT_OK(follower->Wrote(*reader, batch == nullptr));
    if (batch != nullptr) {
      ARROW_RETURN_NOT_OK(outlet->Write(*TakeRows(std::move(batch), &limit)));
    } else if (reader->at_end()) {
      break;
    } else {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  return Status::OK();
}

Result<int> RunChanges(ChangesArguments arguments, Session& session) {
  ARROW_RETURN_NOT_OK(FillOptions(&arguments));
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_RETURN_NOT_OK(BeginAtConsumer(table.get(), &arguments, session));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ChangeReader> reader, table->Changes(arguments.changes));
  if (arguments.changes.from == ChangesOptions::From::kEarliest && reader->next_snapshot() > 1) {
    session.Note("earlier changes have expired; begins at snapshot " +
                 std::to_string(reader->next_snapshot()));
  }
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<Outlet> outlet,
                        OpenOutlet(arguments, table->info(), *reader, session));
  Follower follower(table.get(), arguments.consumer, outlet.get());
  const bool begins_with_state = arguments.changes.from == ChangesOptions::From::kFull;
  const Status copied =
      CopyChanges(reader.get(), outlet.get(), &follower, begins_with_state, arguments.limit);
  ARROW_RETURN_NOT_OK(outlet->Close());
  if (reader->skipped_overwrites() > 0) {
    session.Note("passed over " + CountText(reader->skipped_overwrites()) +
                 " overwrites: a stream does not show what an overwrite replaced");
  }
  ARROW_RETURN_NOT_OK(copied);
  session.Note(arguments.consumer.empty()
                   ? "resume with --from-snapshot " + std::to_string(reader->next_snapshot())
                   : "consumer " + arguments.consumer + " is at snapshot " +
                         std::to_string(reader->next_snapshot()) + "; the same command goes on there");
  return kDone;
}

}  // namespace

void AddChanges(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<ChangesArguments>();
  CLI::App* sub = app->add_subcommand(
      "changes", "Print a table's changes in order, with _rowkind and _snapshot, or as events");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_option("--from", arguments->from,
                  "earliest (default), latest, or full: the current rows, then what follows")
      ->type_name("PLACE");
  sub->add_option("--from-snapshot", arguments->from_snapshot, "From this snapshot on, itself included")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->excludes("--from");
  sub->add_option("--to-snapshot", arguments->to_snapshot, "Up to this snapshot, itself included")
      ->type_name("N")
      ->check(WholeNumber(1));
  sub->add_flag("--follow", arguments->changes.follow, "Wait for new snapshots until interrupted");
  sub->add_option("--limit", arguments->limit, "At most so many changes")
      ->type_name("N")
      ->check(WholeNumber(0));
  sub->add_option("--columns", arguments->changes.columns, "Only these, in this order")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--consumer", arguments->consumer,
                  "Remember in the table what is out, begin there the next time, and keep it from expiry")
      ->type_name("NAME");
  sub->add_option("--to", arguments->to, "Into a topic: kafka://host:9092/topic")->type_name("ADDRESS");
  sub->add_option("--kafka-option", arguments->kafka_options,
                  "With --to: a property of librdkafka, for TLS, SASL …; may be repeated")
      ->type_name("NAME=VALUE");
  sub->add_flag("--tombstones", arguments->tombstones, "With --to: a null message after each delete");
  AddChangesOutput(sub, &arguments->output);
  sub->footer(R"(
debezium-json gives one event a changed row: c, u (with `before` where the table
has it) and d. A topic gets them under the primary key, at least once.

The resume point is told on stderr at the end. With --limit it is the snapshot
in which the output stopped, if it stopped in its middle. With --consumer the
same command goes on by itself; a file is then added to.

Examples:
  headrace changes shop.customers --from-snapshot 5
  headrace changes shop.customers --from full --follow --format jsonl
  headrace changes shop.customers --follow --consumer mirror --to kafka://localhost:9092/customers)");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunChanges(*arguments, session); });
}

}  // namespace headrace::cli
