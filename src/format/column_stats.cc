// Truncation, density, and bounds across a change of type.
#include "format/column_stats.h"

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

bool IsText(TypeRoot root) { return root == TypeRoot::kChar || root == TypeRoot::kVarChar; }
bool IsBinary(TypeRoot root) { return root == TypeRoot::kBinary || root == TypeRoot::kVarBinary; }

// Bytes of the code point that begins with `first`; a stray byte counts as one.
size_t CodePointBytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0xC0) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

size_t PrefixBytes(std::string_view text, int32_t code_points) {
  size_t at = 0;
  for (int32_t i = 0; i < code_points && at < text.size(); ++i) at += CodePointBytes(text[at]);
  return std::min(at, text.size());
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  if (code_point < 0x80) {
    out->push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code_point >> 6)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
  } else if (code_point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code_point >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code_point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (code_point >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code_point >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((code_point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
  }
}

// The code point of well-formed bytes; nothing for anything else.
std::optional<uint32_t> DecodeUtf8(std::string_view bytes) {
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first >= 0xF8 || bytes.size() != CodePointBytes(bytes[0])) return std::nullopt;
  if (bytes.size() == 1) return first < 0x80 ? std::optional<uint32_t>(first) : std::nullopt;
  uint32_t code_point = first & (0x7FU >> bytes.size());
  for (const char c : bytes.substr(1)) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) return std::nullopt;
    code_point = (code_point << 6) | (static_cast<unsigned char>(c) & 0x3F);
  }
  if (code_point < kLeast[bytes.size()] || code_point > 0x10FFFF) return std::nullopt;
  return code_point;
}

// The cut text with its last code point raised; carries to the left when there is none above. Surrogates are no text.
std::optional<std::string> RaiseText(std::string_view cut) {
  while (!cut.empty()) {
    size_t last = cut.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(cut[last]) & 0xC0) == 0x80) --last;
    const std::optional<uint32_t> code_point = DecodeUtf8(cut.substr(last));
    if (!code_point.has_value()) return std::nullopt;
    uint32_t next = *code_point + 1;
    if (next == 0xD800) next = 0xE000;
    cut = cut.substr(0, last);
    if (next > 0x10FFFF) continue;
    std::string raised(cut);
    AppendUtf8(next, &raised);
    return raised;
  }
  return std::nullopt;
}

std::optional<std::string> RaiseBytes(std::string_view cut) {
  while (!cut.empty() && static_cast<unsigned char>(cut.back()) == 0xFF) cut.remove_suffix(1);
  if (cut.empty()) return std::nullopt;
  std::string raised(cut);
  raised.back() = static_cast<char>(static_cast<unsigned char>(raised.back()) + 1);
  return raised;
}

template <typename Float>
void WidenFloats(ColumnStats* stats) {
  if (!std::holds_alternative<Float>(stats->min) || !std::holds_alternative<Float>(stats->max)) return;
  auto& min = std::get<Float>(stats->min);
  auto& max = std::get<Float>(stats->max);
  if (std::isnan(min) || std::isnan(max)) {
    stats->min = Value();
    stats->max = Value();
    return;
  }
  if (min == 0) min = -Float{0};
  if (max == 0) max = Float{0};
}

int IntegerWidth(TypeRoot root) {
  switch (root) {
    case TypeRoot::kTinyInt: return 1;
    case TypeRoot::kSmallInt: return 2;
    case TypeRoot::kInt: return 4;
    case TypeRoot::kBigInt: return 8;
    default: return 0;
  }
}

int64_t AsLong(const Value& value) {
  if (const auto* v = std::get_if<int8_t>(&value)) return *v;
  if (const auto* v = std::get_if<int16_t>(&value)) return *v;
  if (const auto* v = std::get_if<int32_t>(&value)) return *v;
  return std::get<int64_t>(value);
}

