#include "ingest/wal2json_decoder.h"

#include <algorithm>

#include "ingest/event_lines.h"
#include "ingest/postgres_type_names.h"
#include "ingest/schema_drift.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

std::optional<RowChange::Op> OpOf(std::string_view word) {
  if (word == "I" || word == "insert") return RowChange::Op::kInsert;
  if (word == "U" || word == "update") return RowChange::Op::kUpdate;
  if (word == "D" || word == "delete") return RowChange::Op::kDelete;
  return std::nullopt;
}

// [{"name":…,"value":…}, …]
bool ReadColumns(const JsonToken* columns, RowImage* image) {
  if (!IsArray(columns)) return false;
  for (const JsonToken* column = columns->begin(); column != columns->end(); column = column->next()) {
    const JsonToken* name = column->kind == JsonKind::kObject ? FindMember(*column, "name") : nullptr;
    const JsonToken* value = name == nullptr ? nullptr : FindMember(*column, "value");
    if (value == nullptr || name->kind != JsonKind::kString) return false;
    image->push_back({name->view(), value});
  }
  return true;
}

// Names in one array, values in the other.
bool ReadParallel(const JsonToken* names, const JsonToken* values, RowImage* image) {
  if (!IsArray(names) || !IsArray(values) || names->length != values->length) return false;
  const JsonToken* value = values->begin();
  for (const JsonToken* name = names->begin(); name != names->end(); name = name->next()) {
    if (name->kind != JsonKind::kString) return false;
    image->push_back({name->view(), value});
    value = value->next();
  }
  return true;
}

// The columns that a change declares with their types, in either version. Without types (include-types=0) none is declared.
std::vector<SourceColumn> ColumnsOf(const JsonToken& change) {
  std::vector<SourceColumn> declared;
  const JsonToken* columns = FindMember(change, "columns");
  if (IsArray(columns)) {
    for (const JsonToken* column = columns->begin(); column != columns->end(); column = column->next()) {
      if (column->kind == JsonKind::kObject && !TextOf(*column, "type").empty())
        declared.push_back(
            {std::string(TextOf(*column, "name")), TypeOfPostgresName(TextOf(*column, "type"))});
    }
    return declared;
  }
  RowImage types;
  if (!ReadParallel(FindMember(change, "columnnames"), FindMember(change, "columntypes"), &types))
    return declared;
  for (const ImageField& type : types) {
    if (type.value->kind == JsonKind::kString)
      declared.push_back({std::string(type.name), TypeOfPostgresName(type.value->view())});
  }
  return declared;
}

LineOutcome NoColumns(std::string place, std::string_view wanted) {
  return LineOutcome::Bad(std::move(place), "is missing or not " + std::string(wanted));
}

}  // namespace

Wal2JsonDecoder::Wal2JsonDecoder(TableShape table, EventOptions options)
    : table_(std::move(table)),
      options_(std::move(options)),
      source_(options_.source_table),
      changes_(&table_, options_.modes.Of(ValueSource::kPostgres)) {
  source_.Remember(options_.known_source_table);
}

LineOutcome Wal2JsonDecoder::Decode(std::string_view line, std::optional<std::string_view>,
                                    CurrentRows* current, RowBuffer* out) {
  if (std::optional<LineOutcome> other = ParseEventLine(line, &tape_)) return std::move(*other);
  const int64_t before = out->rows();
  changes_.BeginLine(before);
  declared_ = nullptr;
  const JsonToken& root = tape_.root();
  const JsonToken* changes = FindMember(root, "change");
  LineOutcome outcome = IsArray(changes) ? DecodeTransaction(*changes, current, out)
                                         : DecodeChange(root, TextOf(root, "action"), current, out);
  if (options_.follow_schema && outcome.fate == LineFate::kBad && declared_ != nullptr)
    OfferChanges(table_, ColumnsOf(*declared_), &outcome);
  if (outcome.fate != LineFate::kApplied) out->TruncateTo(before);
  return outcome;
}

