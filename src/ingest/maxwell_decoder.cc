#include "ingest/maxwell_decoder.h"

#include "ingest/event_lines.h"
#include "ingest/mysql_ddl.h"
#include "ingest/schema_drift.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {

MaxwellDecoder::MaxwellDecoder(TableShape table, EventOptions options)
    : table_(std::move(table)),
      options_(std::move(options)),
      source_(options_.source_table),
      changes_(&table_, options_.modes.Of(ValueSource::kMaxwell)) {
  source_.Remember(options_.known_source_table);
}

LineOutcome MaxwellDecoder::Decode(std::string_view line, std::optional<std::string_view>,
                                   CurrentRows* current, RowBuffer* out) {
  if (std::optional<LineOutcome> other = ParseEventLine(line, &tape_)) return std::move(*other);
  const int64_t before = out->rows();
  changes_.BeginLine(before);
  LineOutcome outcome = DecodeMessage(tape_.root(), current, out);
  if (outcome.fate != LineFate::kApplied) out->TruncateTo(before);
  return outcome;
}

LineOutcome MaxwellDecoder::DecodeMessage(const JsonToken& root, CurrentRows* current, RowBuffer* out) {
  const std::string_view type = TextOf(root, "type");
  if (type.empty() || FindMember(root, "database") == nullptr)
    return NotThisForm(root, EventFormat::kMaxwellJson, "type", "is missing: this is no Maxwell message");
  if (type == "insert" || type == "bootstrap-insert")
    return DecodeRow(root, RowChange::Op::kInsert, current, out);
  if (type == "update") return DecodeRow(root, RowChange::Op::kUpdate, current, out);
  if (type == "delete") return DecodeRow(root, RowChange::Op::kDelete, current, out);
  if (type == "bootstrap-start" || type == "bootstrap-complete")
    return LineOutcome::Ignored("mark of a bootstrap");
  if (type.starts_with("database-")) return LineOutcome::Ignored("schema change of no table");
  if (type.starts_with("table-")) return DecodeDdl(root, type);
  return NotThisForm(
      root, EventFormat::kMaxwellJson, "type",
      "is " + Excerpt(*FindMember(root, "type")) + ", one of insert, update, delete is wanted");
}

LineOutcome MaxwellDecoder::DecodeDdl(const JsonToken& root, std::string_view type) {
  const JsonToken* old = FindMember(root, "old");
  SourceName name = SourceNameBeside(root);
  if (IsObject(old)) {
    const SourceName old_name = SourceNameBeside(*old);
    if (old_name.known()) name = old_name;
  }
  if (!source_.IsOurs(name)) return LineOutcome::Ignored("schema change of another table");
  if (type == "table-drop") return LineOutcome::Ignored("drop of the source table");
  const JsonToken* definition = FindMember(root, "def");
  const SourceName new_name = IsObject(definition) ? SourceNameBeside(*definition) : SourceName{};
  if (new_name.known() && new_name.ToString() != name.ToString()) {
    source_.Rename(new_name.ToString());
    return LineOutcome::Ignored("the source table's new name");
  }
  // Rows do not tell their types: the statement does.
  if (options_.follow_schema) return FollowDdl(ParseMysqlDdl(TextOf(root, "sql")), DdlExtent::kAll, table_);
  return LineOutcome::Ignored("schema change");
}

LineOutcome MaxwellDecoder::DecodeRow(const JsonToken& root, RowChange::Op op, CurrentRows* current,
                                      RowBuffer* out) {
  if (std::optional<LineOutcome> other = AskSource(&source_, SourceNameBeside(root), "table"))
    return std::move(*other);
  const JsonToken* data = FindMember(root, "data");
  if (!IsObject(data)) {
    const std::string found = data == nullptr ? "is missing" : "is " + std::string(NameOf(data->kind));
    return LineOutcome::Bad("data", found + ", an object with the row is wanted");
  }
  RowChange change;
  change.op = op;
  change.after_place = change.before_place = "data";
  change.after = ImageOf(*data);
  if (op == RowChange::Op::kDelete) change.before = change.after;
  if (op == RowChange::Op::kUpdate) {
    const JsonToken* old = FindMember(root, "old");
    if (!IsObject(old)) return LineOutcome::Bad("old", "has to tell what the update changed");
    change.before_place = "old";
    change.before = Overlaid(change.after, *old);
    change.before_whole = true;
  }
  return changes_.Append(change, current, out);
}

}  // namespace headrace::ingest
