#include "ingest/ingest.h"

#include <algorithm>
#include <filesystem>

#include <arrow/type.h>
#include <xxhash.h>

#include "ingest/columnar_source.h"
#include "ingest/foreign_form.h"
#include "ingest/infer_table.h"
#include "ingest/ingest_run.h"
#include "ingest/kafka_input.h"
#include "ingest/line_source.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {
namespace {

constexpr size_t kSampledLines = 1000;
constexpr size_t kLinesToKnowAForm = 20;

// By the name's ending, one ".zst" taken off; kAuto when it does not tell.
EventFormat FormatOfName(std::string_view path) {
  if (path.ends_with(".zst")) path.remove_suffix(4);
  if (path.ends_with(".csv")) return EventFormat::kCsv;
  if (path.ends_with(".parquet")) return EventFormat::kParquet;
  if (path.ends_with(".arrow") || path.ends_with(".arrows") || path.ends_with(".feather") ||
      path.ends_with(".ipc"))
    return EventFormat::kArrow;
  return EventFormat::kAuto;
}

std::string ForeignFormOf(const std::vector<std::string>& lines, EventFormat reading) {
  JsonTape tape;
  for (size_t i = 0; i < std::min(lines.size(), kLinesToKnowAForm); ++i) {
    // What follows it may be the inside of a value.
    if (reading == EventFormat::kTestDecoding && IsTestDecoding(lines[i])) return {};
    std::string foreign =
        tape.Parse(lines[i]) ? RecogniseForeignJson(tape.root(), reading) : RecogniseForeignText(lines[i]);
    if (!foreign.empty()) return foreign;
    if (tape.error().empty() && FormOfJson(tape.root()) == reading) return {};
  }
  return {};
}

// Where the first line means to be an object of JSON and is none: what is wrong with it, and where.
std::string BrokenJsonOf(const std::vector<std::string>& lines) {
  JsonTape tape;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t start = lines[i].find_first_not_of(" \t\r");
    if (start == std::string::npos) continue;
    if (lines[i][start] != '{' || tape.Parse(lines[i])) return {};
    return "line " + std::to_string(i + 1) + " begins as JSON does, but is " + tape.error() +
           "; the line ends at byte " + std::to_string(lines[i].size());
  }
  return {};
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

class OpenedIngestion final : public Ingestion {
 public:
  explicit OpenedIngestion(IngestOptions options) : options_(std::move(options)) {}

  Status Open();
  Result<NewTable> ProposeTable(const CreateRequest& request) override;
  Status Run(const Table& table, IngestReport* report) override;

 private:
  Status OpenTopic();
  Status CheckOptions() const;
  Status LookAtLines();
  Status ChooseFormat();
  Status CheckForm() const;
  std::string JobName() const;

