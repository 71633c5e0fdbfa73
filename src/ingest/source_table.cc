#include "ingest/source_table.h"

namespace headrace::ingest {
namespace {

std::string_view TextMember(const JsonToken& object, std::string_view name) {
  const JsonToken* member = FindMember(object, name);
  return member != nullptr && member->kind == JsonKind::kString ? member->view() : std::string_view();
}

// `text` minus the part at its front and the dot after it; false when it does not begin so.
bool TakePart(std::string_view* text, std::string_view part) {
  if (part.empty() || !text->starts_with(part) || text->size() <= part.size() || (*text)[part.size()] != '.')
    return false;
  text->remove_prefix(part.size() + 1);
  return true;
}

}  // namespace

std::string SourceName::ToString() const {
  const std::string_view space = !schema.empty() ? schema : database;
  return space.empty() ? std::string(table) : std::string(space) + "." + std::string(table);
}

bool SourceName::Matches(std::string_view wanted) const {
  if (wanted == table) return true;
  std::string_view rest = wanted;
  if (TakePart(&rest, schema) && rest == table) return true;
  rest = wanted;
  if (!TakePart(&rest, database)) return false;
  if (schema.empty() && rest == table) return true;
  return TakePart(&rest, schema) && rest == table;
}

SourceName SourceNameOf(const JsonToken* source) {
  if (source == nullptr || source->kind != JsonKind::kObject) return {};
  return {TextMember(*source, "db"), TextMember(*source, "schema"), TextMember(*source, "table")};
}

SourceName SourceNameBeside(const JsonToken& event) {
  return {TextMember(event, "database"), TextMember(event, "schema"), TextMember(event, "table")};
}

namespace {

// Does the last part of the full name, or all of it, agree with what the user named?
bool Names(std::string_view wanted, std::string_view full) {
  return wanted == full || wanted.ends_with("." + std::string(full)) ||
         full.ends_with("." + std::string(wanted));
}

}  // namespace

void SourceChoice::Remember(std::string chosen) {
  chosen_ = std::move(chosen);
  renamed_ = !chosen_.empty() && !wanted_.empty() && !Names(wanted_, chosen_);
}

void SourceChoice::Rename(std::string chosen) {
  Remember(std::move(chosen));
  table_.clear();
}

bool SourceChoice::IsOurs(const SourceName& name) const {
  if (!name.known()) return false;
  if (!chosen_.empty()) return name.ToString() == chosen_;
  return !wanted_.empty() && name.Matches(wanted_);
}

SourceChoice::Answer SourceChoice::Ask(const SourceName& name) {
  if (!name.known()) return Answer::kOurs;
  if (!table_.empty() && name.table == table_ && name.schema == schema_ && name.database == database_)
    return Answer::kOurs;
  const std::string full = name.ToString();
  if (renamed_ && full != chosen_) return Answer::kOther;
  if (!renamed_ && !wanted_.empty() && !name.Matches(wanted_)) return Answer::kOther;
  if (!chosen_.empty() && full != chosen_) return Answer::kMixed;
  chosen_ = full;
  database_ = name.database;
  schema_ = name.schema;
  table_ = name.table;
  return Answer::kOurs;
}

}  // namespace headrace::ingest
