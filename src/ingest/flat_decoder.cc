#include "ingest/flat_decoder.h"

#include <algorithm>

#include "ingest/connect_schema.h"
#include "ingest/event_lines.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

const JsonToken kNullToken;

std::string_view FirstText(const JsonToken& row, std::string_view name, std::string_view other) {
  const std::string_view text = TextOf(row, name);
  return text.empty() ? TextOf(row, other) : text;
}

}  // namespace

bool IsFlatMark(std::string_view name) { return name.starts_with("__"); }

SourceName FlatSourceOf(const JsonToken& row) {
  return {FirstText(row, "__db", "__source_db"), FirstText(row, "__schema", "__source_schema"),
          FirstText(row, "__table", "__source_table")};
}

std::optional<RowChange::Op> FlatOpOf(const JsonToken& row, std::string* field, std::string* why) {
  const JsonToken* deleted = FindMember(row, "__deleted");
  const JsonToken* op = FindMember(row, "__op");
  if (deleted != nullptr) {
    const bool yes = deleted->kind == JsonKind::kTrue || deleted->view() == "true";
    const bool no = deleted->kind == JsonKind::kFalse || deleted->view() == "false";
    if (!yes && !no) {
      *field = "__deleted";
      *why = "is " + Excerpt(*deleted) + ", true or false is wanted";
      return std::nullopt;
    }
    if (yes) return RowChange::Op::kDelete;
    if (op == nullptr) return RowChange::Op::kUpdate;
  }
  *field = "__op";
  if (op == nullptr) {
    *why =
        "is missing, and so is __deleted: nothing says what happened to the row. Let the transform add "
        "them (add.fields=op, delete.tombstone.handling.mode=rewrite)";
    return std::nullopt;
  }
  if (op->view() == "c" || op->view() == "r") return RowChange::Op::kInsert;
  if (op->view() == "u") return RowChange::Op::kUpdate;
  if (op->view() == "d") return RowChange::Op::kDelete;
  *why = "is " + Excerpt(*op) + ", one of c, r, u, d is wanted";
  return std::nullopt;
}

FlatDecoder::FlatDecoder(TableShape table, EventOptions options)
    : table_(std::move(table)),
      options_(std::move(options)),
      source_(options_.source_table),
      changes_(&table_, options_.modes) {
  source_.Remember(options_.known_source_table);
}

LineOutcome FlatDecoder::Decode(std::string_view line, std::optional<std::string_view>, CurrentRows* current,
                                RowBuffer* out) {
  if (std::optional<LineOutcome> other = ParseEventLine(line, &tape_)) return std::move(*other);
  const int64_t before = out->rows();
  changes_.BeginLine(before);
  LineOutcome outcome = DecodeEnveloped(tape_.root(), current, out);
  if (options_.follow_schema && outcome.fate == LineFate::kBad && typed_)
    OfferChanges(table_, columns_, &outcome);
  if (outcome.fate != LineFate::kApplied) out->TruncateTo(before);
  return outcome;
}

LineOutcome FlatDecoder::DecodeEnveloped(const JsonToken& root, CurrentRows* current, RowBuffer* out) {
  const JsonToken* payload = FindMember(root, "payload");
  const JsonToken* schema = FindMember(root, "schema");
  changes_.UseShapes(nullptr);
  typed_ = false;
  if (payload == nullptr || schema == nullptr || root.length != 2) return DecodeRow(root, current, out);
  if (payload->is_null()) return LineOutcome::Ignored("tombstone");
  if (payload->kind != JsonKind::kObject)
    return LineOutcome::Bad("payload", "is " + std::string(NameOf(payload->kind)) + ", not a row");
  std::string why;
  if (IsObject(schema)) {
    if (!UseSchema(*schema, &why)) return LineOutcome::Bad("schema", why);
    changes_.UseShapes(&shapes_);
    typed_ = true;
  }
  return DecodeRow(*payload, current, out);
}

bool FlatDecoder::UseSchema(const JsonToken& schema, std::string* why) {
  std::string text;
  AppendJson(schema, &text);
  if (text == schema_) return true;
  std::vector<ConnectField> fields;
  if (!ReadConnectFields(schema, &fields, why)) return false;
  shapes_.assign(table_.fields.size(), ValueShape());
  columns_.clear();
  for (ConnectField& field : fields) {
    if (!IsFlatMark(field.name)) columns_.push_back({field.name, field.type});
    const int column = changes_.reader().FindColumn(field.name);
    if (column >= 0) shapes_[column] = std::move(field.shape);
  }
  schema_ = std::move(text);
  return true;
}

LineOutcome FlatDecoder::DecodeRow(const JsonToken& row, CurrentRows* current, RowBuffer* out) {
  if (FindMember(row, "__op") == nullptr && FindMember(row, "__deleted") == nullptr) {
    if (row.length == 1 && FindMember(row, "ts_ms") != nullptr) return LineOutcome::Ignored("heartbeat");
    if (FindMember(row, "status") != nullptr && FindMember(row, "event_count") != nullptr)
      return LineOutcome::Ignored("transaction boundary");
    if (FindMember(row, "ddl") != nullptr && FindMember(row, "source") != nullptr)
      return LineOutcome::Ignored("schema change");
  }
  std::string field;
  std::string why;
  const std::optional<RowChange::Op> op = FlatOpOf(row, &field, &why);
  if (!op) return NotThisForm(row, EventFormat::kDebeziumFlat, std::move(field), std::move(why));
  if (std::optional<LineOutcome> other = AskSource(&source_, FlatSourceOf(row), "__table"))
    return std::move(*other);
  RowChange change;
  change.op = *op;
  change.after_place = change.before_place = "";
  for (const JsonToken* name = row.begin(); name != row.end(); name = name[1].next()) {
    if (!IsFlatMark(name->view()) || changes_.reader().FindColumn(name->view()) >= 0)
      change.after.push_back({name->view(), name + 1});
  }
  if (*op == RowChange::Op::kDelete) change.before = change.after;
  if (*op == RowChange::Op::kUpdate) LeaveOutUnsent(&change);
  return changes_.Append(change, current, out);
}

// What the row does not have at all is null; what the source did not send again is left open.
void FlatDecoder::LeaveOutUnsent(RowChange* change) const {
  RowImage sent;
  std::vector<std::string_view> names;
  for (const ImageField& field : change->after) {
    names.push_back(field.name);
    if (!IsUnavailable(*field.value)) sent.push_back(field);
  }
  if (sent.size() == change->after.size()) return;
  for (const DataField& field : table_.fields) {
    if (std::find(names.begin(), names.end(), field.name) == names.end())
      sent.push_back({field.name, &kNullToken});
  }
  change->after = std::move(sent);
  change->omits_unchanged = true;
}

}  // namespace headrace::ingest
