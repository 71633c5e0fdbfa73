#include "ingest/postgres_type_names.h"

#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingest/postgres_types.h"

namespace headrace::ingest {
namespace {

constexpr int32_t kHeader = 4;  // modifiers of lengths and precisions count a header's bytes

// "numeric(10,2)" is "numeric" and {10, 2}; "timestamp(3) with time zone" is "timestamp with time zone" and {3}.
std::string WithoutNumbers(std::string_view name, std::vector<int32_t>* numbers) {
  const size_t open = name.find('(');
  const size_t close = name.find(')', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(name);
  const char* at = name.data() + open + 1;
  const char* const end = name.data() + close;
  while (at < end) {
    int32_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    numbers->push_back(number);
    at = rest == end ? rest : rest + 1;
  }
  return std::string(name.substr(0, open)) + std::string(name.substr(close + 1));
}

// As pg_attribute has it, -1 when nothing is said.
int32_t ModifierOf(std::string_view word, const std::vector<int32_t>& numbers) {
  if (numbers.empty()) return -1;
  if (word == "numeric") {
    const int32_t scale = numbers.size() > 1 ? numbers[1] : 0;
    return ((numbers[0] & 0xffff) << 16 | (scale & 0x7ff)) + kHeader;
  }
  if (word != "character" && word != "character varying") return numbers[0];
  return numbers[0] < kMaxLength - kHeader ? numbers[0] + kHeader : -1;
}

}  // namespace

DataType TypeOfPostgresName(std::string_view name) {
  // An array of any number of dimensions has one pair of brackets; a text of many is no type.
  if (name.ends_with("[]") && !name.ends_with("[][]")) {
    DataType type;
    type.root = TypeRoot::kArray;
    type.element = std::make_shared<DataType>(TypeOfPostgresName(name.substr(0, name.size() - 2)));
    return type;
  }
  constexpr std::pair<std::string_view, uint32_t> kNumbers[] = {{"boolean", 16},
                                                                {"bytea", 17},
                                                                {"bigint", 20},
                                                                {"smallint", 21},
                                                                {"integer", 23},
                                                                {"text", 25},
                                                                {"oid", 26},
                                                                {"real", 700},
                                                                {"double precision", 701},
                                                                {"character", 1042},
                                                                {"character varying", 1043},
                                                                {"date", 1082},
                                                                {"time without time zone", 1083},
                                                                {"timestamp without time zone", 1114},
                                                                {"timestamp with time zone", 1184},
                                                                {"numeric", 1700}};
  constexpr uint32_t kText = 25;
  std::vector<int32_t> numbers;
  const std::string word = WithoutNumbers(name, &numbers);
  uint32_t oid = kText;
  for (const auto& [known, number] : kNumbers) {
    if (word == known) oid = number;
  }
  return PostgresTypes().Map(oid, ModifierOf(word, numbers));
}

}  // namespace headrace::ingest