// The value after a cast that keeps the order; nothing when this cast does not.
std::optional<Value> CastBound(const Value& value, const DataType& from, const DataType& to) {
  const int from_width = IntegerWidth(from.root);
  if (from_width > 0) {
    const int64_t number = AsLong(value);
    if (IntegerWidth(to.root) < from_width && IntegerWidth(to.root) > 0) return std::nullopt;
    switch (to.root) {
      case TypeRoot::kTinyInt: return Value(static_cast<int8_t>(number));
      case TypeRoot::kSmallInt: return Value(static_cast<int16_t>(number));
      case TypeRoot::kInt: return Value(static_cast<int32_t>(number));
      case TypeRoot::kBigInt: return Value(number);
      case TypeRoot::kFloat: return Value(static_cast<float>(number));
      case TypeRoot::kDouble: return Value(static_cast<double>(number));
      default: return std::nullopt;
    }
  }
  if (from.root == TypeRoot::kFloat && to.root == TypeRoot::kDouble)
    return Value(double{std::get<float>(value)});
  const bool longer_text = IsText(from.root) && to.root == TypeRoot::kVarChar && to.length >= from.length;
  const bool longer_bytes =
      IsBinary(from.root) && to.root == TypeRoot::kVarBinary && to.length >= from.length;
  const bool wider_decimal = from.root == TypeRoot::kDecimal && to.root == TypeRoot::kDecimal &&
                             to.scale == from.scale && to.precision >= from.precision;
  const bool finer_time =
      from.root == to.root && to.precision >= from.precision &&
      (to.root == TypeRoot::kTimestamp || to.root == TypeRoot::kTimestampLtz || to.root == TypeRoot::kTime);
  if (longer_text || longer_bytes || wider_decimal || finer_time) return value;
  return std::nullopt;
}

DataType Nullable(DataType type) {
  type.nullable = true;
  return type;
}

}  // namespace

std::vector<ColumnStatsMode> StatsModesFor(const TableOptions& options, Level level,
                                           std::span<const std::string> columns,
                                           std::span<const std::string> thin_keys) {
  const auto of_level = options.level_stats_mode.find(level.value);
  const ColumnStatsMode otherwise =
      of_level != options.level_stats_mode.end() ? of_level->second : options.stats_mode;
  std::vector<ColumnStatsMode> modes;
  int32_t counted = 0;
  for (const std::string& column : columns) {
    const auto own = options.field_stats_mode.find(column);
    if (own != options.field_stats_mode.end()) {
      modes.push_back(own->second);
      ++counted;
    } else if (std::find(thin_keys.begin(), thin_keys.end(), column) != thin_keys.end()) {
      modes.push_back(kKeyStatsMode);
    } else {
      const bool beyond = options.stats_first_columns >= 0 && counted >= options.stats_first_columns;
      modes.push_back(beyond ? ColumnStatsMode{StatsMode::kNone, 0} : otherwise);
      ++counted;
    }
  }
  return modes;
}

std::string TruncateMin(std::string_view value, int32_t length, bool utf8) {
  return std::string(value.substr(0, utf8 ? PrefixBytes(value, length) : static_cast<size_t>(length)));
}

std::optional<std::string> TruncateMax(std::string_view value, int32_t length, bool utf8) {
  const size_t cut = utf8 ? PrefixBytes(value, length) : std::min(value.size(), static_cast<size_t>(length));
  if (cut == value.size()) return std::string(value);
  return utf8 ? RaiseText(value.substr(0, cut)) : RaiseBytes(value.substr(0, cut));
}

