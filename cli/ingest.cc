// `headrace ingest`: change events into a table, with progress and a closing count.
#include <cctype>
#include <cstdio>
#include <memory>

#include "cli/event_arguments.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_signal.h"
#include "headrace/ingest.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string table;
  std::string format;
  std::string commit_every;
  std::vector<std::string> table_options;
  std::vector<std::string> kafka_options;
  std::string on_bad_record = "stop";
  std::string on_truncate = "delete";
  std::string on_schema_change = "follow";
  IngestOptions options;
};

Status ParseBadRecordRule(const std::string& rule, IngestOptions* options) {
  constexpr std::string_view kDeadLetter = "dead-letter=";
  if (rule == "stop") return Status::OK();
  if (rule.starts_with(kDeadLetter) && rule.size() > kDeadLetter.size()) {
    options->dead_letter_file = rule.substr(kDeadLetter.size());
    return Status::OK();
  }
  return UsageError("--on-bad-record ", rule, ": write stop, or dead-letter=FILE");
}

Status FillOptions(Arguments* arguments) {
  IngestOptions& options = arguments->options;
  ARROW_ASSIGN_OR_RAISE(options.format, ParseEventFormat(arguments->format));
  if (arguments->commit_every == "file") {
    options.commit_every.file = true;
  } else {
    ARROW_ASSIGN_OR_RAISE(options.commit_every,
                          ParseCommitEvery(arguments->commit_every, "10000 (rows), 5s or file"));
  }
  ARROW_RETURN_NOT_OK(ParseBadRecordRule(arguments->on_bad_record, &options));
  ARROW_ASSIGN_OR_RAISE(options.truncate_deletes,
                        ParseChoice("--on-truncate", arguments->on_truncate, "delete", "refuse"));
  ARROW_ASSIGN_OR_RAISE(options.follow_schema,
                        ParseChoice("--on-schema-change", arguments->on_schema_change, "follow", "refuse"));
  if (options.csv_delimiter == '"' || options.csv_delimiter == '\n' || options.csv_delimiter == '\r') {
    return UsageError("--csv-delimiter: quotes and line ends cannot part fields");
  }
  ARROW_RETURN_NOT_OK(AddTableOptions(arguments->table_options, &options.table_options));
  ARROW_RETURN_NOT_OK(AddKafkaOptions(arguments->kafka_options, &options.kafka));
  if (!options.create &&
      (!options.table_options.empty() || !options.partition_by.empty() || !options.primary_key.empty())) {
    return UsageError("--primary-key, --partition-by and --option belong to a new table: add --create");
  }
  return Status::OK();
}

void PrintReport(const std::string& table, const IngestReport& report, bool failed, Session& session) {
  for (const std::string& note : report.notes) session.Note(note);
  if (report.already_ingested) {
    session.Note("already ingested at snapshot " + std::to_string(report.last_snapshot.value_or(0)) +
                 " by job " + report.job + "; --again to repeat");
    return;
  }
  if (report.lines == 0 && report.commits == 0 && !report.resumed && failed) return;  // nothing to count
  if (report.resumed) session.Note("resumed job " + report.job + " after its last commit");
  std::string line = table + ": " + Counted(report.lines, "record") + " read = " + CountText(report.applied) +
                     " applied + " + CountText(report.ignored) + " ignored + " +
                     Counted(report.dead_letters, "dead letter") + "; " + Counted(report.rows, "row") +
                     " in " + Counted(report.commits, "commit");
  if (report.last_snapshot) line += ", latest snapshot " + std::to_string(*report.last_snapshot);
  if (report.lag) line += ", " + Counted(*report.lag, "record") + " not read yet";
  session.Note(line);
  if (report.resumed) {
    session.Note("  with the earlier runs of the job: " + Counted(report.job_lines, "record") + ", " +
                 Counted(report.job_dead_letters, "dead letter"));
  }
  std::string ignored;
  for (const auto& [rule, count] : report.ignored_by_rule) {
    ignored += (ignored.empty() ? "  ignored: " : ", ") + CountText(count) + " " + rule;
  }
  if (!ignored.empty()) session.Note(ignored);
  if (report.cancelled) {
    session.Note(report.job.empty() ? "stopped on request; standard input without --job cannot be resumed"
                                    : "stopped on request; the same command goes on from here");
  }
}

Result<int> Run(Arguments arguments, Session& session) {
  ARROW_RETURN_NOT_OK(FillOptions(&arguments));
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  Progress progress("records", session.quiet());
  arguments.options.progress = [&progress](const IngestProgress& at) {
    std::optional<double> share;
    if (at.bytes_total && *at.bytes_total > 0)
      share = static_cast<double>(at.bytes_read) / static_cast<double>(*at.bytes_total);
    std::string more = std::to_string(at.commits) + " commits";
    if (at.lag) more += ", lag " + CountText(*at.lag);
    progress.Show(at.lines_read, share, more);
  };
  arguments.options.say = [&](const std::string& line) {
    progress.Clear();
    session.Note(line);
  };
  arguments.options.cancel = &StopRequested();
  IngestReport report;
  const Status status = Ingest(engine, arguments.table, arguments.options, &report);
  progress.Clear();
  PrintReport(arguments.table, report, !status.ok(), session);
  ARROW_RETURN_NOT_OK(status);
  // Following has no other end than being stopped.
  const bool follows = report.lag && !arguments.options.kafka.until_end;
  if (report.cancelled && !follows) return kFailed;
  return report.job_dead_letters > 0 ? kDoneWithDeadLetters : kDone;
}

}  // namespace

