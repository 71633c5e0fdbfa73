#include "ingest/postgres_values.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/encoded_bytes.h"
#include "ingest/value_decoder.h"
#include "ingest/value_target.h"

namespace headrace::ingest {
namespace {

bool AppendBytea(std::string_view text, const Target& to) {
  std::string bytes;
  if (!text.starts_with("\\x") || !DecodeHex(text.substr(2), &bytes))
    return to.Wrong(text, "not \\x and hexadecimal digits");
  if (bytes.size() > static_cast<size_t>(to.type().length))
    return to.Wrong(text, "it has " + std::to_string(bytes.size()) + " bytes");
  to.column->AppendBytes(bytes);
  return true;
}

// A database of encoding SQL_ASCII holds, and sends, any bytes.
bool AppendCharacters(std::string_view text, const Target& to) {
  if (!IsUtf8(text)) return to.Refuse("is text that is not UTF-8, in a column of type " + ToSql(to.type()));
  return AppendTextValue(text, to.modes, to.column, to.why);
}

// Dates and instants: years have no sign but a final BC, and there are two infinities.
bool AppendDay(std::string_view text, const Target& to) {
  if (text == "infinity" || text == "-infinity")
    return to.Wrong(text, "no point in time; a STRING column would hold it");
  if (text.ends_with(" BC")) return to.Wrong(text, "before the year 1; a STRING column would hold it");
  std::string with_sign;
  if (text.find('-') != std::string_view::npos && text.find('-') > 4) {
    with_sign = "+" + std::string(text);
    text = with_sign;
  }
  return AppendTextValue(text, to.modes, to.column, to.why);
}

// {1,NULL,3}, {"a,b","say \"x\""}, {{1,2},{3,4}}, [2:3]={1,2}. A cursor over the text; depth is that of the column's type.
class ArrayText {
 public:
  ArrayText(std::string_view text, const Target& to) : all_(text), rest_(text), to_(to) {}

  bool Append() {
    SkipBounds();
    return AppendList(to_.column) &&
           (rest_.empty() || to_.Wrong(all_, "not an array as PostgreSQL writes it"));
  }

 private:
  // Where counting begins is no part of a list.
  void SkipBounds() {
    if (!rest_.starts_with('[')) return;
    const size_t end = rest_.find("]={");
    if (end != std::string_view::npos) rest_.remove_prefix(end + 2);
  }
  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool AppendList(ColumnBuffer* list) {
    if (!Take('{')) return to_.Wrong(all_, "not an array as PostgreSQL writes it");
    if (!Take('}')) {
      do {
        if (!AppendElement(&list->children()[0])) return false;
      } while (Take(','));
      if (!Take('}')) return to_.Wrong(all_, "not an array as PostgreSQL writes it");
    }
    list->CloseList();
    return true;
  }
  bool AppendElement(ColumnBuffer* element) {
    if (rest_.starts_with('{')) {
      if (element->type().root == TypeRoot::kArray) return AppendList(element);
      return to_.Wrong(all_, "it has more dimensions than the column; a STRING column would hold it");
    }
    std::string text;
    bool quoted = false;
    if (!TakeElement(&text, &quoted)) return to_.Wrong(all_, "not an array as PostgreSQL writes it");
    if (!quoted && text == "NULL") {
      element->AppendNull();
      return true;
    }
    if (element->type().root == TypeRoot::kArray)
      return to_.Wrong(all_, "it has fewer dimensions than the column");
    return AppendPostgresText(text, element, to_.why) || to_.Refuse("has an element that " + *to_.why);
  }
  bool TakeElement(std::string* text, bool* quoted) {
    *quoted = Take('"');
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (*quoted ? c == '"' : c == ',' || c == '}') {
        if (*quoted) rest_.remove_prefix(1);
        return *quoted || !text->empty();
      }
      rest_.remove_prefix(1);
      if (c != '\\') {
        text->push_back(c);
      } else if (rest_.empty()) {
        return false;
      } else {
        text->push_back(rest_.front());
        rest_.remove_prefix(1);
      }
    }
    return false;
  }

  const std::string_view all_;
  std::string_view rest_;
  const Target& to_;
};

}  // namespace

bool AppendPostgresText(std::string_view text, ColumnBuffer* column, std::string* why) {
  static const ValueModes kModes;
  const Target to{kModes, column, why};
  switch (column->type().root) {
    case TypeRoot::kBoolean:
      if (text != "t" && text != "f") return to.Wrong(text, "neither t nor f");
      column->AppendBool(text == "t");
      return true;
    case TypeRoot::kDecimal:
      if (text == "NaN" || text == "Infinity" || text == "-Infinity")
        return to.Wrong(text, "no number of a DECIMAL; a STRING column would hold it");
      return AppendTextValue(text, kModes, column, why);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return AppendCharacters(text, to);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return AppendBytea(text, to);
    case TypeRoot::kDate:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return AppendDay(text, to);
    case TypeRoot::kArray: return ArrayText(text, to).Append();
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow:
      return to.Wrong(text, "PostgreSQL's text does not go into it; a STRING column would hold it");
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
    case TypeRoot::kTime: return AppendTextValue(text, kModes, column, why);
  }
  return to.Refuse("has a type that is not read here");
}

}  // namespace headrace::ingest
