// The public ingest over the ingest room: the table opened or made, options and report carried across.
#include "headrace/ingest.h"

#include <utility>

#include "api/engine_state.h"
#include "api/value_words.h"
#include "base/error.h"
#include "ingest/ingest.h"

namespace headrace {
namespace {

Result<ingest::IngestOptions> RoomOptions(const IngestOptions& options, SharedState* state) {
  ingest::IngestOptions room;
  room.inputs = options.inputs;
  room.kafka = {options.kafka.start, options.kafka.until_end, options.kafka.properties};
  room.format = options.format;
  room.avro = {options.avro.schema_file, options.avro.key_schema_file, options.avro.registry,
               options.avro.id_bytes};
  HEADRACE_ASSIGN_OR_RETURN(room.modes, ModesOf(options.values));
  room.commit_every = options.commit_every;
  room.keys_file = options.keys_file;
  room.kind_column = options.kind_column;
  room.source_table = options.source_table;
  room.job = options.job;
  room.again = options.again;
  room.dead_letter_file = options.dead_letter_file;
  room.truncate_deletes = options.truncate_deletes;
  room.follow_schema = options.follow_schema;
  room.csv_null = options.csv_null;
  room.csv_delimiter = options.csv_delimiter;
  room.budget = &state->budget;
  room.compactors = &state->tasks;
  room.lookup_cache = &state->lookup_cache;
  room.scratch = state->scratch.get();
  room.cancel = options.cancel;
  room.progress = options.progress;
  room.say = options.say;
  return room;
}

// The table, made first where that was asked for and it is absent.
Result<Table> OpenOrCreate(EngineInternals* engine, const std::string& name, const IngestOptions& options,
                           ingest::Ingestion* ingestion, IngestReport* report) {
  Result<Table> opened = engine->OpenForWriting(name);
  if (opened.ok() && options.create) {
    report->notes.push_back("table " + name +
                            " exists already; what --create says of a new one was not applied");
  }
  if (!IsKind(opened.status(), ErrorKind::kNotFound)) return opened;
  if (!options.create)
    return WithContext("ingesting (--create makes the table from the events)", opened.status());
  HEADRACE_ASSIGN_OR_RETURN(
      NewTable proposed,
      ingestion->ProposeTable({options.primary_key, options.partition_by, options.table_options}));
  HEADRACE_ASSIGN_OR_RETURN(CreatedTable created, engine->Create(name, std::move(proposed)));
  report->notes.push_back("created table " + name + " in " + created.path);
  for (const std::string& note : created.notes) report->notes.push_back("  with " + note);
  return engine->OpenForWriting(name);
}

}  // namespace

Status Ingest(Engine* engine, const std::string& table_name, const IngestOptions& options,
              IngestReport* report) {
  // Every engine is made by Engine::Open, whose class is this one.
  auto* internals = static_cast<EngineInternals*>(engine);
  *report = IngestReport();
  HEADRACE_ASSIGN_OR_RETURN(ingest::IngestOptions room_options,
                            RoomOptions(options, internals->state().get()));
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<ingest::Ingestion> ingestion,
                            ingest::Ingestion::Open(std::move(room_options)));
  HEADRACE_ASSIGN_OR_RETURN(Table table,
                            OpenOrCreate(internals, table_name, options, ingestion.get(), report));
  return ingestion->Run(table, report);
}

}  // namespace headrace
