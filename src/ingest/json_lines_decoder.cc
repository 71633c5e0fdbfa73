#include "ingest/json_lines_decoder.h"

#include "ingest/foreign_form.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

ValueModes WithOwnEncodings(ValueModes modes) {
  if (modes.decimal == DecimalMode::kUnsaid) modes.decimal = DecimalMode::kString;
  if (modes.binary == BinaryMode::kUnsaid) modes.binary = BinaryMode::kHex;
  return modes;
}

}  // namespace

std::optional<RowKind> ParseRowKind(std::string_view text) {
  if (text == "+I") return RowKind::kInsert;
  if (text == "-U") return RowKind::kUpdateBefore;
  if (text == "+U") return RowKind::kUpdateAfter;
  if (text == "-D") return RowKind::kDelete;
  return std::nullopt;
}

std::string WrongKind(RowKind kind, const TableShape& table) {
  if (kind == RowKind::kInsert || !table.key_columns.empty()) return {};
  return "the table has no primary key, so rows can be inserted alone (+I)";
}

JsonLinesDecoder::JsonLinesDecoder(TableShape table, ValueModes modes, std::string kind_column)
    : table_(std::move(table)),
      kind_column_(std::move(kind_column)),
      rows_(&table_, WithOwnEncodings(modes)) {
  if (rows_.FindColumn(kind_column_) < 0) rows_.SkipName(kind_column_);
}

LineOutcome JsonLinesDecoder::Decode(std::string_view line, std::optional<std::string_view>, CurrentRows*,
                                     RowBuffer* out) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return LineOutcome::Ignored("blank line");
  if (!tape_.Parse(line)) return LineOutcome::Bad("", tape_.error());
  const JsonToken& root = tape_.root();
  if (root.kind != JsonKind::kObject)
    return LineOutcome::Bad("", "a row is an object, this is " + std::string(NameOf(root.kind)));

  std::optional<RowKind> kind = RowKind::kInsert;
  if (!kind_column_.empty()) {
    const JsonToken* token = FindMember(root, kind_column_);
    if (token == nullptr) return LineOutcome::Bad(kind_column_, "is missing: it holds the row kind");
    kind = token->kind == JsonKind::kString ? ParseRowKind(token->view()) : std::nullopt;
    if (!kind)
      return LineOutcome::Bad(kind_column_, "is " + Excerpt(*token) + ", one of +I, -U, +U, -D is wanted");
  }
  std::string wrong = WrongKind(*kind, table_);
  if (!wrong.empty()) return LineOutcome::Bad(kind_column_, std::move(wrong));

  const int64_t before = out->rows();
  FieldProblem problem;
  const auto strictness =
      *kind == RowKind::kDelete ? RowReader::Strictness::kKeyOnly : RowReader::Strictness::kWhole;
  if (!rows_.Append(root, nullptr, strictness, out, nullptr, &problem)) {
    out->TruncateTo(before);
    std::string foreign = RecogniseForeignJson(root, EventFormat::kJson);
    if (!foreign.empty()) {
      LineOutcome outcome = LineOutcome::Bad("", std::move(foreign));
      outcome.foreign_form = true;
      return outcome;
    }
    return LineOutcome::Bad(std::move(problem.field), std::move(problem.reason));
  }
  out->CloseRow(*kind);
  return LineOutcome::Applied();
}

}  // namespace headrace::ingest
