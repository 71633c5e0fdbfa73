// `headrace sync`: tables kept like those of a PostgreSQL database or of a stream of change events, with progress, lag and a closing count.
#include <memory>

#include "cli/event_arguments.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_signal.h"
#include "headrace/sync.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string commit_every;
  std::vector<std::string> table_options;
  std::string until_lsn;
  bool once = false;
  std::string format;
  std::vector<std::string> kafka_options;
  std::string on_truncate = "delete";
  std::string on_schema_change = "follow";
  SyncOptions options;
};

Status FillOptions(Arguments* arguments) {
  SyncOptions& options = arguments->options;
  ARROW_ASSIGN_OR_RAISE(options.commit_every,
                        ParseCommitEvery(arguments->commit_every, "10000 (rows), 200ms, 5s or 2m"));
  ARROW_RETURN_NOT_OK(AddTableOptions(arguments->table_options, &options.table_options));
  ARROW_ASSIGN_OR_RAISE(options.events.format, ParseEventFormat(arguments->format));
  ARROW_RETURN_NOT_OK(AddKafkaOptions(arguments->kafka_options, &options.events.kafka));
  ARROW_ASSIGN_OR_RAISE(options.events.truncate_deletes,
                        ParseChoice("--on-truncate", arguments->on_truncate, "delete", "refuse"));
  ARROW_ASSIGN_OR_RAISE(options.events.follow_schema,
                        ParseChoice("--on-schema-change", arguments->on_schema_change, "follow", "refuse"));
  if (arguments->once && !arguments->until_lsn.empty())
    return UsageError("--once and --until-lsn: give one of them");
  if (arguments->once) options.until = SyncUntil::kCurrent;
  if (!arguments->until_lsn.empty()) {
    options.until = SyncUntil::kPosition;
    options.until_position = arguments->until_lsn;
  }
  return Status::OK();
}

void PrintTable(const SyncTableReport& table, Session& session) {
  std::string line = table.table + " from " + table.source + ": ";
  if (table.copied_rows > 0) line += Counted(table.copied_rows, "row") + " copied, ";
  line += Counted(table.events, "event") + ", " + Counted(table.rows, "row") + " of changes in " +
          Counted(table.commits, "commit");
  if (table.snapshot) line += ", latest snapshot " + std::to_string(*table.snapshot);
  session.Note(line);
  if (!table.quarantine.empty()) session.Note("  not followed: " + table.quarantine);
  if (table.dead_letters > 0)
    session.Note("  " + Counted(table.dead_letters, "event") + " kept aside in " + table.dead_letter_file);
}

void PrintStream(const SyncReport& report, Session& session) {
  if (report.job.empty()) return;
  session.Note(Counted(report.records, "record") + " read of " + report.server + " (job " + report.job + ")");
  std::string ignored;
  for (const auto& [rule, count] : report.ignored_by_rule)
    ignored += (ignored.empty() ? "  ignored: " : ", ") + CountText(count) + " " + rule;
  if (!ignored.empty()) session.Note(ignored);
  if (report.cancelled) session.Note("stopped on request; the same command goes on from here");
}

void PrintReport(const SyncReport& report, Session& session) {
  for (const SyncTableReport& table : report.tables) PrintTable(table, session);
  if (report.slot.empty()) return PrintStream(report, session);
  if (report.tables.empty()) return;
  session.Note(Counted(report.transactions, "transaction") + " followed of " + report.server +
               "; all up to " + report.position + " is in the tables (slot " + report.slot + ", job " +
               report.job + ")");
  if (report.cancelled) session.Note("stopped on request; the same command goes on from here");
}

Result<int> Run(Arguments arguments, Session& session) {
  ARROW_RETURN_NOT_OK(FillOptions(&arguments));
  SyncOptions& options = arguments.options;
  ARROW_ASSIGN_OR_RAISE(Engine * engine,
                        session.engine(options.database.empty() ? "public.t" : options.database + ".t"));
  Progress progress("rows", session.quiet());
  options.progress = [&progress](const SyncProgress& at) {
    std::string more = at.doing;
    if (more.empty() && at.lag_records) {
      more = Counted(at.commits, "commit") + ", behind by " + Counted(*at.lag_records, "record");
    } else if (more.empty()) {
      more = Counted(at.transactions, "transaction") + ", " + Counted(at.commits, "commit") + ", behind by " +
             BytesText(at.lag_bytes) + " and " + DurationText(static_cast<double>(at.lag_seconds));
    }
    progress.Show(at.rows, std::nullopt, more);
  };
  options.note = [&progress, &session](const std::string& text) {
    progress.Clear();
    session.Note(text);
  };
  options.cancel = &StopRequested();
  SyncReport report;
  const Status status = Sync(engine, options, &report);
  progress.Clear();
  PrintReport(report, session);
  ARROW_RETURN_NOT_OK(status);
  for (const SyncTableReport& table : report.tables) {
    if (!table.quarantine.empty()) return kDoneWithDeadLetters;
  }
  return report.cancelled && options.until != SyncUntil::kStopped ? kFailed : kDone;
}

}  // namespace

