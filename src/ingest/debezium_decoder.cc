#include "ingest/debezium_decoder.h"

#include <algorithm>

#include "ingest/event_lines.h"
#include "ingest/foreign_form.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

constexpr size_t kKnownSchemas = 8;
constexpr std::string_view kSchemaStart = "{\"schema\":";
constexpr std::string_view kPayloadStart = ",\"payload\":";

// The value inside an envelope, or the value itself; nullptr unless that is an object.
const JsonToken* PayloadOf(const JsonToken* token) {
  if (!IsObject(token)) return nullptr;
  const JsonToken* payload = FindMember(*token, "payload");
  if (payload != nullptr && FindMember(*token, "schema") != nullptr)
    return IsObject(payload) ? payload : nullptr;
  return token;
}

std::string PathOf(std::string_view image, const std::string& field) {
  return field.empty() ? std::string(image) : std::string(image) + "." + field;
}

// The image of a source that logs whole rows: every field of `after`, none left out.
bool IsWhole(const JsonToken& before, const JsonToken& after) {
  if (before.length != after.length) return false;
  const JsonToken* old_name = before.begin();
  for (const JsonToken* name = after.begin(); name != after.end();
       name = name[1].next(), old_name = old_name[1].next()) {
    if (old_name->view() != name->view() || IsUnavailable(old_name[1])) return false;
  }
  return true;
}

LineOutcome BadField(std::string_view image, FieldProblem problem) {
  return LineOutcome::Bad(PathOf(image, problem.field), std::move(problem.reason));
}

}  // namespace

// The members of an event that count; each may be absent.
struct DebeziumDecoder::Event {
  const JsonToken* root = nullptr;
  const JsonToken* before = nullptr;
  const JsonToken* after = nullptr;
  const JsonToken* source = nullptr;
  const JsonToken* op = nullptr;
  const JsonToken* key = nullptr;  // the message's key, an object
  std::string_view repeated;       // a name that came twice
  std::string log_position;        // PostgreSQL's: one change has one

  explicit Event(const JsonToken& object) : root(&object) {
    for (const JsonToken* name = object.begin(); name != object.end(); name = name[1].next()) {
      const JsonToken** slot = SlotOf(name->view());
      if (slot == nullptr) continue;
      if (*slot != nullptr) repeated = name->view();
      *slot = name + 1;
    }
  }

  void FindLogPosition() {
    if (!IsObject(source)) return;
    const JsonToken* lsn = FindMember(*source, "lsn");
    const JsonToken* transaction = FindMember(*source, "txId");
    if (lsn == nullptr || transaction == nullptr || lsn->kind != JsonKind::kNumber ||
        transaction->kind != JsonKind::kNumber)
      return;
    log_position.assign(lsn->view()).append("/").append(transaction->view());
  }

 private:
  const JsonToken** SlotOf(std::string_view name) {
    if (name == "before") return &before;
    if (name == "after") return &after;
    if (name == "source") return &source;
    if (name == "op") return &op;
    return nullptr;
  }
};

DebeziumDecoder::DebeziumDecoder(TableShape table, DebeziumOptions options)
    : table_(std::move(table)),
      options_(std::move(options)),
      source_(options_.source_table),
      rows_(&table_, options_.modes),
      deleted_key_(table_.fields) {
  source_.Remember(options_.known_source_table);
}

LineOutcome DebeziumDecoder::Decode(std::string_view line, std::optional<std::string_view> key_line,
                                    CurrentRows* current, RowBuffer* out) {
  if (IsBlank(line)) return LineOutcome::Ignored("blank line");
  const int64_t before = out->rows();
  UseKnown(nullptr);
  std::optional<LineOutcome> known = DecodeKnownPrefix(line, key_line, current, out);
  LineOutcome outcome;
  if (known) {
    outcome = std::move(*known);
  } else if (!tape_.Parse(line)) {
    std::string foreign = RecogniseForeignText(line);
    outcome = LineOutcome::Bad("", foreign.empty() ? tape_.error() : foreign);
    outcome.foreign_form = !foreign.empty();
  } else {
    outcome = DecodeMessage(tape_.root(), key_line, current, out);
    if (outcome.fate == LineFate::kApplied) RememberPrefix(line);
  }
  if (options_.follow_schema && outcome.fate == LineFate::kBad && schema_ != nullptr)
    OfferChanges(table_, schema_->columns, &outcome);
  if (outcome.fate != LineFate::kApplied) out->TruncateTo(before);

  // A tombstone may stand between the two halves of a key change; anything else ends the waiting.
  if (outcome.rule == "tombstone") {
    outcome.open_delete = !deleted_position_.empty();
  } else if (!outcome.open_delete && outcome.fate != LineFate::kNeedsRows &&
             outcome.fate != LineFate::kSchemaChange) {
    deleted_position_.clear();
  }
  return outcome;
}

