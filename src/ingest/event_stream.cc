#include "ingest/event_stream.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <xxhash.h>

#include "ingest/event_format.h"
#include "ingest/foreign_form.h"
#include "ingest/joined_sources.h"
#include "ingest/kafka_input.h"

namespace headrace::ingest {
namespace {

constexpr size_t kSampledLines = 1000;

// The same stream is the same job, whatever becomes of its tables.
std::string JobOf(const IngestOptions& options, EventFormat format, const std::string& inputs) {
  if (!options.job.empty()) return options.job;
  const std::string identity = inputs + '\n' + std::string(NameOf(format));
  char name[32];
  std::snprintf(name, sizeof(name), "sync-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(identity.data(), identity.size())));
  return name;
}

Status CheckEventForm(EventFormat format, const std::string& name) {
  if (IsEventForm(format)) return Status::OK();
  return Invalid(
      "syncing ", name, ": ", format == EventFormat::kAuto ? "its form is not known" : NameOf(format),
      format == EventFormat::kAuto ? "" : " tells of no source tables",
      "; say by --format which form of change events it is: debezium-json, debezium-avro, debezium-flat, "
      "canal-json, maxwell-json, wal2json or test-decoding");
}

Result<std::vector<std::string>> Lines(const std::string& path, const IngestOptions& options,
                                       std::unique_ptr<LineSource>* opened) {
  LineSourceOptions line_options;
  line_options.max_line_bytes = options.max_line_bytes;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<LineSource> source, LineSource::Open(path, line_options));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string_view> peeked, source->Peek(options.cancel));
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(peeked.size(), kSampledLines); ++i) lines.emplace_back(peeked[i]);
  if (path == "-") *opened = std::move(source);
  return lines;
}

Result<EventStream> OpenFiles(const IngestOptions& options) {
  HEADRACE_RETURN_NOT_OK(CheckNoKafkaOptions(options));
  HEADRACE_RETURN_NOT_OK(CheckAvroOfFiles(options));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandInputs(options.inputs));
  std::vector<std::string> sorted = paths;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return Invalid("syncing: the input ", *twice, " is named twice");
  if (!options.keys_file.empty() && paths.size() != 1)
    return Invalid("syncing: a keys file goes with one input, line by line; there are ", paths.size());
  const bool has_stdin = std::find(paths.begin(), paths.end(), "-") != paths.end();
  if (has_stdin && options.job.empty())
    return Invalid("syncing standard input: name the job by --job, so that it can be gone on with");

  EventStream stream;
  stream.name = paths.size() == 1 ? paths.front() : std::to_string(paths.size()) + " files";
  std::shared_ptr<std::unique_ptr<LineSource>> opened = std::make_shared<std::unique_ptr<LineSource>>();
  for (const std::string& path : paths) {
    HEADRACE_ASSIGN_OR_RETURN(stream.sample.lines, Lines(path, options, opened.get()));
    if (!stream.sample.lines.empty() || path == "-") break;
  }
  if (!options.keys_file.empty()) {
    std::unique_ptr<LineSource> none;
    HEADRACE_ASSIGN_OR_RETURN(stream.sample.keys, Lines(options.keys_file, options, &none));
  }
  stream.format = options.format;
  if (stream.format == EventFormat::kAuto) stream.format = FormatOfLines(stream.sample.lines);
  HEADRACE_RETURN_NOT_OK(CheckEventForm(stream.format, stream.name));
  std::string identity;
  std::error_code error;
  for (const std::string& input : options.inputs)
    identity += std::filesystem::absolute(input, error).lexically_normal().string() + '\n';
  stream.job = JobOf(options, stream.format, identity);
  stream.can_reopen = !has_stdin;
  LineSourceOptions line_options;
  line_options.max_line_bytes = options.max_line_bytes;
  line_options.test_decoding = stream.format == EventFormat::kTestDecoding;
  if (line_options.test_decoding && *opened != nullptr) (*opened)->ReadTestDecoding();
  stream.open = [paths, opened, line_options, keys = options.keys_file](
                    const Position& position) -> Result<std::unique_ptr<RecordSource>> {
    return std::make_unique<FilesInOrder>(paths, std::move(*opened), line_options, keys, position);
  };
  return stream;
}

