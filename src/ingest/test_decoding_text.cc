#include "ingest/test_decoding_text.h"

#include <charconv>

namespace headrace::ingest {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEFabcdef";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBetween = " |\t";  // between place, transaction and change
constexpr std::string_view kNewTuple = " new-tuple:";
constexpr size_t kShown = 40;

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  size_t at() const { return at_; }
  bool Take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool TakeOneOf(std::string_view of) {
    if (at_end() || of.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  bool TakeAll(std::string_view of) {
    const size_t begin = at_;
    while (TakeOneOf(of)) continue;
    return at_ > begin;
  }
  // An identifier: plain up to one of `ends`, or in double quotes with "" for one.
  bool TakeName(std::string_view ends, std::string* name) {
    name->clear();
    if (Take("\"")) return TakeQuoted('"', name) && !name->empty();
    return TakeBare(ends, name);
  }
  bool TakeBare(std::string_view ends, std::string* text) {
    const size_t begin = at_;
    while (!at_end() && ends.find(text_[at_]) == std::string_view::npos) ++at_;
    text->assign(text_.substr(begin, at_ - begin));
    return at_ > begin;
  }
  // In brackets: [integer[]] is integer[]. A type's own name may be quoted, and then hold brackets.
  bool TakeType(std::string* type) {
    if (!Take("[")) return false;
    const size_t begin = at_;
    bool quoted = false;
    for (int depth = 0; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == '[') ++depth;
      if (c != ']' || depth-- > 0) continue;
      type->assign(text_.substr(begin, at_ - begin));
      ++at_;
      return !type->empty();
    }
    return false;
  }
  // After the opening quote; two of them are one of the text.
  bool TakeQuoted(char quote, std::string* text) {
    while (!at_end()) {
      const char c = text_[at_++];
      if (c == quote && (at_end() || text_[at_] != quote)) return true;
      if (c == quote) ++at_;
      text->push_back(c);
    }
    return false;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Past "0/1925F28 731 ", which pg_recvlogical does not print.
Cursor AfterPlace(std::string_view record) {
  Cursor placed(record);
  const bool found = placed.TakeAll(kHex) && placed.Take("/") && placed.TakeAll(kHex) &&
                     placed.TakeOneOf(kBetween) && placed.TakeAll(kDigits) && placed.TakeOneOf(kBetween);
  return found ? placed : Cursor(record);
}

// "BEGIN", "BEGIN 731", "COMMIT 731 (at 2026-11-29 14:21:36.010168+00)"
bool IsBoundary(Cursor cursor) {
  const bool commit = cursor.Take("COMMIT");
  if (!commit && !cursor.Take("BEGIN")) return false;
  if (cursor.at_end()) return true;
  if (cursor.rest().starts_with(" (at ")) return commit;
  return cursor.Take(" ") && cursor.TakeAll(kDigits) &&
         (cursor.at_end() || (commit && cursor.rest().starts_with(" (at ")));
}

// What a slot writes that decodes transactions before their end: which of them stay is not known at their rows.
std::string_view UnfinishedWork(std::string_view text) {
  constexpr std::string_view kTwoPhase[] = {"PREPARE TRANSACTION ", "COMMIT PREPARED ", "ROLLBACK PREPARED "};
  constexpr std::string_view kStreamed[] = {
      "opening a streamed block", "closing a streamed block", "streaming ",
      "aborting streamed",        "committing streamed",      "preparing streamed"};
  for (const std::string_view word : kTwoPhase) {
    if (text.starts_with(word)) return "is of a slot with two_phase; make one without";
  }
  for (const std::string_view word : kStreamed) {
    if (text.starts_with(word)) return "is of a transaction that is streamed; read without stream-changes";
  }
  return {};
}

bool TakeTable(Cursor* cursor, TestDecodingChange::Name* name) {
  return cursor->TakeName(".:, ", &name->schema) && cursor->Take(".") &&
         cursor->TakeName(".:, ", &name->table);
}

// "table public.a, public.b: TRUNCATE:" and the like.
bool ReadHead(Cursor* cursor, TestDecodingChange* change, std::string* why) {
  using What = TestDecodingChange::What;
  if (IsBoundary(*cursor)) return true;
  if (cursor->rest().starts_with("message: ")) {
    change->what = What::kMessage;
    return true;
  }
  *why = UnfinishedWork(cursor->rest());
  if (!why->empty()) return false;
  *why = "is no change as test_decoding writes it: table schema.name: INSERT: …";
  if (!cursor->Take("table ")) return false;
  do {
    if (!TakeTable(cursor, &change->tables.emplace_back())) return false;
  } while (cursor->Take(", "));
  if (cursor->Take(": TRUNCATE:")) {
    change->what = What::kTruncate;
    return true;
  }
  if (cursor->Take(": INSERT:")) {
    change->what = What::kInsert;
  } else if (cursor->Take(": UPDATE:")) {
    change->what = What::kUpdate;
  } else if (cursor->Take(": DELETE:")) {
    change->what = What::kDelete;
  } else {
    *why = "is none of INSERT, UPDATE, DELETE and TRUNCATE";
    return false;
  }
  return change->tables.size() == 1;
}

bool ReadValue(Cursor* cursor, TestDecodingChange::Column* column, std::string* why) {
  if (cursor->Take("'") || cursor->Take("B'")) {
    if (cursor->TakeQuoted('\'', &column->text)) return true;
    *why = "ends within the value of " + column->name;
    return false;
  }
  if (!cursor->TakeBare(" ", &column->text)) {
    *why = "has no value for " + column->name;
    return false;
  }
  column->is_null = column->text == "null";
  column->unsent = column->text == "unchanged-toast-datum";
  return true;
}

// name[type]:value, a blank before each, up to the end or to the new row.
bool ReadColumns(Cursor* cursor, std::vector<TestDecodingChange::Column>* columns, std::string* why) {
  while (!cursor->at_end() && !cursor->rest().starts_with(kNewTuple)) {
    const std::string_view here = cursor->rest().substr(0, kShown);
    TestDecodingChange::Column& column = columns->emplace_back();
    if (!cursor->Take(" ") || !cursor->TakeName("[", &column.name) || !cursor->TakeType(&column.type) ||
        !cursor->Take(":")) {
      *why = "has no column as name[type]:value at \"" + std::string(here) + "\"";
      return false;
    }
    if (!ReadValue(cursor, &column, why)) return false;
  }
  return true;
}

// The bytes of a record that is a message, by the size that it tells; its content may hold line ends.
size_t MessageBytes(std::string_view record) {
  constexpr std::string_view kSize = ", sz: ";
  constexpr std::string_view kContent = " content:";
  for (size_t at = record.find(kSize); at != std::string_view::npos; at = record.find(kSize, at + 1)) {
    const char* const digits = record.data() + at + kSize.size();
    size_t size = 0;
    const auto [end, error] = std::from_chars(digits, record.data() + record.size(), size);
    const size_t content = end - record.data();
    if (error == std::errc() && record.substr(content).starts_with(kContent) && size < (size_t{1} << 40))
      return content + kContent.size() + size;
  }
  return 0;
}

}  // namespace

bool ReadTestDecodingHead(std::string_view record, TestDecodingChange* change, std::string* why) {
  *change = TestDecodingChange();
  Cursor cursor = AfterPlace(record);
  return ReadHead(&cursor, change, why);
}

bool ReadTestDecoding(std::string_view record, TestDecodingChange* change, std::string* why) {
  using What = TestDecodingChange::What;
  *change = TestDecodingChange();
  Cursor cursor = AfterPlace(record);
  if (!ReadHead(&cursor, change, why)) return false;
  if (change->what == What::kBoundary || change->what == What::kMessage || change->what == What::kTruncate)
    return true;
  if (cursor.rest() == " (no-tuple-data)") {
    *why = "has no row: the source table has neither a primary key nor another replica identity";
    return false;
  }
  if (cursor.Take(" old-key:")) {
    if (!ReadColumns(&cursor, &change->old_key, why)) return false;
    if (change->what != What::kUpdate || !cursor.Take(kNewTuple)) {
      *why = "has an old key and no new row";
      return false;
    }
  }
  if (!ReadColumns(&cursor, &change->columns, why)) return false;
  *why = cursor.at_end() ? "has no column" : "has a second new row";
  return cursor.at_end() && !change->columns.empty();
}

bool IsTestDecoding(std::string_view line) {
  TestDecodingChange change;
  std::string why;
  return ReadTestDecodingHead(line, &change, &why);
}

size_t TestDecodingRecordEnd::Find(std::string_view text) {
  if (state_ == State::kUnknown) {
    const size_t end = text.find('\n', at_);
    at_ = end == std::string_view::npos ? text.size() : end;
    if (end == std::string_view::npos) return end;
    const Cursor change = AfterPlace(text.substr(0, end));
    if (change.rest().starts_with("message: ")) {
      const size_t bytes = MessageBytes(text.substr(change.at(), end - change.at()));
      const size_t wanted = change.at() + bytes;
      if (bytes == 0 || wanted <= end) return end;
      at_ = end;
      return text.size() > wanted ? text.find('\n', wanted) : std::string_view::npos;
    }
    if (!change.rest().starts_with("table ")) return end;
    state_ = State::kOutside;
    at_ = 0;
  }
  for (; at_ < text.size(); ++at_) {
    const char c = text[at_];
    switch (state_) {
      case State::kUnknown: break;
      case State::kOutside:
        if (c == '\n') return at_;
        if (c == '"') state_ = State::kInName;
        if (c == '\'') state_ = State::kInValue;
        break;
      case State::kInName:
        if (c == '"') state_ = State::kOutside;
        break;
      case State::kInValue:
        if (c == '\'') state_ = State::kOutside;
        break;
    }
  }
  return std::string_view::npos;
}

std::vector<std::string> JoinTestDecodingLines(const std::vector<std::string>& lines) {
  std::vector<std::string> records;
  std::string text;
  TestDecodingRecordEnd end;
  for (const std::string& line : lines) {
    text += line;
    text += '\n';
    if (end.Find(text) == std::string_view::npos) continue;
    text.pop_back();
    records.push_back(std::move(text));
    text.clear();
    end.Reset();
  }
  return records;
}

}  // namespace headrace::ingest