LineOutcome DebeziumDecoder::DecodeMessage(const JsonToken& root, std::optional<std::string_view> key_line,
                                           CurrentRows* current, RowBuffer* out) {
  if (root.is_null()) return LineOutcome::Ignored("tombstone");
  if (root.kind != JsonKind::kObject)
    return LineOutcome::Bad("", "a change event is an object, this is " + std::string(NameOf(root.kind)));

  LineOutcome problem;
  const JsonToken* key = ParseKeyLine(key_line, &problem);
  if (problem.fate == LineFate::kBad) return problem;

  // A whole message, as consumers print it: the key beside the value.
  const JsonToken* message_key = FindMember(root, "key");
  const JsonToken* value = FindMember(root, "value");
  if (value == nullptr) value = FindMember(root, "payload");
  if (message_key == nullptr || value == nullptr || FindMember(root, "op") != nullptr)
    return DecodeEnveloped(root, key, current, out);
  if (value->is_null()) return LineOutcome::Ignored("tombstone");
  if (IsObject(message_key)) key = message_key;
  if (message_key->kind == JsonKind::kString) {
    if (!key_tape_.Parse(message_key->view())) return LineOutcome::Bad("key", key_tape_.error());
    key = &key_tape_.root();
  }
  if (value->kind == JsonKind::kString) {
    if (!inner_tape_.Parse(value->view())) return LineOutcome::Bad("value", inner_tape_.error());
    value = &inner_tape_.root();
  }
  if (value->is_null()) return LineOutcome::Ignored("tombstone");
  if (value->kind != JsonKind::kObject)
    return LineOutcome::Bad("value", "is " + std::string(NameOf(value->kind)) + ", not an event");
  return DecodeEnveloped(*value, key, current, out);
}

LineOutcome DebeziumDecoder::DecodeEnveloped(const JsonToken& root, const JsonToken* key,
                                             CurrentRows* current, RowBuffer* out) {
  const JsonToken* payload = FindMember(root, "payload");
  const JsonToken* schema = FindMember(root, "schema");
  UseKnown(nullptr);
  if (payload == nullptr || schema == nullptr || FindMember(root, "op") != nullptr)
    return DecodePayload(root, key, current, out);
  if (root.length != 2)
    return LineOutcome::Bad(
        "", "an envelope has 'schema' and 'payload' alone, this one has more, or one of them twice");
  if (payload->is_null()) return LineOutcome::Ignored("tombstone");
  if (payload->kind != JsonKind::kObject)
    return LineOutcome::Bad("payload", "is " + std::string(NameOf(payload->kind)) + ", not an event");
  std::string why;
  if (IsObject(schema) && !UseSchema(*schema, &why)) return LineOutcome::Bad("schema", why);
  return DecodePayload(*payload, key, current, out);
}

LineOutcome DebeziumDecoder::DecodePayload(const JsonToken& payload, const JsonToken* key,
                                           CurrentRows* current, RowBuffer* out) {
  Event event(payload);
  if (!event.repeated.empty())
    return LineOutcome::Bad(std::string(event.repeated), "comes twice in the event");
  event.key = PayloadOf(key);
  return DecodeEvent(event, current, out);
}

LineOutcome DebeziumDecoder::DecodeEvent(Event& event, CurrentRows* current, RowBuffer* out) {
  if (event.op == nullptr) return DecodeWithoutOp(event);
  if (event.op->kind != JsonKind::kString) {
    return LineOutcome::Bad(
        "op", "is " + std::string(NameOf(event.op->kind)) + ", one of the texts c, r, u, d, t, m is wanted");
  }
  if (event.op->view() == "m") return LineOutcome::Ignored("message");
  if (event.op->length != 1 || std::string_view("crudt").find(event.op->text[0]) == std::string_view::npos) {
    return LineOutcome::Bad("op", "is " + Excerpt(*event.op) + ", one of c, r, u, d, t, m is wanted");
  }
  const SourceName name = SourceNameOf(event.source);
  switch (source_.Ask(name)) {
    case SourceChoice::Answer::kOurs: break;
    case SourceChoice::Answer::kOther: return LineOutcome::Ignored("another source table");
    case SourceChoice::Answer::kMixed:
      return LineOutcome::Bad("source.table",
                              "is of " + name.ToString() + ", while this ingest takes " + source_.chosen() +
                                  ": one ingest takes one source table, chosen by its name with the schema");
  }
  event.FindLogPosition();
  return DecodeChange(event, current, out);
}