  const IngestOptions options_;
  std::optional<KafkaSourceOptions> topic_;  // the input, where it is one
  std::string topic_job_;
  RunInputs inputs_;
  Sample sample_;
};

Status OpenedIngestion::Open() {
  if (options_.inputs.empty())
    return Invalid("ingesting: no input was given; name files, a glob, or - for standard input");
  HEADRACE_ASSIGN_OR_RETURN(const bool is_topic, IsKafkaInput(options_));
  if (is_topic) return OpenTopic();
  HEADRACE_RETURN_NOT_OK(CheckNoKafkaOptions(options_));
  HEADRACE_RETURN_NOT_OK(CheckAvroOfFiles(options_));
  HEADRACE_ASSIGN_OR_RETURN(inputs_.paths, ExpandInputs(options_.inputs));
  inputs_.format = options_.format;
  if (inputs_.format == EventFormat::kAuto) inputs_.format = FormatOfName(inputs_.paths.front());
  HEADRACE_RETURN_NOT_OK(CheckOptions());
  if (IsColumnar(inputs_.format)) return Status::OK();
  HEADRACE_RETURN_NOT_OK(LookAtLines());
  HEADRACE_RETURN_NOT_OK(ChooseFormat());
  return CheckForm();
}

// Brokers are asked only when the table is there, or is to be made.
Status OpenedIngestion::OpenTopic() {
  HEADRACE_RETURN_NOT_OK(CheckKafkaOptions(options_));
  HEADRACE_ASSIGN_OR_RETURN(const KafkaAddress address, ParseKafkaAddress(options_.inputs.front()));
  topic_job_ = JobOfTopic(address, options_);
  HEADRACE_ASSIGN_OR_RETURN(topic_, SourceOptionsOf(options_, topic_job_));
  inputs_.format = options_.format;
  inputs_.commit_start = topic_->start.at != KafkaStart::At::kEarliest;
  inputs_.open_source = [topic = *topic_](const Position& position) {
    return OpenKafkaSource(topic, position);
  };
  return Status::OK();
}

Status OpenedIngestion::CheckOptions() const {
  const auto stdins = std::count(inputs_.paths.begin(), inputs_.paths.end(), "-");
  if (stdins > 1)
    return Invalid("ingesting: standard input (-) is named ", stdins, " times; it can be read once");
  if (stdins == 1 && inputs_.format == EventFormat::kParquet) {
    return Unsupported("ingesting: ", NameOf(inputs_.format),
                       " is read from files, not from standard input; write it to a file first");
  }
  std::vector<std::string> sorted = inputs_.paths;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return Invalid("ingesting: the input ", *twice, " is named twice");
  if (!options_.keys_file.empty() && inputs_.paths.size() != 1) {
    return Invalid("ingesting: a keys file goes with one input, line by line; there are ",
                   inputs_.paths.size());
  }
  if (options_.commit_every.rows && *options_.commit_every.rows < 1)
    return Invalid("ingesting: a commit every ", *options_.commit_every.rows, " rows; at least 1");
  return options_.job.empty() ? Status::OK() : CheckJobName(options_.job);
}

// The first lines of the first input that has any. Standard input stays open, for it cannot be opened twice.
Status OpenedIngestion::LookAtLines() {
  LineSourceOptions options;
  options.max_line_bytes = options_.max_line_bytes;
  options.csv = inputs_.format == EventFormat::kCsv;
  options.test_decoding = inputs_.format == EventFormat::kTestDecoding;
  options.csv_delimiter = options_.csv_delimiter;
  for (const std::string& path : inputs_.paths) {
    HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<LineSource> source, LineSource::Open(path, options));
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, source->Peek(options_.cancel));
    for (size_t i = 0; i < std::min(lines.size(), kSampledLines); ++i) sample_.lines.emplace_back(lines[i]);
    if (path == "-") inputs_.opened = std::move(source);
    if (!sample_.lines.empty()) break;
  }
  if (options_.keys_file.empty()) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<LineSource> keys,
                            LineSource::Open(options_.keys_file, LineSourceOptions{}));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, keys->Peek(options_.cancel));
  for (size_t i = 0; i < std::min(lines.size(), kSampledLines); ++i) sample_.keys.emplace_back(lines[i]);
  return Status::OK();
}

Status OpenedIngestion::ChooseFormat() {
  if (inputs_.format != EventFormat::kAuto) return Status::OK();
  inputs_.format = FormatOfLines(sample_.lines);
  if (inputs_.opened != nullptr && inputs_.format == EventFormat::kTestDecoding)
    inputs_.opened->ReadTestDecoding();
  if (inputs_.format != EventFormat::kAuto) return Status::OK();
  const std::string foreign = ForeignFormOf(sample_.lines, EventFormat::kAuto);
  if (!foreign.empty()) return Unsupported("ingesting ", inputs_.paths.front(), ": ", foreign);
  if (sample_.lines.empty()) {
    inputs_.format = EventFormat::kDebeziumJson;  // nothing to read: any will do
    return Status::OK();
  }
  const std::string broken = BrokenJsonOf(sample_.lines);
  if (!broken.empty())
    return Invalid("ingesting ", inputs_.paths.front(), ": ", broken,
                   "; mend it, or say by --format what the input is when that is not JSON lines");
  return Invalid(
      "ingesting ", inputs_.paths.front(),
      ": its first lines do not tell what it is; say so by --format, one of debezium-json, "
      "debezium-flat, canal-json, maxwell-json, wal2json, test-decoding, json, csv, parquet, arrow");
}

