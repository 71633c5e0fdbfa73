#include "ingest/event_lines.h"

#include <algorithm>
#include <vector>

#include "ingest/foreign_form.h"

namespace headrace::ingest {

std::string_view TextOf(const JsonToken& object, std::string_view name) {
  const JsonToken* member = FindMember(object, name);
  return member != nullptr && member->kind == JsonKind::kString ? member->view() : std::string_view();
}

std::optional<LineOutcome> ParseEventLine(std::string_view line, JsonTape* tape) {
  if (IsBlank(line)) return LineOutcome::Ignored("blank line");
  if (!tape->Parse(line)) {
    std::string foreign = RecogniseForeignText(line);
    LineOutcome outcome = LineOutcome::Bad("", foreign.empty() ? tape->error() : foreign);
    outcome.foreign_form = !foreign.empty();
    return outcome;
  }
  if (tape->root().is_null()) return LineOutcome::Ignored("tombstone");
  if (tape->root().kind != JsonKind::kObject) {
    return LineOutcome::Bad("",
                            "a change event is an object, this is " + std::string(NameOf(tape->root().kind)));
  }
  return RefuseRepeated(tape->root());
}

std::optional<LineOutcome> RefuseRepeated(const JsonToken& object) {
  std::vector<std::string_view> names;
  names.reserve(object.length);
  for (const JsonToken* name = object.begin(); name != object.end(); name = name[1].next())
    names.push_back(name->view());
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return LineOutcome::Bad(std::string(*twice), "comes twice in the event");
}

std::optional<LineOutcome> AskSource(SourceChoice* source, const SourceName& name, std::string field) {
  switch (source->Ask(name)) {
    case SourceChoice::Answer::kOurs: return std::nullopt;
    case SourceChoice::Answer::kOther: return LineOutcome::Ignored("another source table");
    case SourceChoice::Answer::kMixed: break;
  }
  return LineOutcome::Bad(std::move(field),
                          "is of " + name.ToString() + ", while this ingest takes " + source->chosen() +
                              ": one ingest takes one source table, chosen by its name with the schema");
}

LineOutcome NotThisForm(const JsonToken& root, EventFormat format, std::string field, std::string reason) {
  std::string foreign = RecogniseForeignJson(root, format);
  const bool is_foreign = !foreign.empty();
  LineOutcome outcome = is_foreign ? LineOutcome::Bad("", std::move(foreign))
                                   : LineOutcome::Bad(std::move(field), std::move(reason));
  outcome.foreign_form = is_foreign;
  return outcome;
}

LineOutcome TruncateOutcome(const EventOptions& options, bool has_key, std::string field) {
  if (!has_key)
    return LineOutcome::Bad(std::move(field), "is a truncate, but the table has no primary key to delete by");
  if (!options.truncate_deletes)
    return LineOutcome::Bad(std::move(field), "is a truncate, which this ingest was told not to take");
  LineOutcome outcome;
  outcome.fate = LineFate::kTruncate;
  return outcome;
}

}  // namespace headrace::ingest
