// The tables that events of Canal, Maxwell, wal2json, test_decoding and flattened Debezium need.
#include <algorithm>
#include <optional>

#include "ingest/connect_schema.h"
#include "ingest/event_lines.h"
#include "ingest/flat_decoder.h"
#include "ingest/infer_table.h"
#include "ingest/maxwell_columns.h"
#include "ingest/mysql_types.h"
#include "ingest/postgres_type_names.h"
#include "ingest/sampled_columns.h"
#include "ingest/test_decoding_text.h"
#include "ingest/time_text.h"

namespace headrace::ingest {
namespace {

bool IsRowOf(EventFormat format, const JsonToken& event) {
  switch (format) {
    case EventFormat::kCanalJson: {
      const std::string_view type = TextOf(event, "type");
      return (type == "INSERT" || type == "UPDATE" || type == "DELETE") && IsArray(FindMember(event, "data"));
    }
    case EventFormat::kMaxwellJson: {
      const std::string_view type = TextOf(event, "type");
      return (type == "insert" || type == "update" || type == "delete" || type == "bootstrap-insert") &&
             IsObject(FindMember(event, "data"));
    }
    default: return IsArray(FindMember(event, "columns"));
  }
}

// The first source table that `options` lets in, by its first row.
class TakenTable {
 public:
  explicit TakenTable(const IngestOptions& options) : wanted_(options.source_table) {}
  bool Takes(const SourceName& name) {
    if (!wanted_.empty() && !name.Matches(wanted_)) return false;
    if (taken_.empty()) taken_ = name.ToString();
    return name.ToString() == taken_;
  }