LineOutcome Wal2JsonDecoder::DecodeChange(const JsonToken& root, std::string_view action,
                                          CurrentRows* current, RowBuffer* out) {
  if (action == "B" || action == "C") return LineOutcome::Ignored("transaction boundary");
  if (action == "M") return LineOutcome::Ignored("message");
  const std::optional<RowChange::Op> op = OpOf(action);
  if ((!op && action != "T") || action.size() != 1) {
    return NotThisForm(root, EventFormat::kWal2Json, "action",
                       "is missing or none of I, U, D, T, M, B, C: this is no change by wal2json");
  }
  if (std::optional<LineOutcome> other = AskSource(&source_, SourceNameBeside(root), "table"))
    return std::move(*other);
  if (!op) return TruncateOutcome(options_, !table_.key_columns.empty(), "action");
  declared_ = &root;
  RowChange change;
  change.op = *op;
  change.after_place = "columns";
  change.before_place = "identity";
  constexpr std::string_view kWanted = "an array of columns with name and value";
  if (*op != RowChange::Op::kDelete && !ReadColumns(FindMember(root, "columns"), &change.after))
    return NoColumns("columns", kWanted);
  const JsonToken* identity = FindMember(root, "identity");
  const bool wanted = *op == RowChange::Op::kDelete || (*op == RowChange::Op::kUpdate && identity != nullptr);
  if (wanted && !ReadColumns(identity, &change.before)) return NoColumns("identity", kWanted);
  return Apply(std::move(change), current, out);
}

LineOutcome Wal2JsonDecoder::DecodeTransaction(const JsonToken& changes, CurrentRows* current,
                                               RowBuffer* out) {
  const int64_t before = out->rows();
  std::string_view rule = "transaction without changes";
  size_t i = 0;
  for (const JsonToken* change = changes.begin(); change != changes.end(); change = change->next(), ++i) {
    const std::string place = "change[" + std::to_string(i) + "]";
    if (change->kind != JsonKind::kObject)
      return LineOutcome::Bad(place, "is " + std::string(NameOf(change->kind)) + ", an object is wanted");
    LineOutcome outcome = DecodeOneOfTransaction(*change, place, current, out);
    if (outcome.fate == LineFate::kIgnored) {
      rule = outcome.rule;
    } else if (outcome.fate != LineFate::kApplied) {
      return outcome;
    }
  }
  return out->rows() > before ? LineOutcome::Applied() : LineOutcome::Ignored(rule);
}

LineOutcome Wal2JsonDecoder::DecodeOneOfTransaction(const JsonToken& change, const std::string& place,
                                                    CurrentRows* current, RowBuffer* out) {
  const std::string_view kind = TextOf(change, "kind");
  if (kind == "message") return LineOutcome::Ignored("message");
  const std::optional<RowChange::Op> op = OpOf(kind);
  if (!op || kind.size() == 1)
    return LineOutcome::Bad(place + ".kind", "is missing or none of insert, update, delete, message");
  if (std::optional<LineOutcome> other = AskSource(&source_, SourceNameBeside(change), place + ".table"))
    return std::move(*other);
  declared_ = &change;
  RowChange row;
  row.op = *op;
  row.after_place = place + ".columnvalues";
  row.before_place = place + ".oldkeys";
  if (*op != RowChange::Op::kDelete &&
      !ReadParallel(FindMember(change, "columnnames"), FindMember(change, "columnvalues"), &row.after))
    return NoColumns(place, "an object with columnnames and as many columnvalues");
  const JsonToken* old = FindMember(change, "oldkeys");
  if (*op == RowChange::Op::kDelete || (*op == RowChange::Op::kUpdate && old != nullptr)) {
    if (!IsObject(old) ||
        !ReadParallel(FindMember(*old, "keynames"), FindMember(*old, "keyvalues"), &row.before))
      return NoColumns(row.before_place, "an object with keynames and as many keyvalues");
  }
  return Apply(std::move(row), current, out);
}

// The old row leaves nulls out, so it is known whole only when it has every column.
LineOutcome Wal2JsonDecoder::Apply(RowChange change, CurrentRows* current, RowBuffer* out) {
  change.omits_unchanged = change.op == RowChange::Op::kUpdate;
  change.before_whole = std::all_of(table_.fields.begin(), table_.fields.end(), [&](const DataField& field) {
    return FindInImage(change.before, field.name) != nullptr;
  });
  return changes_.Append(change, current, out);
}

}  // namespace headrace::ingest