// Forms that are not read, and streams of several tables, are refused before anything is written.
Status OpenedIngestion::CheckForm() const {
  if (inputs_.format == EventFormat::kCsv) return Status::OK();
  if (inputs_.format == EventFormat::kJson && options_.format == EventFormat::kJson) return Status::OK();
  const std::string foreign =
      IsAvro(inputs_.format) ? std::string() : ForeignFormOf(sample_.lines, inputs_.format);
  if (!foreign.empty()) return Unsupported("ingesting ", options_.inputs.front(), ": ", foreign);
  if (!options_.source_table.empty() || !options_.dead_letter_file.empty()) return Status::OK();
  const std::vector<std::string> tables = SourceTablesOf(sample_, inputs_.format);
  if (tables.size() <= 1) return Status::OK();
  return Invalid("ingesting ", options_.inputs.front(), ": its events are of ", tables.size(),
                 " source tables (", JoinNames(tables),
                 "); one ingest takes one of them: choose it by --source-table");
}

Result<NewTable> OpenedIngestion::ProposeTable(const CreateRequest& request) {
  if (topic_) {
    HEADRACE_ASSIGN_OR_RETURN(sample_, SampleTopic(*topic_));
    HEADRACE_RETURN_NOT_OK(CheckForm());
  }
  switch (inputs_.format) {
    case EventFormat::kAuto:
    case EventFormat::kDebeziumJson:
    case EventFormat::kDebeziumAvro:
    case EventFormat::kAvro: return TableOfDebezium(sample_, options_, request);
    case EventFormat::kDebeziumFlat: return TableOfFlat(sample_, options_, request);
    case EventFormat::kCanalJson: return TableOfCanal(sample_, options_, request);
    case EventFormat::kMaxwellJson: return TableOfMaxwell(sample_, options_, request);
    case EventFormat::kWal2Json: return TableOfWal2Json(sample_, options_, request);
    case EventFormat::kTestDecoding: return TableOfTestDecoding(sample_, options_, request);
    case EventFormat::kJson: return TableOfJsonLines(sample_, options_, request);
    case EventFormat::kCsv: return TableOfCsv(sample_, options_, request);
    case EventFormat::kParquet:
    case EventFormat::kArrow: {
      HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<ColumnarSource> source,
                                ColumnarSource::Open(inputs_.paths.front(), inputs_.format));
      const std::shared_ptr<arrow::Schema> schema = source->schema();
      if (inputs_.paths.front() == "-") inputs_.opened_columns = std::move(source);
      return TableOfArrow(*schema, options_, request);
    }
  }
  return Invalid("creating the table: no format");
}

// The same command is the same job: its position lies in the table itself, so the table's name or folder is no part of it, and a table
// that was renamed, moved or copied knows what it holds. What may differ between two tries (how often to commit, where bad records go) is no part of it.
std::string OpenedIngestion::JobName() const {
  if (!options_.job.empty()) return options_.job;
  if (topic_) return topic_job_;
  if (std::find(inputs_.paths.begin(), inputs_.paths.end(), "-") != inputs_.paths.end()) return {};
  std::string identity;
  std::error_code error;
  for (const std::string& input : options_.inputs)
    identity += '\n' + std::filesystem::absolute(input, error).lexically_normal().string();
  identity += '\n' + std::string(NameOf(inputs_.format)) + '\n' + options_.source_table;
  char name[32];
  std::snprintf(name, sizeof(name), "ingest-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(identity.data(), identity.size())));
  return name;
}

Status OpenedIngestion::Run(const Table& table, IngestReport* report) {
  std::string job = JobName();  // looks at the inputs, so before they are handed over
  IngestRun run(table, options_, std::move(inputs_), std::move(job), report);
  return run.Run();
}

}  // namespace

Result<std::unique_ptr<Ingestion>> Ingestion::Open(IngestOptions options) {
  auto ingestion = std::make_unique<OpenedIngestion>(std::move(options));
  HEADRACE_RETURN_NOT_OK(ingestion->Open());
  return ingestion;
}

Status RunIngest(const Table& table, IngestOptions options, IngestReport* report) {
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Ingestion> ingestion, Ingestion::Open(std::move(options)));
  return ingestion->Run(table, report);
}

}  // namespace headrace::ingest
