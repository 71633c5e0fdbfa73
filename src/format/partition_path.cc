// Values of partition columns as folder names.
#include "format/partition_path.h"

#include <cstdio>

#include "format/civil_time.h"
#include "format/number_text.h"

namespace headrace {
namespace {

bool IsBlank(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F)) continue;
    // What Character.isWhitespace takes beyond ASCII: U+1680, U+2000–U+200A but U+2007, U+2028, U+2029, U+205F, U+3000.
    const std::string_view three = text.substr(i, 3);
    const bool wide =
        three == "\xE1\x9A\x80" || three == "\xE2\x81\x9F" || three == "\xE3\x80\x80" ||
        three == "\xE2\x80\xA8" || three == "\xE2\x80\xA9" ||
        (three.size() == 3 && three.starts_with("\xE2\x80") && static_cast<unsigned char>(three[2]) >= 0x80 &&
         static_cast<unsigned char>(three[2]) <= 0x8A && static_cast<unsigned char>(three[2]) != 0x87);
    if (!wide) return false;
    i += 2;
  }
  return true;
}

std::string TwoDigits(int64_t number) {
  char text[8];
  std::snprintf(text, sizeof(text), "%02d", static_cast<int>(number));
  return text;
}

std::string NineDigits(int64_t nanos) {
  char text[16];
  std::snprintf(text, sizeof(text), "%09d", static_cast<int>(nanos));
  return text;
}

struct Clock {
  int64_t hour, minute, second, nanos;
};

Clock ClockOf(int64_t millis_of_day, int32_t nanos_of_milli) {
  return {millis_of_day / 3600000, millis_of_day / 60000 % 60, millis_of_day / 1000 % 60,
          millis_of_day % 1000 * 1000000 + nanos_of_milli};
}

// LocalDateTime.toString: no seconds when they are zero, the fraction in groups of three digits.
std::string LegacyTimestamp(const Timestamp& value) {
  const Clock clock = ClockOf(FloorMod(value.millis, kMillisPerDay), value.nanos_of_milli);
  std::string text = DateText(FloorDiv(value.millis, kMillisPerDay)) + "T" + TwoDigits(clock.hour) + ":" +
                     TwoDigits(clock.minute);
  if (clock.second == 0 && clock.nanos == 0) return text;
  text += ":" + TwoDigits(clock.second);
  if (clock.nanos == 0) return text;
  const std::string fraction = NineDigits(clock.nanos);
  const size_t digits = clock.nanos % 1000000 == 0 ? 3 : clock.nanos % 1000 == 0 ? 6 : 9;
  return text + "." + fraction.substr(0, digits);
}

// The cast to text: at least as many digits as the precision, more when they are not zero.
std::string CastTimestamp(const Timestamp& value, int32_t precision) {
  const Clock clock = ClockOf(FloorMod(value.millis, kMillisPerDay), value.nanos_of_milli);
  std::string fraction = NineDigits(clock.nanos);
  while (fraction.size() > static_cast<size_t>(precision) && fraction.ends_with('0')) fraction.pop_back();
  return DateText(FloorDiv(value.millis, kMillisPerDay)) + " " + TwoDigits(clock.hour) + ":" +
         TwoDigits(clock.minute) + ":" + TwoDigits(clock.second) + (fraction.empty() ? "" : "." + fraction);
}

// Milliseconds up to the precision, without zeros at the end, but at least one digit.
std::string CastTime(int32_t millis, int32_t precision) {
  const Clock clock = ClockOf(FloorMod(millis, kMillisPerDay), 0);
  std::string text = TwoDigits(clock.hour) + ":" + TwoDigits(clock.minute) + ":" + TwoDigits(clock.second);
  if (precision == 0) return text;
  std::string fraction = NineDigits(clock.nanos).substr(0, static_cast<size_t>(std::min(precision, 3)));
  while (fraction.size() > 1 && fraction.ends_with('0')) fraction.pop_back();
  return text + "." + fraction;
}

Result<std::string> NumberText(const Value& value, const DataType& type) {
  switch (type.root) {
    case TypeRoot::kFloat: return FloatText(std::get<float>(value), FloatLayout::kJava);
    case TypeRoot::kDouble: return FloatText(std::get<double>(value), FloatLayout::kJava);
    default: return ToText(value, type);
  }
}

Result<std::string> FolderText(const Value& value, const DataField& field, bool legacy) {
  const DataType& type = field.type;
  switch (type.root) {
    case TypeRoot::kDate:
      return legacy ? std::to_string(std::get<int32_t>(value)) : DateText(std::get<int32_t>(value));
    case TypeRoot::kTime:
      return legacy ? std::to_string(std::get<int32_t>(value))
                    : CastTime(std::get<int32_t>(value), type.precision);
    case TypeRoot::kTimestamp:
      return legacy ? LegacyTimestamp(std::get<Timestamp>(value))
                    : CastTimestamp(std::get<Timestamp>(value), type.precision);
    case TypeRoot::kTimestampLtz:
      if (legacy) return LegacyTimestamp(std::get<Timestamp>(value));
      return Unsupported(
          "partition column '", field.name, "' of type ", ToSql(type),
          " with partition.legacy-name=false: its folders depend on the time zone of each writer");
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      if (!legacy) return std::get<std::string>(value);
      return Unsupported(
          "partition column '", field.name, "' of type ", ToSql(type),
          " with partition.legacy-name=true: its folders carry memory addresses of the Java writer");
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow:
      return Unsupported("partition column '", field.name, "' of the nested type ", ToSql(type));
    default: return NumberText(value, type);
  }
}

}  // namespace

std::string EscapePathName(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  static constexpr std::string_view kEscaped = "\"#%'*/:=?\\\x7F{}[]^";
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || kEscaped.find(c) != std::string_view::npos) {
      escaped.push_back('%');
      escaped.push_back(kHex[byte >> 4]);
      escaped.push_back(kHex[byte & 15]);
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

Result<std::string> PartitionPath(const BinaryRow& partition, std::span<const DataField> partition_fields,
                                  const TableOptions& options) {
  std::vector<DataType> types;
  for (const DataField& field : partition_fields) types.push_back(field.type);
  auto values = DecodeBinaryRow(partition, types);
  if (!values.ok()) return WithContext("reading a partition's values", values.status());
  std::string path;
  for (size_t i = 0; i < partition_fields.size(); ++i) {
    std::string text;
    if (!IsNull((*values)[i])) {
      HEADRACE_ASSIGN_OR_RETURN(text,
                                FolderText((*values)[i], partition_fields[i], options.partition_legacy_name));
    }
    if (IsBlank(text)) text = options.partition_default_name;
    path += EscapePathName(partition_fields[i].name) + "=" + EscapePathName(text) + "/";
  }
  return path;
}

Result<std::string> BucketPath(const BinaryRow& partition, std::span<const DataField> partition_fields,
                               BucketId bucket, const TableOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(std::string path, PartitionPath(partition, partition_fields, options));
  if (!options.data_file_path_directory.empty()) path = options.data_file_path_directory + "/" + path;
  return path + (bucket.value == -2 ? "bucket-postpone" : "bucket-" + std::to_string(bucket.value));
}

}  // namespace headrace