 private:
  const std::string& wanted_;
  std::string taken_;
};

Status NoRows(const Sample& sample, const IngestOptions& options) {
  return Invalid("creating the table: the first ", sample.lines.size(), " lines have no change event",
                 options.source_table.empty() ? "" : " of the source table " + options.source_table,
                 " to take its columns from");
}

DataType TextType() {
  DataType type;
  type.root = TypeRoot::kVarChar;
  type.length = kMaxLength;
  return type;
}

DataField FieldOf(std::string_view name, DataType type) {
  DataField field;
  field.name = name;
  field.type = std::move(type);
  return field;
}

// Zero dates of MySQL are no dates: a column that shows one is text.
void TextWhereNoTime(const JsonToken& row, std::vector<DataField>* fields) {
  for (DataField& field : *fields) {
    const JsonToken* value = FindMember(row, field.name);
    if (value == nullptr || value->kind != JsonKind::kString) continue;
    if (field.type.root == TypeRoot::kDate && !ParseDate(value->view())) field.type = TextType();
    if (field.type.root == TypeRoot::kTimestamp && !ParseDateTime(value->view())) field.type = TextType();
  }
}

std::vector<std::string> NamesIn(const JsonToken* array) {
  std::vector<std::string> names;
  if (!IsArray(array)) return names;
  for (const JsonToken* name = array->begin(); name != array->end(); name = name->next()) {
    const JsonToken* text = name->kind == JsonKind::kObject ? FindMember(*name, "name") : name;
    if (text != nullptr && text->kind == JsonKind::kString) names.emplace_back(text->view());
  }
  return names;
}

}  // namespace

std::vector<std::string> SourceTablesOfForm(const Sample& sample, EventFormat format) {
  std::vector<std::string> names;
  const auto add = [&](const SourceName& source) {
    std::string name = source.ToString();
    if (source.known() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  };
  if (format == EventFormat::kTestDecoding) {
    TestDecodingChange change;
    std::string why;
    for (const std::string& record : JoinTestDecodingLines(sample.lines)) {
      if (!ReadTestDecodingHead(record, &change, &why)) continue;
      for (const TestDecodingChange::Name& table : change.tables) add({"", table.schema, table.table});
    }
    return names;
  }
  JsonTape tape;
  for (const std::string& line : sample.lines) {
    if (!tape.Parse(line)) {
      if (IsBlank(line)) continue;
      break;
    }
    const JsonToken& root = tape.root();
    if (root.kind != JsonKind::kObject) continue;
    const JsonToken* payload = FindMember(root, "payload");
    const JsonToken* changes = FindMember(root, "change");
    if (format == EventFormat::kDebeziumFlat) {
      add(FlatSourceOf(IsObject(payload) ? *payload : root));
    } else if (format == EventFormat::kWal2Json && IsArray(changes)) {
      for (const JsonToken* one = changes->begin(); one != changes->end(); one = one->next())
        if (one->kind == JsonKind::kObject) add(SourceNameBeside(*one));
    } else if (format != EventFormat::kJson && IsRowOf(format, root)) {
      add(SourceNameBeside(root));
    }
  }
  return names;
}

Result<NewTable> TableOfFlat(const Sample& sample, const IngestOptions& options,
                             const CreateRequest& request) {
  JsonTape tape;
  TakenTable taken(options);
  PlainColumns columns;
  std::vector<std::string> key;
  for (size_t i = 0; i < sample.lines.size(); ++i) {
    if (!tape.Parse(sample.lines[i]) || !IsObject(&tape.root())) continue;
    const JsonToken* row = &tape.root();
    const JsonToken* schema = FindMember(*row, "schema");
    const JsonToken* payload = FindMember(*row, "payload");
    const bool enveloped = IsObject(schema) && IsObject(payload);
    if (enveloped) row = payload;
    std::string field;
    std::string why;
    if (!FlatOpOf(*row, &field, &why) || !taken.Takes(FlatSourceOf(*row))) continue;
    if (key.empty() && i < sample.keys.size()) key = KeyColumnsOf(sample.keys[i]);
    if (enveloped) {
      std::vector<ConnectField> connect;
      if (!ReadConnectFields(*schema, &connect, &why))
        return Invalid("creating the table from the schema of line ", i + 1, ": ", why);
      std::vector<DataField> fields;
      for (ConnectField& one : connect)
        if (!IsFlatMark(one.name)) fields.push_back(FieldOf(one.name, std::move(one.type)));
      return FinishTable(std::move(fields), std::move(key), request);
    }
    for (const JsonToken* name = row->begin(); name != row->end(); name = name[1].next())
      if (!IsFlatMark(name->view())) columns.TypeOf(name->view()).AddJson(name[1]);
  }
  if (columns.empty()) return NoRows(sample, options);
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, columns.Fields(options.modes));
  return FinishTable(std::move(fields), std::move(key), request);
}

Result<NewTable> TableOfCanal(const Sample& sample, const IngestOptions& options,
                              const CreateRequest& request) {
  JsonTape tape;
  TakenTable taken(options);
  std::vector<DataField> fields;
  std::vector<std::string> key;
  for (size_t i = 0; i < sample.lines.size(); ++i) {
    if (!tape.Parse(sample.lines[i]) || !IsObject(&tape.root())) continue;
    const JsonToken& event = tape.root();
    if (!IsRowOf(EventFormat::kCanalJson, event) || !taken.Takes(SourceNameBeside(event))) continue;
    const JsonToken* types = FindMember(event, "mysqlType");
    if (fields.empty()) {
      if (!IsObject(types))
        return Invalid("creating the table: line ", i + 1,
                       " has no `mysqlType` to take the columns' types from; make the table first by "
                       "`headrace create`");
      for (const JsonToken* name = types->begin(); name != types->end(); name = name[1].next())
        fields.push_back(FieldOf(name->view(), TypeOfMysql(name[1].view()).value_or(TextType())));
      key = NamesIn(FindMember(event, "pkNames"));
    }
    const JsonToken& rows = *FindMember(event, "data");
    for (const JsonToken* row = rows.begin(); row != rows.end(); row = row->next())
      if (row->kind == JsonKind::kObject) TextWhereNoTime(*row, &fields);
  }
  if (fields.empty()) return NoRows(sample, options);
  return FinishTable(std::move(fields), std::move(key), request);
}

Result<NewTable> TableOfMaxwell(const Sample& sample, const IngestOptions& options,
                                const CreateRequest& request) {
  JsonTape tape;
  TakenTable taken(options);
  PlainColumns columns;
  std::vector<DataField> fields;
  std::vector<std::string> key;
  std::vector<std::pair<std::string, MaxwellTable>> defined;  // by DDL lines, the newest last
  for (const std::string& line : sample.lines) {
    if (!tape.Parse(line) || !IsObject(&tape.root())) continue;
    const JsonToken& event = tape.root();
    if (std::optional<MaxwellTable> table = ReadMaxwellTable(event)) {
      if (columns.empty()) defined.emplace_back(SourceNameBeside(event).ToString(), std::move(*table));
      continue;
    }
    if (!IsRowOf(EventFormat::kMaxwellJson, event) || !taken.Takes(SourceNameBeside(event))) continue;
    const std::string name = SourceNameBeside(event).ToString();
    if (columns.empty()) {
      for (auto& [of, table] : defined) {
        if (of != name) continue;
        fields.clear();
        for (SourceColumn& column : table.columns)
          fields.push_back(FieldOf(column.name, std::move(column.type)));
        key = std::move(table.primary_key);
      }
      if (key.empty()) key = NamesIn(FindMember(event, "primary_key_columns"));
    }
    const JsonToken& row = *FindMember(event, "data");
    columns.Add(row, {});
    TextWhereNoTime(row, &fields);
  }
  if (columns.empty()) return NoRows(sample, options);
  if (fields.empty()) {
    ValueModes modes = options.modes;
    modes.decimal = DecimalMode::kString;
    HEADRACE_ASSIGN_OR_RETURN(fields, columns.Fields(modes));
  }
  return FinishTable(std::move(fields), std::move(key), request);
}

Result<NewTable> TableOfWal2Json(const Sample& sample, const IngestOptions& options,
                                 const CreateRequest& request) {
  JsonTape tape;
  TakenTable taken(options);
  std::vector<DataField> fields;
  for (const std::string& line : sample.lines) {
    if (!tape.Parse(line) || !IsObject(&tape.root())) continue;
    const JsonToken& event = tape.root();
    const JsonToken* columns = FindMember(event, "columns");
    if (IsArray(columns)) {
      if (!taken.Takes(SourceNameBeside(event))) continue;
      for (const JsonToken* one = columns->begin(); one != columns->end(); one = one->next())
        if (one->kind == JsonKind::kObject)
          fields.push_back(FieldOf(TextOf(*one, "name"), TypeOfPostgresName(TextOf(*one, "type"))));
      return FinishTable(std::move(fields), NamesIn(FindMember(event, "pk")), request);
    }
    const JsonToken* changes = FindMember(event, "change");
    if (!IsArray(changes)) continue;
    for (const JsonToken* one = changes->begin(); one != changes->end(); one = one->next()) {
      if (one->kind != JsonKind::kObject || !taken.Takes(SourceNameBeside(*one))) continue;
      const std::vector<std::string> names = NamesIn(FindMember(*one, "columnnames"));
      const std::vector<std::string> types = NamesIn(FindMember(*one, "columntypes"));
      if (names.empty() || names.size() != types.size()) continue;
      for (size_t i = 0; i < names.size(); ++i)
        fields.push_back(FieldOf(names[i], TypeOfPostgresName(types[i])));
      return FinishTable(std::move(fields), {}, request);
    }
  }
  return NoRows(sample, options);
}

// Its types have no lengths, and nothing tells the key.
Result<NewTable> TableOfTestDecoding(const Sample& sample, const IngestOptions& options,
                                     const CreateRequest& request) {
  using What = TestDecodingChange::What;
  TakenTable taken(options);
  TestDecodingChange change;
  std::string why;
  for (const std::string& record : JoinTestDecodingLines(sample.lines)) {
    if (!ReadTestDecoding(record, &change, &why)) continue;
    if ((change.what != What::kInsert && change.what != What::kUpdate) ||
        !taken.Takes({"", change.tables.front().schema, change.tables.front().table}))
      continue;
    std::vector<DataField> fields;
    for (const TestDecodingChange::Column& column : change.columns)
      fields.push_back(FieldOf(column.name, TypeOfPostgresName(column.type)));
    return FinishTable(std::move(fields), {}, request);
  }
  return NoRows(sample, options);
}

}  // namespace headrace::ingest