ColumnStats ApplyStatsMode(ColumnStats exact, const ColumnStatsMode& mode, const DataType& type) {
  if (mode.mode == StatsMode::kNone || type.is_nested()) return ColumnStats{};
  if (mode.mode == StatsMode::kCounts || IsNull(exact.min) || IsNull(exact.max) ||
      !FitsType(exact.min, type) || !FitsType(exact.max, type)) {
    return ColumnStats{Value(), Value(), exact.null_count};
  }
  WidenFloats<float>(&exact);
  WidenFloats<double>(&exact);
  if (mode.mode == StatsMode::kFull || !(IsText(type.root) || IsBinary(type.root))) return exact;
  const std::optional<std::string> max =
      TruncateMax(std::get<std::string>(exact.max), mode.length, IsText(type.root));
  if (!max.has_value()) return ColumnStats{Value(), Value(), exact.null_count};
  exact.min = TruncateMin(std::get<std::string>(exact.min), mode.length, IsText(type.root));
  exact.max = *max;
  return exact;
}

Result<StoredStats> BuildStats(std::span<const ColumnStats> columns, std::span<const DataField> fields,
                               bool dense) {
  if (columns.size() != fields.size())
    return Invalid("statistics of ", columns.size(), " columns for ", fields.size(), " fields");
  StoredStats stored;
  std::vector<std::string> names;
  std::vector<Value> mins, maxs;
  std::vector<DataType> types;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (dense && columns[i].is_none()) continue;
    names.push_back(fields[i].name);
    mins.push_back(columns[i].min);
    maxs.push_back(columns[i].max);
    types.push_back(Nullable(fields[i].type));
    stored.stats.null_counts.push_back(columns[i].null_count);
  }
  HEADRACE_ASSIGN_OR_RETURN(stored.stats.min_values, EncodeBinaryRow(mins, types));
  HEADRACE_ASSIGN_OR_RETURN(stored.stats.max_values, EncodeBinaryRow(maxs, types));
  if (dense && names.size() < fields.size()) stored.columns = std::move(names);
  return stored;
}

Result<std::vector<ColumnStats>> ReadStats(const SimpleStats& stats,
                                           const std::optional<std::vector<std::string>>& columns,
                                           std::span<const DataField> fields) {
  std::vector<size_t> places;  // which field each stored column is
  if (columns.has_value()) {
    for (const std::string& name : *columns) {
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const DataField& f) { return f.name == name; });
      if (field == fields.end())
        return Corruption("statistics of a column '", name, "' that the file's schema does not have");
      places.push_back(static_cast<size_t>(field - fields.begin()));
    }
  } else {
    for (size_t i = 0; i < fields.size(); ++i) places.push_back(i);
  }
  const auto arity =
      static_cast<size_t>(std::max(0, std::min(stats.min_values.arity, stats.max_values.arity)));
  std::vector<DataType> types;
  for (size_t i = 0; i < std::min(arity, places.size()); ++i) types.push_back(fields[places[i]].type);
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> mins, DecodeBinaryRowPrefix(stats.min_values, types));
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> maxs, DecodeBinaryRowPrefix(stats.max_values, types));
  std::vector<ColumnStats> result(fields.size());
  for (size_t i = 0; i < places.size(); ++i) {
    ColumnStats& column = result[places[i]];
    if (i < types.size() && !IsNull(mins[i]) && !IsNull(maxs[i])) {
      column.min = std::move(mins[i]);
      column.max = std::move(maxs[i]);
    }
    if (i < stats.null_counts.size()) column.null_count = stats.null_counts[i];
  }
  return result;
}

ColumnStats EvolveStats(const ColumnStats& stats, const DataType& from, const DataType& to) {
  if (Nullable(from) == Nullable(to)) return stats;
  if (IsNull(stats.min) || IsNull(stats.max)) {
    // Which casts may turn a value into null is only known for those that keep the order; a column of nulls stays one.
    return ColumnStats{Value(), Value(), std::nullopt};
  }
  const std::optional<Value> min = CastBound(stats.min, from, to);
  const std::optional<Value> max = CastBound(stats.max, from, to);
  if (!min.has_value() || !max.has_value()) return ColumnStats{};
  return ColumnStats{*min, *max, stats.null_count};
}

}  // namespace headrace