void AddIngest(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  IngestOptions& options = arguments->options;
  CLI::App* sub = app->add_subcommand("ingest", "Bring change events into a table, exactly once");
  sub->add_option("TABLE", arguments->table, "db.table")->required();
  sub->add_option("INPUT", options.inputs, "Files, globs, - for standard input, or kafka://host:9092/topic")
      ->required();
  sub->add_option("--format", arguments->format,
                  "debezium-json, debezium-avro, debezium-flat, canal-json, maxwell-json, wal2json, "
                  "test-decoding, json, "
                  "avro, csv, parquet or arrow (default: by extension and content)")
      ->type_name("FORMAT");
  sub->add_option("--commit-every", arguments->commit_every,
                  "10000 (rows), 5s, or file (default: 100000 rows; of a topic also 1s)")
      ->type_name("N|TIME|file");
  sub->add_flag("--create", options.create, "Make the table from the events' schema if it is absent");
  sub->add_option("--primary-key", options.primary_key, "With --create: key columns a,b")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--partition-by", options.partition_by, "With --create: partition columns a,b")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--option", arguments->table_options, "With --create: a table option; may be repeated")
      ->type_name("KEY=VALUE");
  sub->add_option("--keys", options.keys_file, "The messages' keys, a JSON line each")->type_name("FILE");
  sub->add_option("--kind-column", options.kind_column, "Plain forms: the column that holds +I -U +U -D")
      ->type_name("COLUMN");
  sub->add_option("--decimals", options.values.decimals, "Plain values: precise (base64) or string")
      ->type_name("MODE");
  sub->add_option("--binary", options.values.binary, "Plain values: base64, base64-url-safe or hex")
      ->type_name("MODE");
  sub->add_option("--times", options.values.times,
                  "Plain values: adaptive, adaptive_time_microseconds, connect, microseconds or nanoseconds")
      ->type_name("MODE");
  sub->add_option("--csv-null", options.csv_null, "CSV: an unquoted field of this text is null")
      ->type_name("TEXT");
  sub->add_option("--csv-delimiter", options.csv_delimiter, "CSV: what parts fields")->type_name("CHAR");
  sub->add_option("--source-table", options.source_table, "The one table to take of a mixed input")
      ->type_name("NAME");
  sub->add_option("--start", options.kafka.start,
                  "Kafka: where a new job begins: earliest (default), latest, timestamp:2026-05-17T13:00:00Z "
                  "or offsets:0=12,1=40")
      ->type_name("PLACE");
  sub->add_flag("--until-end", options.kafka.until_end,
                "Kafka: stop at the records that are there now, instead of following");
  sub->add_option("--kafka-option", arguments->kafka_options,
                  "Kafka: a property of librdkafka, for TLS, SASL …; may be repeated")
      ->type_name("NAME=VALUE");
  AddAvroOptions(sub, &options.avro);
  sub->add_option("--job", options.job, "The name to resume under (needed to resume standard input)")
      ->type_name("NAME");
  sub->add_flag("--again", options.again, "Ingest once more what was ingested already");
  sub->add_option("--on-bad-record", arguments->on_bad_record, "stop (default), or dead-letter=FILE")
      ->type_name("RULE");
  sub->add_option("--on-truncate", arguments->on_truncate,
                  "A source's TRUNCATE: delete every live row (default), or refuse")
      ->type_name("RULE");
  sub->add_option("--on-schema-change", arguments->on_schema_change,
                  "What the source added, widened, renamed or dropped: follow (default), or refuse")
      ->type_name("RULE");
  sub->footer(R"(
Every record is applied, ignored by rule (a tombstone, a heartbeat …) or bad: a
bad one stops the ingest, with what came before it committed, or goes to the
dead-letter file byte for byte (exit status 3).

A killed ingest started again with the same command continues after the last
committed record. Quote globs: an input list that the shell has expanded to
other files is another job. Exit status 1 when it was interrupted before its
end; a topic that is followed has none.

A topic is followed until Ctrl-C, from the offsets that lie in the table with
the rows; the group headrace-JOB only shows the lag to others.

Examples:
  headrace ingest shop.customers customers.jsonl --create --keys customers.keys.jsonl \
    --option changelog-producer=input
  headrace ingest shop.orders 'orders-*.csv' --create --primary-key order_id --commit-every file
  headrace ingest shop.orders updates.jsonl --kind-column op --on-bad-record dead-letter=bad.jsonl
  cat changes.jsonl | headrace ingest shop.customers - --format json --kind-column op --job nightly
  headrace ingest shop.orders kafka://localhost:9092/shop.public.orders --format debezium-json --create)");
  OnGiven(sub, chosen, [arguments](Session& session) { return Run(*arguments, session); });
}

}  // namespace headrace::cli
