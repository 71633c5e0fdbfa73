#include "ingest/mysql_types.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace headrace::ingest {
namespace {

constexpr int32_t kMostDigits = 38;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

struct Declared {
  std::string word;              // "bigint", "double"
  std::vector<int32_t> numbers;  // in its brackets, if they are numbers
  bool is_unsigned = false;
};

Declared Read(std::string_view text) {
  const std::string lower = Lower(text);
  Declared declared;
  const size_t first = lower.find_first_not_of(' ');
  if (first == std::string::npos) return declared;
  const size_t end = std::min(lower.find_first_of(" (", first), lower.size());
  declared.word = lower.substr(first, end - first);
  const size_t open = lower.find_first_not_of(' ', end);
  size_t after = end;
  if (open != std::string::npos && lower[open] == '(') {
    const char* at = lower.data() + open + 1;
    const char* const last = lower.data() + lower.size();
    while (at < last) {
      int32_t number = 0;
      while (at < last && *at == ' ') ++at;
      const auto [rest, error] = std::from_chars(at, last, number);
      if (error != std::errc()) break;
      declared.numbers.push_back(number);
      at = rest;
      while (at < last && *at == ' ') ++at;
      if (at == last || *at != ',') break;
      ++at;
    }
    after = std::min(lower.rfind(')'), lower.size());
    if (after < open) after = lower.size();
  }
  declared.is_unsigned = lower.find("unsigned", after) != std::string::npos ||
                         lower.find("zerofill", after) != std::string::npos;
  return declared;
}

DataType Plain(TypeRoot root) {
  DataType type;
  type.root = root;
  return type;
}
DataType Text() {
  DataType type = Plain(TypeRoot::kVarChar);
  type.length = kMaxLength;
  return type;
}
DataType Decimal(int32_t precision, int32_t scale) {
  if (precision > kMostDigits || precision < 1 || scale < 0 || scale > precision) return Text();
  DataType type = Plain(TypeRoot::kDecimal);
  type.precision = precision;
  type.scale = scale;
  return type;
}
DataType Instant(const Declared& declared) {
  DataType type = Plain(TypeRoot::kTimestamp);
  type.precision = declared.numbers.empty() ? 0 : std::clamp(declared.numbers[0], 0, 9);
  return type;
}

constexpr std::string_view kTexts[] = {"char",     "varchar",    "character", "nchar", "nvarchar", "text",
                                       "tinytext", "mediumtext", "longtext",  "json",  "enum",     "set",
                                       "time",     "string",     "inet4",     "inet6", "uuid"};
constexpr std::string_view kBytes[] = {
    "binary", "varbinary",  "blob",    "tinyblob",   "mediumblob",      "longblob",     "geometry",
    "point",  "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"};

template <size_t n>
bool IsOneOf(const std::string& word, const std::string_view (&words)[n]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::optional<DataType> TypeOfInteger(const Declared& declared) {
  constexpr std::pair<std::string_view, TypeRoot> kIntegers[] = {
      {"tinyint", TypeRoot::kTinyInt}, {"smallint", TypeRoot::kSmallInt}, {"mediumint", TypeRoot::kInt},
      {"int", TypeRoot::kInt},         {"integer", TypeRoot::kInt},       {"bigint", TypeRoot::kBigInt}};
  for (const auto& [word, root] : kIntegers) {
    if (declared.word != word) continue;
    if (!declared.is_unsigned || word == "mediumint") return Plain(root);
    if (root == TypeRoot::kBigInt) return Decimal(20, 0);
    return Plain(static_cast<TypeRoot>(static_cast<int>(root) + 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<DataType> TypeOfMysql(std::string_view type) {
  const Declared declared = Read(type);
  const std::string& word = declared.word;
  const auto number = [&](size_t i, int32_t otherwise) {
    return i < declared.numbers.size() ? declared.numbers[i] : otherwise;
  };
  if (std::optional<DataType> integer = TypeOfInteger(declared)) return integer;
  if (word == "bool" || word == "boolean") return Plain(TypeRoot::kTinyInt);
  if (word == "year") return Plain(TypeRoot::kInt);
  if (word == "bit") return number(0, 1) < 64 ? Plain(TypeRoot::kBigInt) : Decimal(20, 0);
  if (word == "decimal" || word == "numeric" || word == "dec" || word == "fixed")
    return Decimal(number(0, 10), number(1, 0));
  if (word == "float")
    return Plain(number(0, 0) > 24 && number(1, -1) < 0 ? TypeRoot::kDouble : TypeRoot::kFloat);
  if (word == "double" || word == "real") return Plain(TypeRoot::kDouble);
  if (word == "date") return Plain(TypeRoot::kDate);
  if (word == "datetime" || word == "timestamp") return Instant(declared);
  if (IsOneOf(word, kTexts)) return Text();
  if (IsOneOf(word, kBytes)) {
    DataType bytes = Plain(TypeRoot::kVarBinary);
    bytes.length = kMaxLength;
    return bytes;
  }
  return std::nullopt;
}

}  // namespace headrace::ingest
