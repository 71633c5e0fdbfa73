#include "ingest/canal_decoder.h"

#include "ingest/event_lines.h"
#include "ingest/mysql_ddl.h"
#include "ingest/mysql_types.h"
#include "ingest/schema_drift.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

std::string Place(std::string_view member, size_t i) {
  return std::string(member) + "[" + std::to_string(i) + "]";
}

// Of a type that is not known nothing is said.
std::vector<SourceColumn> ColumnsOf(const JsonToken* types) {
  std::vector<SourceColumn> columns;
  if (!IsObject(types)) return columns;
  for (const JsonToken* name = types->begin(); name != types->end(); name = name[1].next()) {
    const std::optional<DataType> type =
        name[1].kind == JsonKind::kString ? TypeOfMysql(name[1].view()) : std::nullopt;
    if (type) columns.push_back({std::string(name->view()), *type});
  }
  return columns;
}

}  // namespace

struct CanalDecoder::Message {
  const JsonToken* root = nullptr;
  std::string_view type;
  SourceName name;
  const JsonToken* data = nullptr;
  const JsonToken* old = nullptr;
};

CanalDecoder::CanalDecoder(TableShape table, EventOptions options)
    : table_(std::move(table)),
      options_(std::move(options)),
      source_(options_.source_table),
      changes_(&table_, options_.modes.Of(ValueSource::kCanal)) {
  source_.Remember(options_.known_source_table);
}

LineOutcome CanalDecoder::Decode(std::string_view line, std::optional<std::string_view>, CurrentRows* current,
                                 RowBuffer* out) {
  if (std::optional<LineOutcome> other = ParseEventLine(line, &tape_)) return std::move(*other);
  const JsonToken& root = tape_.root();
  const int64_t before = out->rows();
  changes_.BeginLine(before);
  Message message;
  message.root = &root;
  message.type = TextOf(root, "type");
  message.name = SourceNameBeside(root);
  message.data = FindMember(root, "data");
  message.old = FindMember(root, "old");
  LineOutcome outcome = DecodeMessage(message, current, out);
  if (options_.follow_schema && outcome.fate == LineFate::kBad)
    OfferChanges(table_, ColumnsOf(FindMember(root, "mysqlType")), &outcome);
  if (outcome.fate != LineFate::kApplied) out->TruncateTo(before);
  return outcome;
}

LineOutcome CanalDecoder::DecodeMessage(const Message& message, CurrentRows* current, RowBuffer* out) {
  if (message.type.empty() || FindMember(*message.root, "database") == nullptr)
    return NotThisForm(*message.root, EventFormat::kCanalJson, "type",
                       "is missing: this is no Canal message");
  const JsonToken* ddl = FindMember(*message.root, "isDdl");
  if (ddl != nullptr && ddl->kind == JsonKind::kTrue) return DecodeDdl(message);
  if (message.type == "INSERT") return DecodeRows(message, RowChange::Op::kInsert, current, out);
  if (message.type == "UPDATE") return DecodeRows(message, RowChange::Op::kUpdate, current, out);
  if (message.type == "DELETE") return DecodeRows(message, RowChange::Op::kDelete, current, out);
  // Canal knows no more kinds of rows than these three; a statement is told by its type alone in some versions.
  if (IsNullOrAbsent(message.data) && !TextOf(*message.root, "sql").empty()) return DecodeDdl(message);
  return NotThisForm(
      *message.root, EventFormat::kCanalJson, "type",
      "is " + Excerpt(*FindMember(*message.root, "type")) + ", one of INSERT, UPDATE, DELETE is wanted");
}

LineOutcome CanalDecoder::DecodeDdl(const Message& message) {
  const Ddl ddl = ParseMysqlDdl(TextOf(*message.root, "sql"));
  if (ddl.kind == Ddl::Kind::kTruncate || message.type == "TRUNCATE") {
    if (std::optional<LineOutcome> other = AskSource(&source_, message.name, "table"))
      return std::move(*other);
    return TruncateOutcome(options_, !table_.key_columns.empty(), "type");
  }
  for (const auto& [from, to] : ddl.renamed) {
    const std::string_view database = message.name.database;
    const SourceName old_name{from.database.empty() ? database : from.database, "", from.table};
    const SourceName new_name{to.database.empty() ? database : to.database, "", to.table};
    if (!source_.IsOurs(old_name)) continue;
    source_.Rename(new_name.ToString());
    return LineOutcome::Ignored("the source table's new name");
  }
  if (!source_.IsOurs(message.name)) return LineOutcome::Ignored("schema change of another table");
  if (ddl.kind == Ddl::Kind::kDrop) return LineOutcome::Ignored("drop of the source table");
  if (options_.follow_schema) return FollowDdl(ddl, DdlExtent::kNames, table_);
  return LineOutcome::Ignored("schema change");
}

LineOutcome CanalDecoder::DecodeRows(const Message& message, RowChange::Op op, CurrentRows* current,
                                     RowBuffer* out) {
  if (std::optional<LineOutcome> other = AskSource(&source_, message.name, "table")) return std::move(*other);
  if (!IsArray(message.data) || message.data->length == 0) {
    const std::string found =
        message.data == nullptr ? "is missing" : "is " + std::string(NameOf(message.data->kind));
    return LineOutcome::Bad("data", found + ", an array of rows is wanted");
  }
  const bool update = op == RowChange::Op::kUpdate;
  if (update && (!IsArray(message.old) || message.old->length != message.data->length))
    return LineOutcome::Bad("old", "has to tell for each row of `data` what the update changed");
  const JsonToken* row = message.data->begin();
  const JsonToken* old = update ? message.old->begin() : nullptr;
  for (size_t i = 0; row != message.data->end(); ++i, row = row->next()) {
    if (row->kind != JsonKind::kObject)
      return LineOutcome::Bad(Place("data", i),
                              "is " + std::string(NameOf(row->kind)) + ", an object with the row is wanted");
    RowChange change;
    change.op = op;
    change.after_place = Place("data", i);
    change.before_place = Place(update ? "old" : "data", i);
    change.after = ImageOf(*row);
    if (op == RowChange::Op::kDelete) change.before = change.after;
    if (update) {
      if (old->kind != JsonKind::kObject)
        return LineOutcome::Bad(change.before_place,
                                "is " + std::string(NameOf(old->kind)) + ", an object is wanted");
      change.before = Overlaid(change.after, *old);
      change.before_whole = true;
      old = old->next();
    }
    LineOutcome outcome = changes_.Append(change, current, out);
    if (outcome.fate != LineFate::kApplied) return outcome;
  }
  return LineOutcome::Applied();
}

}  // namespace headrace::ingest