void AddSync(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  SyncOptions& options = arguments->options;
  CLI::App* sub =
      app->add_subcommand("sync", "Keep tables like those of PostgreSQL, or of a stream of change events");
  sub->add_option(
         "SOURCE", options.sources,
         "postgres://user@host:port/database, kafka://host:9092/topic,topic, or files of change events")
      ->required();
  sub->add_option(
         "--tables", options.tables,
         "Source tables: public.orders, or public.*; several by commas (default of change events: all)")
      ->delimiter(',')
      ->type_name("PATTERNS");
  sub->add_option("--database", options.database,
                  "Where the tables are (default: named as the source's schema)")
      ->type_name("NAME");
  sub->add_option("--commit-every", arguments->commit_every, "200ms, 5s or 10000 (rows) (default: 1s)")
      ->type_name("N|TIME");
  sub->add_flag("--once", arguments->once, "Stop when all is in that the source had at the start");
  sub->add_option("--until-lsn", arguments->until_lsn, "Stop at that place of the source's log")
      ->type_name("LSN");
  sub->add_option("--option", arguments->table_options,
                  "A table option of tables that are made; may be repeated")
      ->type_name("KEY=VALUE");
  sub->add_option("--slot", options.slot,
                  "The replication slot (default: made, named after warehouse and source)")
      ->type_name("NAME");
  sub->add_option("--publication", options.publication,
                  "A publication that is there (default: made, named as the slot)")
      ->type_name("NAME");
  sub->add_option("--job", options.job, "The name that positions are kept under (default: by the slot)")
      ->type_name("NAME");
  sub->add_option(
         "--dead-letters", options.dead_letter_folder,
         "The folder for events of tables that cannot be followed (default: ./headrace-dead-letters)")
      ->type_name("FOLDER");
  sub->add_option("--resync", options.resync, "Compare these source tables row by row and put them right")
      ->delimiter(',')
      ->type_name("PATTERNS");
  sub->add_flag("--adopt", options.adopt,
                "Take tables that hold other rows: compare them and put them right");
  sub->add_option("--format", arguments->format,
                  "Events: debezium-json, debezium-avro, debezium-flat, canal-json, maxwell-json, wal2json "
                  "or test-decoding")
      ->type_name("FORMAT");
  sub->add_option("--keys", options.events.keys_file,
                  "Events of a file: the messages' keys, a JSON line each")
      ->type_name("FILE");
  sub->add_option("--decimals", options.events.values.decimals, "Events: precise (base64) or string")
      ->type_name("MODE");
  sub->add_option("--binary", options.events.values.binary, "Events: base64, base64-url-safe or hex")
      ->type_name("MODE");
  sub->add_option("--times", options.events.values.times,
                  "Events: adaptive, adaptive_time_microseconds, connect, microseconds or nanoseconds")
      ->type_name("MODE");
  sub->add_option("--start", options.events.kafka.start,
                  "Kafka: earliest (default), latest, timestamp:T or offsets:0=12,1=40")
      ->type_name("PLACE");
  sub->add_option("--kafka-option", arguments->kafka_options,
                  "Kafka: a property of librdkafka, for TLS, SASL …; may be repeated")
      ->type_name("NAME=VALUE");
  AddAvroOptions(sub, &options.events.avro);
  sub->add_option("--on-truncate", arguments->on_truncate,
                  "Events of a TRUNCATE: delete every live row (default), or refuse")
      ->type_name("RULE");
  sub->add_option("--on-schema-change", arguments->on_schema_change,
                  "Events of a changed table: follow (default), or refuse")
      ->type_name("RULE");
  sub->footer(R"(
From PostgreSQL: first each table's rows are copied as of one point of the
source's log, then all transactions from there on are followed, until Ctrl-C:
what is whole is committed. Positions lie in the tables: killed at any time,
the same command goes on, and nothing is lost or comes twice. The server needs
wal_level = logical, the user REPLICATION and the right to read the tables.
Passwords: PGPASSWORD or ~/.pgpass.

Tables that are missing are made; new ones that match are taken up at the next
start. Columns that are added or widened at the source follow. A table that
cannot be followed is quarantined: its events go to a file, the others go on,
and the exit status is 3.

The slot stays at the server when sync does not run, and the server keeps its
log for it. To end for good: SELECT pg_drop_replication_slot('SLOT').

From change events: each goes to the table of its own schema and table name,
which is made when its first row comes, with the types and keys that the
events tell. Files end the sync; topics are followed until Ctrl-C, or with
--once to their end of now.

Examples:
  headrace sync kafka://localhost:9092/shop.public.orders,shop.public.customers \
    --format debezium-json --database shop
  headrace sync canal.jsonl --tables 'shop.*'
  headrace sync postgres://app@db.example:5432/shop --tables 'public.*'
  headrace sync postgres://app@localhost/shop --tables orders,customers --database shop \
    --commit-every 200ms
  headrace sync postgres://app@localhost/shop --tables 'public.*' --once)");
  OnGiven(sub, chosen, [arguments](Session& session) { return Run(*arguments, session); });
}

}  // namespace headrace::cli
