// The public sync over the ingest room: tables opened or made, options carried across.
#include "headrace/sync.h"

#include <filesystem>

#include "api/engine_state.h"
#include "api/value_words.h"
#include "base/error.h"
#include "ingest/event_stream.h"
#include "ingest/event_sync.h"
#include "ingest/postgres_sync.h"
#include "ingest/sync.h"

namespace headrace {
namespace {

constexpr const char* kDeadLetterFolder = "headrace-dead-letters";

bool IsPostgres(const std::string& source) {
  // A file's path may have '=' in it, too: "day=2024-05-17/orders.jsonl".
  return source.starts_with("postgres://") || source.starts_with("postgresql://") ||
         source.find("dbname=") != std::string::npos;
}

Result<ingest::SyncOptions> RoomOptions(EngineInternals* engine, const SyncOptions& options) {
  ingest::SyncOptions room;
  SharedState* state = engine->state().get();
  room.patterns = options.tables;
  room.database = options.database;
  room.job = options.job;
  room.commit_every = options.commit_every;
  room.table_options = options.table_options;
  const std::string folder =
      options.dead_letter_folder.empty() ? kDeadLetterFolder : options.dead_letter_folder;
  std::error_code error;
  room.dead_letter_folder = std::filesystem::absolute(folder, error).lexically_normal().string();
  room.resync = options.resync;
  room.adopt = options.adopt;
  room.until = options.until;
  room.until_position = options.until_position;
  HEADRACE_ASSIGN_OR_RETURN(const TablePlace place, engine->PlaceOf("headrace.sync"));
  room.place = place.path;
  room.open = [engine](const std::string& name) { return engine->OpenForWriting(name); };
  room.create = [engine](const std::string& name, NewTable table) -> Result<std::vector<std::string>> {
    HEADRACE_ASSIGN_OR_RETURN(CreatedTable created, engine->Create(name, std::move(table)));
    return created.notes;
  };
  room.shared.budget = &state->budget;
  room.shared.compactors = &state->tasks;
  room.shared.lookup_cache = &state->lookup_cache;
  room.shared.scratch = state->scratch.get();
  room.progress = options.progress;
  room.note = options.note;
  room.cancel = options.cancel;
  return room;
}

// All tables of the warehouse: any may have a position of the job.
Result<std::vector<std::string>> ListAllTables(EngineInternals* engine) {
  std::vector<std::string> names;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> databases, engine->ListDatabases());
  for (const std::string& database : databases) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> tables, engine->ListTables(database));
    for (const std::string& table : tables) names.push_back(database + "." + table);
  }
  return names;
}

Status SyncEvents(EngineInternals* engine, const SyncOptions& options, SyncReport* report) {
  const char* of_postgres = !options.slot.empty() || !options.publication.empty() ? "a slot and a publication"
                            : options.until == SyncUntil::kPosition               ? "a place in the log"
                            : !options.resync.empty() || options.adopt ? "comparing tables with the source"
                                                                       : nullptr;
  if (of_postgres != nullptr)
    return Invalid("syncing ", options.sources.front(), ": ", of_postgres,
                   ": that is for PostgreSQL as the source");
  HEADRACE_ASSIGN_OR_RETURN(const ingest::SyncOptions room, RoomOptions(engine, options));
  ingest::IngestOptions stream_options = room.shared;
  const bool topics = options.sources.front().starts_with("kafka://");
  stream_options.inputs = options.sources;
  stream_options.kafka = {options.events.kafka.start, topics && options.until == SyncUntil::kCurrent,
                          options.events.kafka.properties};
  stream_options.format = options.events.format;
  const AvroInput& avro = options.events.avro;
  stream_options.avro = {avro.schema_file, avro.key_schema_file, avro.registry, avro.id_bytes};
  HEADRACE_ASSIGN_OR_RETURN(stream_options.modes, ModesOf(options.events.values));
  stream_options.keys_file = options.events.keys_file;
  stream_options.job = options.job;
  stream_options.truncate_deletes = options.events.truncate_deletes;
  stream_options.follow_schema = options.events.follow_schema;
  stream_options.say = options.note;
  stream_options.cancel = options.cancel;
  if (options.commit_every.file)
    return Invalid("syncing: a commit after every file is not made; name rows or a time");
  HEADRACE_ASSIGN_OR_RETURN(ingest::EventStream stream, ingest::OpenEventStream(stream_options));
  ingest::EventSync sync(room, std::move(stream), [engine] { return ListAllTables(engine); });
  return sync.Run(report);
}

}  // namespace

Status Sync(Engine* engine, const SyncOptions& options, SyncReport* report) {
  // Every engine is made by Engine::Open, whose class is this one.
  auto* internals = static_cast<EngineInternals*>(engine);
  *report = SyncReport();
  if (options.sources.empty())
    return Invalid(
        "syncing: no source was given; name postgres://user@host:port/database, kafka://host:9092/topic or "
        "files of change events");
  if (!IsPostgres(options.sources.front())) return SyncEvents(internals, options, report);
  if (options.sources.size() > 1)
    return Invalid("syncing: PostgreSQL is a sync's only source; there are ", options.sources.size());
  if (options.events != EventInput())
    return Invalid("syncing from PostgreSQL: how change events are read is for files and topics of them");
  if (options.tables.empty())
    return Invalid("syncing: no tables are named; write public.orders, or public.* for all of a schema");
  if (options.commit_every.file)
    return Invalid("syncing: there are no files to commit after; name rows or a time");
  HEADRACE_ASSIGN_OR_RETURN(const ingest::SyncOptions room, RoomOptions(internals, options));
  ingest::PostgresSync sync(room, {options.sources.front(), options.slot, options.publication});
  return sync.Run(report);
}

}  // namespace headrace