LineOutcome DebeziumDecoder::DecodeChange(const Event& event, CurrentRows* current, RowBuffer* out) {
  if (event.op->text[0] == 't') {
    if (table_.key_columns.empty())
      return LineOutcome::Bad("op", "is a truncate, but the table has no primary key to delete by");
    if (!options_.truncate_deletes)
      return LineOutcome::Bad("op", "is a truncate, which this ingest was told not to take");
    LineOutcome outcome;
    outcome.fate = LineFate::kTruncate;
    return outcome;
  }
  if (event.op->text[0] == 'd') return Delete(event, out);
  if (!IsObject(event.after)) {
    const std::string found =
        event.after == nullptr ? "is missing" : "is " + std::string(NameOf(event.after->kind));
    return LineOutcome::Bad("after", found + ", an object with the row is wanted");
  }
  return event.op->text[0] == 'u' ? Update(event, current, out) : Insert(event, current, out);
}

// What is no change of a row: heartbeats, transaction marks, schema changes; and what is no Debezium event at all.
LineOutcome DebeziumDecoder::DecodeWithoutOp(const Event& event) {
  const JsonToken& root = *event.root;
  if (root.length == 1 && FindMember(root, "ts_ms") != nullptr) return LineOutcome::Ignored("heartbeat");
  const JsonToken* status = FindMember(root, "status");
  if (status != nullptr && FindMember(root, "id") != nullptr && event.after == nullptr &&
      (status->view() == "BEGIN" || status->view() == "END")) {
    return LineOutcome::Ignored("transaction boundary");
  }
  if (FindMember(root, "ddl") != nullptr) return DecodeDdl(event);
  std::string foreign = RecogniseForeignJson(root, EventFormat::kDebeziumJson);
  const bool is_foreign = !foreign.empty();
  LineOutcome outcome =
      is_foreign ? LineOutcome::Bad("", std::move(foreign)) : LineOutcome::Bad("op", "is missing");
  outcome.foreign_form = is_foreign;
  return outcome;
}

// A schema change of the source. Making the table is what comes before its first row; what changes the table ingested is followed where that was
// asked for and the statement is one that is understood, else refused.
LineOutcome DebeziumDecoder::DecodeDdl(const Event& event) {
  const SourceName name = SourceNameOf(event.source);
  const JsonToken* changes = FindMember(*event.root, "tableChanges");
  if (changes == nullptr || changes->kind != JsonKind::kArray || changes->length == 0)
    return LineOutcome::Ignored("schema change of no table");
  const JsonToken* snapshot = IsObject(event.source) ? FindMember(*event.source, "snapshot") : nullptr;
  const bool of_snapshot =
      snapshot != nullptr && snapshot->kind == JsonKind::kString && snapshot->view() != "false";
  if (!of_snapshot && options_.follow_schema) {
    for (const auto& [from, to] : ParseMysqlDdl(TextOf(*event.root, "ddl")).renamed) {
      const SourceName old_name{from.database.empty() ? name.database : from.database, name.schema,
                                from.table};
      if (!source_.IsOurs(old_name)) continue;
      const SourceName new_name{to.database.empty() ? name.database : to.database, name.schema, to.table};
      source_.Rename(new_name.ToString());
      return LineOutcome::Ignored("the source table's new name");
    }
  }
  const bool ours = source_.chosen().empty()
                        ? (options_.source_table.empty() || name.Matches(options_.source_table))
                        : name.ToString() == source_.chosen();
  if (!ours) return LineOutcome::Ignored("schema change of another table");
  if (of_snapshot) return LineOutcome::Ignored("schema of the snapshot");
  for (const JsonToken* change = changes->begin(); change != changes->end(); change = change->next()) {
    const std::string_view type = IsObject(change) ? TextOf(*change, "type") : std::string_view();
    if (type == "CREATE" && source_.chosen().empty()) continue;
    return DecodeAlter(event);
  }
  return LineOutcome::Ignored("schema of a new table");
}

