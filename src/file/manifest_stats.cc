#include "file/manifest_stats.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace headrace {
namespace {

constexpr uint32_t kLargestCodePoint = 0x10FFFF;

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes that the first `characters` characters take.
size_t PrefixBytes(std::string_view text, int32_t characters) {
  size_t at = 0;
  while (at < text.size()) {
    if (!Continues(text[at]) && characters-- == 0) break;
    ++at;
  }
  return at;
}

uint32_t CodePointAt(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
    case 3: return (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    default: return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
  }
}

void AppendCodePoint(uint32_t c, std::string* text) {
  const auto push = [text](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0 | c >> 6);
    push(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    push(0xE0 | c >> 12);
    push(0x80 | (c >> 6 & 0x3F));
    push(0x80 | (c & 0x3F));
  } else {
    push(0xF0 | c >> 18);
    push(0x80 | (c >> 12 & 0x3F));
    push(0x80 | (c >> 6 & 0x3F));
    push(0x80 | (c & 0x3F));
  }
}

// The next character that can be stored: surrogates are no characters.
std::optional<uint32_t> NextCodePoint(uint32_t c) {
  if (c >= kLargestCodePoint) return std::nullopt;
  return c + 1 == 0xD800 ? 0xE000 : c + 1;
}

std::optional<std::string> RaisedText(std::string prefix) {
  while (!prefix.empty()) {
    size_t start = prefix.size() - 1;
    while (start > 0 && Continues(prefix[start])) --start;
    const std::optional<uint32_t> next = NextCodePoint(CodePointAt(std::string_view(prefix).substr(start, 4)));
    prefix.resize(start);
    if (next.has_value()) {
      AppendCodePoint(*next, &prefix);
      return prefix;
    }
  }
  return std::nullopt;
}

std::optional<std::string> RaisedBytes(std::string prefix) {
  while (!prefix.empty()) {
    const auto last = static_cast<unsigned char>(prefix.back());
    prefix.pop_back();
    if (last != 0xFF) {
      prefix.push_back(static_cast<char>(last + 1));
      return prefix;
    }
  }
  return std::nullopt;
}

}  // namespace

ColumnFacts CutToMode(ColumnFacts facts, const ColumnStatsMode& mode, bool text) {
  if (mode.mode == StatsMode::kNone) return {};
  if (mode.mode == StatsMode::kCounts) return {{}, {}, facts.null_count};
  if (mode.mode == StatsMode::kFull) return facts;
  const auto bytes_of = [&](const std::string& value) {
    return text ? PrefixBytes(value, mode.length) : std::min(value.size(), static_cast<size_t>(mode.length));
  };
  if (auto* min = std::get_if<std::string>(&facts.min)) min->resize(bytes_of(*min));
  auto* max = std::get_if<std::string>(&facts.max);
  if (max == nullptr || bytes_of(*max) == max->size()) return facts;
  const std::string prefix = max->substr(0, bytes_of(*max));
  std::optional<std::string> raised = text ? RaisedText(prefix) : RaisedBytes(prefix);
  if (!raised.has_value()) return {{}, {}, facts.null_count};
  *max = std::move(*raised);
  return facts;
}

Result<SimpleStats> PackStats(const std::vector<ColumnFacts>& facts, const std::vector<DataField>& fields) {
  std::vector<Value> min;
  std::vector<Value> max;
  std::vector<DataType> types;
  SimpleStats stats;
  for (size_t i = 0; i < facts.size(); ++i) {
    min.push_back(facts[i].min);
    max.push_back(facts[i].max);
    types.push_back(fields[i].type);
    types.back().nullable = true;
    stats.null_counts.push_back(facts[i].null_count);
  }
  HEADRACE_ASSIGN_OR_RETURN(stats.min_values, EncodeBinaryRow(min, types));
  HEADRACE_ASSIGN_OR_RETURN(stats.max_values, EncodeBinaryRow(max, types));
  return stats;
}

Result<DenseStats> PackDenseStats(const std::vector<ColumnFacts>& facts, const std::vector<DataField>& fields) {
  std::vector<ColumnFacts> known;
  std::vector<DataField> known_fields;
  std::vector<std::string> names;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (IsNull(facts[i].min) && IsNull(facts[i].max) && !facts[i].null_count.has_value()) continue;
    known.push_back(facts[i]);
    known_fields.push_back(fields[i]);
    names.push_back(fields[i].name);
  }
  DenseStats dense;
  HEADRACE_ASSIGN_OR_RETURN(dense.stats, PackStats(known, known_fields));
  if (known.size() != facts.size()) dense.columns = std::move(names);
  return dense;
}

}  // namespace headrace
