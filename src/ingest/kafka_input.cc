#include "ingest/kafka_input.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <xxhash.h>

namespace headrace::ingest {
namespace {

constexpr size_t kSampledRecords = 1000;
constexpr int64_t kSampledBytes = 4 << 20;
constexpr std::chrono::seconds kSampling{2};  // after the first record
constexpr size_t kTopicBytesInJob = 60;
constexpr int64_t kQueueBytes = 64LL << 20;

}  // namespace

Result<bool> IsKafkaInput(const IngestOptions& options) {
  const auto topic = std::find_if(options.inputs.begin(), options.inputs.end(),
                                  [](const std::string& input) { return IsKafkaAddress(input); });
  if (topic == options.inputs.end()) return false;
  if (options.inputs.size() == 1) return true;
  return Invalid("ingesting ", *topic, ": a topic is an ingest's only input; there are ",
                 options.inputs.size());
}

Status CheckKafkaOptions(const IngestOptions& options) {
  const std::string& input = options.inputs.front();
  if (!options.keys_file.empty())
    return Invalid("ingesting ", input,
                   ": a keys file goes with a file; Kafka's messages have keys of their own");
  if (options.commit_every.file)
    return Invalid("ingesting ", input, ": a commit after every file needs files; give rows or a time");
  if (options.commit_every.rows && *options.commit_every.rows < 1)
    return Invalid("ingesting: a commit every ", *options.commit_every.rows, " rows; at least 1");
  switch (options.format) {
    case EventFormat::kAuto:
      return Invalid("ingesting ", input,
                     ": say what its messages are by --format: debezium-json, debezium-avro, debezium-flat, "
                     "canal-json, maxwell-json, wal2json, json or avro");
    case EventFormat::kCsv:
    case EventFormat::kParquet:
    case EventFormat::kArrow:
      return Unsupported("ingesting ", input, ": messages of the format ", NameOf(options.format),
                         " are not read from Kafka");
    default: break;
  }
  HEADRACE_RETURN_NOT_OK(CheckAvroChoices(options.avro, options.format, input));
  if (options.format == EventFormat::kAvro && !options.source_table.empty())
    return Invalid("ingesting ", input, " as avro: its rows tell of no source table, so none is chosen");
  if (options.format == EventFormat::kAvro && !options.kind_column.empty())
    return Invalid("ingesting ", input, " as avro: a field of row kinds is read of plain text alone");
  return options.job.empty() ? Status::OK() : CheckJobName(options.job);
}

Status CheckNoKafkaOptions(const IngestOptions& options) {
  const char* given = !options.kafka.start.empty()        ? "a place to start"
                      : options.kafka.until_end           ? "reading until the end of now"
                      : !options.kafka.properties.empty() ? "an option of the Kafka client"
                                                          : nullptr;
  if (given == nullptr) return Status::OK();
  return Invalid("ingesting ", options.inputs.front(), ": ", given,
                 " is for topics; the input is none, as kafka://host:9092/topic is");
}

Status CheckAvroOfFiles(const IngestOptions& options) {
  if (!IsAvro(options.format)) return CheckAvroChoices(options.avro, options.format, options.inputs.front());
  return Unsupported("ingesting ", options.inputs.front(), ": ", NameOf(options.format),
                     " is read from Kafka's topics, kafka://host:9092/topic, not from files");
}

std::string JobOfTopic(const KafkaAddress& address, const IngestOptions& options) {
  if (!options.job.empty()) return options.job;
  const std::string identity =
      "kafka\n" + address.topic + '\n' + std::string(NameOf(options.format)) + '\n' + options.source_table;
  char hash[20];
  std::snprintf(hash, sizeof(hash), "-%08x",
                static_cast<unsigned>(XXH3_64bits(identity.data(), identity.size()) & 0xFFFFFFFF));
  return "ingest-" + address.topic.substr(0, kTopicBytesInJob) + hash;
}

Result<KafkaSourceOptions> SourceOptionsOf(const IngestOptions& options, const std::string& job) {
  KafkaSourceOptions source;
  HEADRACE_ASSIGN_OR_RETURN(source.address, ParseKafkaAddress(options.inputs.front()));
  HEADRACE_ASSIGN_OR_RETURN(source.start, ParseKafkaStart(options.kafka.start));
  source.properties = options.kafka.properties;
  source.group = "headrace-" + job;
  source.until_end = options.kafka.until_end;
  source.wants_keys = options.format != EventFormat::kJson && options.format != EventFormat::kAvro;
  if (IsAvro(options.format)) {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<AvroSchemas> schemas,
                              AvroSchemas::Open(options.avro, options.cancel));
    source.avro = AvroReading{std::move(schemas), options.format == EventFormat::kAvro};
  }
  if (options.budget != nullptr) source.queue_bytes = std::min(kQueueBytes, options.budget->limit() / 8);
  source.say = options.say;
  source.cancel = options.cancel;
  return source;
}

Result<Sample> SampleTopic(KafkaSourceOptions options) {
  using Clock = std::chrono::steady_clock;
  options.wants_keys = !options.avro || !options.avro->rows;
  const std::string topic = options.address.topic;
  const SayLine say = options.say;
  const std::atomic<bool>* cancel = options.cancel;
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RecordSource> source,
                            OpenKafkaSource(std::move(options), Position()));
  Sample sample;
  int64_t bytes = 0;
  bool said = false;
  std::string damage;  // of the first message that cannot be read
  const Clock::time_point started = Clock::now();
  Clock::time_point deadline = started + kSampling;
  while (sample.lines.size() < kSampledRecords && bytes < kSampledBytes) {
    HEADRACE_ASSIGN_OR_RETURN(const RecordSource::Event event, source->Next());
    if (event == RecordSource::Event::kEnd) break;
    if (event == RecordSource::Event::kRecord) {
      if (sample.lines.empty()) deadline = Clock::now() + kSampling;
      if (damage.empty() && !source->damage().empty())
        damage = source->place().text() + ": " + std::string(source->damage());
      sample.lines.emplace_back(source->value());
      sample.keys.emplace_back(source->key().value_or("null"));
      bytes += static_cast<int64_t>(source->value().size());
      continue;
    }
    if (cancel != nullptr && cancel->load())
      return Cancelled("waiting for a record of topic ", topic, ": stopped on request");
    if (!sample.lines.empty() && (source->lag().value_or(0) == 0 || Clock::now() > deadline)) break;
    if (sample.lines.empty() && !said && Clock::now() > deadline && say != nullptr) {
      say("topic " + topic + ": waiting for a first record, to make the table from");
      said = true;
    }
  }
  const bool nothing = std::all_of(sample.lines.begin(), sample.lines.end(),
                                   [](const std::string& line) { return line.empty(); });
  if (nothing && !damage.empty()) return Invalid("looking at the first messages: ", damage);
  return sample;
}

}  // namespace headrace::ingest