// With a schema around them the rows tell their types themselves, when they come; without one the statement does.
LineOutcome DebeziumDecoder::DecodeAlter(const Event& event) {
  const std::string_view statement = TextOf(*event.root, "ddl");
  const std::string_view connector = IsObject(event.source) ? TextOf(*event.source, "connector") : "";
  if (options_.follow_schema && (connector == "mariadb" || connector == "mysql")) {
    const Ddl ddl = ParseMysqlDdl(statement);
    if (ddl.kind == Ddl::Kind::kDrop) return LineOutcome::Ignored("drop of the source table");
    if (ddl.kind == Ddl::Kind::kTruncate) return LineOutcome::Ignored("statement of a truncate");
    return FollowDdl(ddl, schema_ != nullptr ? DdlExtent::kNames : DdlExtent::kAll, table_);
  }
  return LineOutcome::Bad("ddl",
                          "the source changed its table (" + Excerpt(*FindMember(*event.root, "ddl")) +
                              "): that is followed where --on-schema-change says so, for MySQL and MariaDB");
}

LineOutcome DebeziumDecoder::Insert(const Event& event, CurrentRows* current, RowBuffer* out) {
  const bool create = event.op->text[0] == 'c';
  FieldProblem problem;
  if (create && old_key_ != nullptr && !table_.key_columns.empty()) {
    deleted_key_.TruncateTo(0);
    if (!rows_.Append(*old_key_, shapes_, RowReader::Strictness::kKeyOnly, &deleted_key_, nullptr,
                      &problem)) {
      return BadField("headers.__debezium.oldkey", std::move(problem));
    }
    deleted_key_.CloseRow(RowKind::kDelete);
    return AppendAfter(event, RowKind::kInsert, nullptr, OldRow::kDeleted, current, out);
  }
  // Only the second half of a key change can leave out values; in any other create the placeholder's words are data.
  const bool key_change = create && !deleted_position_.empty() && deleted_position_ == event.log_position;
  return AppendAfter(event, RowKind::kInsert, nullptr, key_change ? OldRow::kDeleted : OldRow::kNone, current,
                     out);
}

LineOutcome DebeziumDecoder::Update(const Event& event, CurrentRows* current, RowBuffer* out) {
  if (table_.key_columns.empty())
    return LineOutcome::Bad("op", "is an update, but the table has no primary key to update by");
  if (!IsNullOrAbsent(event.before) && !IsObject(event.before)) {
    return LineOutcome::Bad(
        "before", "is " + std::string(NameOf(event.before->kind)) + ", an object or null is wanted");
  }
  if (!IsObject(event.before) || !HasKey(*event.before)) {
    return AppendAfter(event, RowKind::kUpdateAfter, nullptr, OldRow::kSameKey, current, out);
  }
  const JsonToken* whole = IsWhole(*event.before, *event.after) ? event.before : nullptr;
  FieldProblem problem;
  if (!SameKey(*event.before, *event.after)) {
    const int64_t row = out->rows();
    if (!rows_.Append(*event.before, shapes_, RowReader::Strictness::kKeyOnly, out, nullptr, &problem)) {
      return BadField("before", std::move(problem));
    }
    out->CloseRow(RowKind::kDelete);
    deleted_key_.TruncateTo(0);
    deleted_key_.AppendRowFrom(*out, row, RowKind::kDelete);
    return AppendAfter(event, RowKind::kInsert, whole, OldRow::kOldKey, current, out);
  }
  if (table_.keep_update_before && whole != nullptr) {
    if (!rows_.Append(*whole, shapes_, RowReader::Strictness::kWhole, out, nullptr, &problem))
      return BadField("before", std::move(problem));
    out->CloseRow(RowKind::kUpdateBefore);
  }
  return AppendAfter(event, RowKind::kUpdateAfter, whole, OldRow::kSameKey, current, out);
}

