#include "ingest/infer_table.h"

#include <algorithm>
#include <optional>

#include <arrow/type.h>

#include "ingest/connect_schema.h"
#include "ingest/csv_decoder.h"
#include "ingest/event_lines.h"
#include "ingest/json_tape.h"
#include "ingest/sampled_columns.h"
#include "ingest/source_table.h"

namespace headrace::ingest {
namespace {

const JsonToken* Payload(const JsonToken* token) {
  if (!IsObject(token)) return nullptr;
  const JsonToken* payload = FindMember(*token, "payload");
  return payload != nullptr && FindMember(*token, "schema") != nullptr
             ? (IsObject(payload) ? payload : nullptr)
             : token;
}

// One sampled line that is a change of a row.
class SampledEvent {
 public:
  bool Parse(const std::string& line, const std::string* key_line) {
    event_ = key_ = schema_ = nullptr;
    broken_ = !line_.Parse(line);
    if (broken_ || !IsObject(&line_.root())) return false;
    const JsonToken* root = &line_.root();
    const JsonToken* value = FindMember(*root, "value");
    if (value == nullptr) value = FindMember(*root, "payload");
    if (value != nullptr && FindMember(*root, "key") != nullptr && FindMember(*root, "op") == nullptr) {
      key_ = Unpacked(*FindMember(*root, "key"), &key_tape_);
      root = Unpacked(*value, &value_tape_);
      if (root == nullptr) return false;
    }
    if (key_line != nullptr && key_tape_.Parse(*key_line)) key_ = KeyOfRecord(key_tape_.root());
    event_ = Payload(root);
    if (event_ != root) schema_ = FindMember(*root, "schema");
    if (event_ == nullptr || FindMember(*event_, "op") == nullptr) return false;
    // A plain event may leave its source out.
    const JsonToken* source = FindMember(*event_, "source");
    return source == nullptr || source->is_null() || IsObject(source);
  }

  bool is_broken() const { return broken_; }
  const JsonToken& event() const { return *event_; }
  const JsonToken* schema() const { return schema_; }
  SourceName source() const { return SourceNameOf(FindMember(*event_, "source")); }
  const JsonToken* row() const {
    const JsonToken* after = FindMember(*event_, "after");
    return IsObject(after) ? after : FindMember(*event_, "before");
  }
  // The columns of the message's key.
  std::vector<std::string> KeyColumns() const {
    std::vector<std::string> names;
    const JsonToken* key = Payload(key_);
    if (key == nullptr) return names;
    for (const JsonToken* name = key->begin(); name != key->end(); name = name[1].next())
      names.emplace_back(name->view());
    return names;
  }

 private:
  static const JsonToken* Unpacked(const JsonToken& token, JsonTape* tape) {
    if (token.kind != JsonKind::kString) return &token;
    return tape->Parse(token.view()) ? &tape->root() : nullptr;
  }
  static const JsonToken* KeyOfRecord(const JsonToken& root) {
    if (root.kind != JsonKind::kObject) return nullptr;
    const JsonToken* key = FindMember(root, "key");
    return key != nullptr && (IsObject(key) || key->is_null()) ? key : &root;
  }

