#include "ingest/test_decoding_decoder.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "ingest/event_lines.h"
#include "ingest/foreign_form.h"
#include "ingest/postgres_type_names.h"
#include "ingest/schema_drift.h"

namespace headrace::ingest {
namespace {

using What = TestDecodingChange::What;
using Column = TestDecodingChange::Column;

const JsonToken kNullToken;

// The values that were sent, as tokens that borrow their texts.
RowImage ImageOf(const std::vector<Column>& columns, std::vector<JsonToken>* tokens) {
  tokens->reserve(columns.size());
  RowImage image;
  for (const Column& column : columns) {
    if (column.unsent) continue;
    JsonToken& token = tokens->emplace_back();
    if (!column.is_null) {
      token.kind = JsonKind::kString;
      token.text = column.text.data();
      token.length = static_cast<uint32_t>(column.text.size());
    }
    image.push_back({column.name, &token});
  }
  return image;
}

const Column* FindTwice(const std::vector<Column>& columns) {
  std::vector<const Column*> sorted;
  for (const Column& column : columns) sorted.push_back(&column);
  std::sort(sorted.begin(), sorted.end(), [](const Column* a, const Column* b) { return a->name < b->name; });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](const Column* a, const Column* b) { return a->name == b->name; });
  return twice == sorted.end() ? nullptr : *twice;
}

LineOutcome NotThisRecord(std::string_view record, std::string why) {
  JsonTape tape;
  std::string foreign = tape.Parse(record) ? RecogniseForeignJson(tape.root(), EventFormat::kTestDecoding)
                                           : RecogniseForeignText(record);
  const bool is_foreign = !foreign.empty();
  LineOutcome outcome = LineOutcome::Bad("", is_foreign ? std::move(foreign) : std::move(why));
  outcome.foreign_form = is_foreign;
  return outcome;
}

}  // namespace

TestDecodingDecoder::TestDecodingDecoder(TableShape table, EventOptions options)
    : table_(std::move(table)),
      options_(std::move(options)),
      source_(options_.source_table),
      changes_(&table_, options_.modes.Of(ValueSource::kPostgres)) {
  source_.Remember(options_.known_source_table);
}

LineOutcome TestDecodingDecoder::Decode(std::string_view record, std::optional<std::string_view>,
                                        CurrentRows* current, RowBuffer* out) {
  if (IsBlank(record)) return LineOutcome::Ignored("blank line");
  if (!IsUtf8(record)) return LineOutcome::Bad("", "is not UTF-8");
  TestDecodingChange change;
  std::string why;
  // Programs on Windows end lines so; inside a value it is data.
  if (record.ends_with('\r')) record.remove_suffix(1);
  if (!ReadTestDecoding(record, &change, &why)) {
    return IsTestDecoding(record) ? LineOutcome::Bad("", std::move(why))
                                  : NotThisRecord(record, std::move(why));
  }
  if (change.what == What::kBoundary) return LineOutcome::Ignored("transaction boundary");
  if (change.what == What::kMessage) return LineOutcome::Ignored("message");
  if (std::optional<LineOutcome> other = AskTables(change)) return std::move(*other);
  if (change.what == What::kTruncate) return TruncateOutcome(options_, !table_.key_columns.empty(), "");
  for (const std::vector<Column>* columns : {&change.columns, &change.old_key}) {
    if (const Column* twice = FindTwice(*columns))
      return LineOutcome::Bad(twice->name, "comes twice in the change");
  }
  const int64_t before = out->rows();
  changes_.BeginLine(before);
  LineOutcome outcome = Apply(change, current, out);
  if (options_.follow_schema && outcome.fate == LineFate::kBad) OfferColumns(change, &outcome);
  if (outcome.fate != LineFate::kApplied) out->TruncateTo(before);
  return outcome;
}

// A truncate may name several tables: it is ours when one of them is, whatever the others are.
std::optional<LineOutcome> TestDecodingDecoder::AskTables(const TestDecodingChange& change) {
  std::optional<LineOutcome> other;
  for (const TestDecodingChange::Name& name : change.tables) {
    std::optional<LineOutcome> asked = AskSource(&source_, {"", name.schema, name.table}, "table");
    if (!asked) return std::nullopt;
    if (!other || asked->fate == LineFate::kBad) other = std::move(asked);
  }
  return other;
}

LineOutcome TestDecodingDecoder::Apply(const TestDecodingChange& change, CurrentRows* current,
                                       RowBuffer* out) {
  std::vector<JsonToken> new_tokens;
  std::vector<JsonToken> old_tokens;
  RowChange row;
  row.after_place = row.before_place = "";
  if (change.what == What::kDelete) {
    row.op = RowChange::Op::kDelete;
    row.before = ImageOf(change.columns, &old_tokens);
    return changes_.Append(row, current, out);
  }
  row.op = change.what == What::kInsert ? RowChange::Op::kInsert : RowChange::Op::kUpdate;
  row.after = ImageOf(change.columns, &new_tokens);
  row.before = ImageOf(change.old_key, &old_tokens);
  // Nulls are left out of the old row: with one it cannot be told from a key, so it is known whole only when it has every column.
  row.before_whole = std::all_of(table_.fields.begin(), table_.fields.end(), [&](const DataField& field) {
    return FindInImage(row.before, field.name) != nullptr;
  });
  row.omits_unchanged = row.after.size() < change.columns.size();
  if (!row.omits_unchanged) return changes_.Append(row, current, out);
  // Left open is only what was not sent again; what the source's table does not have is null.
  for (const DataField& field : table_.fields) {
    const bool named = std::any_of(change.columns.begin(), change.columns.end(),
                                   [&](const Column& column) { return column.name == field.name; });
    if (!named) row.after.push_back({field.name, &kNullToken});
  }
  return changes_.Append(row, current, out);
}

// numeric comes without its digits: where the table has a DECIMAL, those of the value say how many are needed.
void TestDecodingDecoder::OfferColumns(const TestDecodingChange& change, LineOutcome* outcome) const {
  std::vector<SourceColumn> columns;
  for (const Column& column : change.columns) {
    SourceColumn& one = columns.emplace_back(SourceColumn{column.name, TypeOfPostgresName(column.type)});
    const auto field = std::find_if(table_.fields.begin(), table_.fields.end(),
                                    [&](const DataField& known) { return known.name == column.name; });
    if (column.type != "numeric" || field == table_.fields.end() || field->type.root != TypeRoot::kDecimal)
      continue;
    const size_t point = column.text.find('.');
    const auto digits = static_cast<int32_t>(
        std::count_if(column.text.begin(), column.text.end(), [](char c) { return c >= '0' && c <= '9'; }));
    one.type = field->type;
    if (digits == 0 || digits > 38) continue;
    one.type.precision = digits;
    one.type.scale = point == std::string::npos ? 0 : static_cast<int32_t>(column.text.size() - point - 1);
  }
  OfferChanges(table_, columns, outcome);
}

}  // namespace headrace::ingest