LineOutcome DebeziumDecoder::Delete(const Event& event, RowBuffer* out) {
  if (table_.key_columns.empty())
    return LineOutcome::Bad("op", "is a delete, but the table has no primary key to delete by");
  const bool has_before = IsObject(event.before);
  if (!IsNullOrAbsent(event.before) && !has_before) {
    return LineOutcome::Bad("before",
                            "is " + std::string(NameOf(event.before->kind)) + ", an object is wanted");
  }
  const JsonToken* image = has_before ? event.before : event.key;
  if (!IsObject(image))
    return LineOutcome::Bad("before",
                            "is null and there is no message key: nothing says which row to delete");
  FieldProblem problem;
  const int64_t row = out->rows();
  if (!rows_.Append(*image, shapes_, RowReader::Strictness::kKeyOnly, out, nullptr, &problem)) {
    return BadField(has_before ? "before" : "key", std::move(problem));
  }
  out->CloseRow(RowKind::kDelete);

  LineOutcome outcome = LineOutcome::Applied();
  deleted_position_ = event.log_position;
  if (!deleted_position_.empty()) {
    deleted_key_.TruncateTo(0);
    deleted_key_.AppendRowFrom(*out, row, RowKind::kDelete);
    outcome.open_delete = true;
  }
  return outcome;
}

LineOutcome DebeziumDecoder::AppendAfter(const Event& event, RowKind kind, const JsonToken* before,
                                         OldRow old_row, CurrentRows* current, RowBuffer* out) {
  FieldProblem problem;
  unavailable_.clear();
  std::vector<int>* unavailable = old_row == OldRow::kNone ? nullptr : &unavailable_;
  if (!rows_.Append(*event.after, shapes_, RowReader::Strictness::kWhole, out, unavailable, &problem)) {
    return BadField("after", std::move(problem));
  }
  if (!unavailable_.empty()) {
    LineOutcome filled = FillUnavailable(before, old_row, current, out);
    if (filled.fate != LineFate::kApplied) return filled;
  }
  out->CloseRow(kind);
  return LineOutcome::Applied();
}

LineOutcome DebeziumDecoder::FillUnavailable(const JsonToken* before, OldRow old_row, CurrentRows* current,
                                             RowBuffer* out) {
  std::optional<CurrentRows::Row> found;
  for (const int column : unavailable_) {
    const std::string& name = table_.fields[column].name;
    if (table_.is_key(column))
      return LineOutcome::Bad("after." + name, "was not sent by the source, though it is part of the key");
    const JsonToken* old_value = before == nullptr ? nullptr : FindMember(*before, name);
    if (old_value != nullptr) {
      std::string why;
      const ValueShape& shape = shapes_ == nullptr ? kPlainShape : (*shapes_)[column];
      if (!AppendValue(*old_value, shape, options_.modes, &out->column(column), &why))
        return LineOutcome::Bad("before." + name, why);
      continue;
    }
    if (current == nullptr) {
      LineOutcome needs;
      needs.fate = LineFate::kNeedsRows;
      return needs;
    }
    if (!found) {
      Result<std::optional<CurrentRows::Row>> answer =
          old_row == OldRow::kSameKey ? current->Find(*out, out->rows(), false)
                                      : current->Find(deleted_key_, 0, old_row == OldRow::kDeleted);
      if (!answer.ok()) {
        return LineOutcome::Bad("after." + name, "was not sent by the source, and looking it up failed: " +
                                                     answer.status().ToString());
      }
      found = *answer;
    }
    if (!found) {
      return LineOutcome::Bad("after." + name,
                              "was not sent by the source because it did not change, and the table has no "
                              "row of that key to take it from");
    }
    out->column(column).AppendFrom(found->rows->column(column), found->row);
  }
  return LineOutcome::Applied();
}

bool DebeziumDecoder::HasKey(const JsonToken& image) const {
  return std::all_of(table_.key_columns.begin(), table_.key_columns.end(), [&](int column) {
    const JsonToken* value = FindMember(image, table_.fields[column].name);
    return value != nullptr && !value->is_null();
  });
}

bool DebeziumDecoder::SameKey(const JsonToken& before, const JsonToken& after) const {
  return std::all_of(table_.key_columns.begin(), table_.key_columns.end(), [&](int column) {
    const JsonToken* old_value = FindMember(before, table_.fields[column].name);
    const JsonToken* new_value = FindMember(after, table_.fields[column].name);
    return new_value != nullptr && old_value->kind == new_value->kind &&
           old_value->view() == new_value->view();
  });
}

// Schemas ---------------------------------------------------------------------------------------------------------