// kafka://host:9092/a,b as kafka://host:9092/a and kafka://host:9092/b.
std::vector<std::string> TopicAddresses(const std::string& address) {
  constexpr std::string_view kScheme = "kafka://";
  const size_t slash = address.find('/', kScheme.size());
  if (slash == std::string::npos) return {address};
  std::vector<std::string> addresses;
  for (size_t begin = slash + 1; begin <= address.size();) {
    const size_t end = std::min(address.find(',', begin), address.size());
    addresses.push_back(address.substr(0, slash + 1) + address.substr(begin, end - begin));
    begin = end + 1;
  }
  return addresses;
}

Result<EventStream> OpenTopics(const IngestOptions& options) {
  if (options.inputs.size() != 1) {
    return Invalid(
        "syncing: topics are named in one address, kafka://host:9092/topic,topic, and not beside other "
        "inputs");
  }
  EventStream stream;
  stream.name = options.inputs.front();
  stream.format = options.format;
  HEADRACE_RETURN_NOT_OK(CheckEventForm(stream.format, stream.name));
  const std::vector<std::string> addresses = TopicAddresses(options.inputs.front());
  std::string identity = "kafka";
  std::vector<std::string> topics;
  for (const std::string& address : addresses) {
    HEADRACE_ASSIGN_OR_RETURN(const KafkaAddress one, ParseKafkaAddress(address));
    if (std::find(topics.begin(), topics.end(), one.topic) != topics.end())
      return Invalid("syncing ", stream.name, ": topic ", one.topic, " is named twice");
    topics.push_back(one.topic);
    identity += '\n' + one.topic;
  }
  stream.job = JobOf(options, stream.format, identity);
  HEADRACE_RETURN_NOT_OK(CheckJobName(stream.job));
  std::vector<KafkaSourceOptions> sources;
  for (const std::string& address : addresses) {
    IngestOptions one = options;
    one.inputs = {address};
    HEADRACE_RETURN_NOT_OK(CheckKafkaOptions(one));
    HEADRACE_ASSIGN_OR_RETURN(KafkaSourceOptions source, SourceOptionsOf(one, stream.job));
    source.queue_bytes =
        std::max<int64_t>(source.queue_bytes / static_cast<int64_t>(addresses.size()), 1 << 20);
    sources.push_back(std::move(source));
  }
  stream.open = [sources](const Position& position) -> Result<std::unique_ptr<RecordSource>> {
    std::vector<std::unique_ptr<RecordSource>> opened;
    for (const KafkaSourceOptions& source : sources) {
      HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<RecordSource> one, OpenKafkaSource(source, position));
      opened.push_back(std::move(one));
    }
    if (opened.size() == 1) return std::move(opened.front());
    return std::make_unique<SourcesInTurn>(std::move(opened));
  };
  return stream;
}

}  // namespace

Result<EventStream> OpenEventStream(const IngestOptions& options) {
  if (options.inputs.empty()) return Invalid("syncing: no input was given");
  if (!options.job.empty()) HEADRACE_RETURN_NOT_OK(CheckJobName(options.job));
  const bool topics = std::any_of(options.inputs.begin(), options.inputs.end(),
                                  [](const std::string& input) { return IsKafkaAddress(input); });
  Result<EventStream> stream = topics ? OpenTopics(options) : OpenFiles(options);
  if (!stream.ok()) return stream;
  stream->events.modes = options.modes;
  stream->events.truncate_deletes = options.truncate_deletes;
  stream->events.follow_schema = options.follow_schema;
  return stream;
}

}  // namespace headrace::ingest