  bool broken_ = false;
  JsonTape line_;
  JsonTape value_tape_;
  JsonTape key_tape_;
  const JsonToken* event_ = nullptr;
  const JsonToken* key_ = nullptr;
  const JsonToken* schema_ = nullptr;
};

}  // namespace

std::vector<std::string> SourceTablesOf(const Sample& sample, EventFormat format) {
  if (format == EventFormat::kAvro) return {};
  if (format != EventFormat::kDebeziumJson && format != EventFormat::kDebeziumAvro &&
      format != EventFormat::kAuto)
    return SourceTablesOfForm(sample, format);
  std::vector<std::string> names;
  SampledEvent event;
  for (const std::string& line : sample.lines) {
    const bool is_event = event.Parse(line, nullptr);
    // Reading stops at a line that is not JSON, so what follows it does not count.
    if (!is_event && event.is_broken() && line.find_first_not_of(" \t\r") != std::string::npos) break;
    if (!is_event || !event.source().known()) continue;
    const JsonToken* op = FindMember(event.event(), "op");
    if (op->kind != JsonKind::kString || op->view() == "m") continue;
    std::string name = event.source().ToString();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

Result<NewTable> TableOfDebezium(const Sample& sample, const IngestOptions& options,
                                 const CreateRequest& request) {
  SampledEvent event;
  PlainColumns columns;
  std::vector<std::string> message_key;
  std::optional<std::string> taken;  // the source table, as of the first row; empty: events name none
  for (size_t i = 0; i < sample.lines.size(); ++i) {
    const std::string* key_line = i < sample.keys.size() ? &sample.keys[i] : nullptr;
    if (!event.Parse(sample.lines[i], key_line)) continue;
    const SourceName source = event.source();
    if (!options.source_table.empty() && !source.Matches(options.source_table)) continue;
    if (!IsObject(event.row())) continue;
    if (!taken) taken = source.ToString();
    if (source.ToString() != *taken) continue;
    if (message_key.empty()) message_key = event.KeyColumns();
    const JsonToken* image = event.schema() == nullptr ? nullptr : FindConnectField(*event.schema(), "after");
    if (image == nullptr) {
      columns.Add(*event.row(), {});
      continue;
    }
    std::vector<ConnectField> connect;
    std::string why;
    if (!ReadConnectFields(*image, &connect, &why))
      return Invalid("creating the table from the schema of line ", i + 1, ": ", why);
    std::vector<DataField> fields;
    for (ConnectField& one : connect) {
      DataField field;
      field.name = std::move(one.name);
      field.type = std::move(one.type);
      fields.push_back(std::move(field));
    }
    return FinishTable(std::move(fields), std::move(message_key), request);
  }
  if (columns.empty()) {
    return Invalid("creating the table: the first ", sample.lines.size(), " lines have no change event",
                   options.source_table.empty() ? "" : " of the source table " + options.source_table,
                   " to take its columns from");
  }
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, columns.Fields(options.modes));
  return FinishTable(std::move(fields), std::move(message_key), request);
}

Result<NewTable> TableOfJsonLines(const Sample& sample, const IngestOptions& options,
                                  const CreateRequest& request) {
  JsonTape tape;
  PlainColumns columns;
  for (const std::string& line : sample.lines) {
    if (tape.Parse(line) && IsObject(&tape.root())) columns.Add(tape.root(), options.kind_column);
  }
  if (columns.empty())
    return Invalid("creating the table: the first ", sample.lines.size(),
                   " lines hold no row to take its columns from");
  ValueModes modes = options.modes;
  modes.decimal = DecimalMode::kString;  // text is text in plain rows
  if (modes.binary == BinaryMode::kUnsaid) modes.binary = BinaryMode::kHex;
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, columns.Fields(modes));
  return FinishTable(std::move(fields), {}, request);
}

Result<NewTable> TableOfCsv(const Sample& sample, const IngestOptions& options,
                            const CreateRequest& request) {
  std::vector<CsvField> header;
  std::vector<CsvField> record;
  std::string why = "there is no header";
  if (sample.lines.empty() || !SplitCsvRecord(sample.lines[0], options.csv_delimiter, &header, &why)) {
    return Invalid("creating the table from CSV: ", why);
  }
  if (header[0].text.starts_with("\xEF\xBB\xBF")) header[0].text.erase(0, 3);
  PlainColumns columns;
  for (const CsvField& field : header) {
    if (field.text != options.kind_column || field.text.empty()) columns.TypeOf(field.text);
  }
  for (size_t i = 1; i < sample.lines.size(); ++i) {
    if (!SplitCsvRecord(sample.lines[i], options.csv_delimiter, &record, &why) ||
        record.size() != header.size())
      continue;
    for (size_t j = 0; j < record.size(); ++j) {
      const bool null = !record[j].quoted && (record[j].text.empty() || record[j].text == options.csv_null);
      if (!null && (options.kind_column.empty() || header[j].text != options.kind_column))
        columns.TypeOf(header[j].text).AddText(record[j].text);
    }
  }
  return FinishTable(columns.FieldsOfText(), {}, request);
}

Result<NewTable> TableOfArrow(const arrow::Schema& schema, const IngestOptions& options,
                              const CreateRequest& request) {
  std::vector<DataField> fields;
  for (const std::shared_ptr<arrow::Field>& column : schema.fields()) {
    if (!options.kind_column.empty() && column->name() == options.kind_column) continue;
    DataField field;
    field.name = column->name();
    const Result<DataType> type = FromArrowType(*column->type());
    if (!type.ok()) return WithContext("creating the table, column '" + column->name() + "'", type.status());
    field.type = *type;
    field.type.nullable = column->nullable();
    fields.push_back(std::move(field));
  }
  return FinishTable(std::move(fields), {}, request);
}

}  // namespace headrace::ingest