bool DebeziumDecoder::UseSchema(const JsonToken& schema, std::string* why) {
  std::string text;
  AppendJson(schema, &text);
  const auto known =
      std::find_if(schemas_.begin(), schemas_.end(), [&](const auto& one) { return one->text == text; });
  if (known != schemas_.end()) {
    UseKnown(known->get());
    std::rotate(schemas_.begin(), known, known + 1);
    return true;
  }
  auto fresh = std::make_unique<KnownSchema>();
  fresh->text = std::move(text);
  fresh->by_column.resize(table_.fields.size());
  const JsonToken* image = FindConnectField(schema, "after");
  std::vector<ConnectField> fields;
  if (image != nullptr && !ReadConnectFields(*image, &fields, why)) return false;
  for (ConnectField& field : fields) {
    const int column = rows_.FindColumn(field.name);
    fresh->columns.push_back({field.name, field.type});
    if (column >= 0) fresh->by_column[column] = std::move(field.shape);
  }
  schemas_.insert(schemas_.begin(), std::move(fresh));
  if (schemas_.size() > kKnownSchemas) schemas_.pop_back();
  UseKnown(schemas_.front().get());
  return true;
}

void DebeziumDecoder::UseKnown(const KnownSchema* schema) {
  schema_ = schema;
  shapes_ = schema == nullptr ? nullptr : &schema->by_column;
}

// A schema is several times as long as the event in it and does not change: a line that begins with the very bytes of one that was read
// before is read from its payload on.
void DebeziumDecoder::RememberPrefix(std::string_view line) {
  if (shapes_ == nullptr || schemas_.empty() || shapes_ != &schemas_.front()->by_column ||
      !schemas_.front()->prefix.empty())
    return;
  size_t schema_bytes = 0;
  if (!line.starts_with(kSchemaStart) ||
      !inner_tape_.ParseFirst(line.substr(kSchemaStart.size()), &schema_bytes))
    return;
  const size_t end = kSchemaStart.size() + schema_bytes;
  if (line.substr(end).starts_with(kPayloadStart))
    schemas_.front()->prefix = line.substr(0, end + kPayloadStart.size());
}

std::optional<LineOutcome> DebeziumDecoder::DecodeKnownPrefix(std::string_view line,
                                                              std::optional<std::string_view> key_line,
                                                              CurrentRows* current, RowBuffer* out) {
  for (const auto& schema : schemas_) {
    if (schema->prefix.empty() || !line.starts_with(schema->prefix)) continue;
    const std::string_view rest = line.substr(schema->prefix.size());
    size_t payload_bytes = 0;
    if (!tape_.ParseFirst(rest, &payload_bytes)) return std::nullopt;
    std::string_view end = rest.substr(payload_bytes);
    while (!end.empty() && (end.front() == ' ' || end.front() == '\t' || end.front() == '\r'))
      end.remove_prefix(1);
    if (end.empty() || end.front() != '}' || !IsBlank(end.substr(1))) return std::nullopt;
    const JsonToken& payload = tape_.root();
    if (payload.is_null()) return LineOutcome::Ignored("tombstone");
    if (payload.kind != JsonKind::kObject) return std::nullopt;
    LineOutcome problem;
    const JsonToken* key = ParseKeyLine(key_line, &problem);
    if (problem.fate == LineFate::kBad) return problem;
    UseKnown(schema.get());
    return DecodePayload(payload, key, current, out);
  }
  return std::nullopt;
}

// {"topic":…,"key":{…},"headers":{…}}, or the key alone. The key's own envelope is taken off by who uses it.
const JsonToken* DebeziumDecoder::ParseKeyLine(std::optional<std::string_view> key_line,
                                               LineOutcome* problem) {
  old_key_ = nullptr;
  if (!key_line || IsBlank(*key_line)) return nullptr;
  if (!key_tape_.Parse(*key_line)) {
    *problem = LineOutcome::Bad("message key", key_tape_.error());
    return nullptr;
  }
  const JsonToken& root = key_tape_.root();
  if (root.kind != JsonKind::kObject) return nullptr;
  const JsonToken* key = FindMember(root, "key");
  if (key == nullptr || !(IsObject(key) || (key->is_null() && FindMember(root, "topic") != nullptr)))
    return PayloadOf(&root);
  const JsonToken* headers = FindMember(root, "headers");
  if (IsObject(headers)) old_key_ = PayloadOf(FindMember(*headers, "__debezium.oldkey"));
  return PayloadOf(key);
}

}  // namespace headrace::ingest
