#include "api/value_words.h"

namespace headrace {

Result<ingest::ValueModes> ModesOf(const ValueWords& words) {
  ingest::ValueModes modes;
  if (words.decimals == "precise") {
    modes.decimal = ingest::DecimalMode::kPrecise;
  } else if (words.decimals == "string") {
    modes.decimal = ingest::DecimalMode::kString;
  } else if (!words.decimals.empty()) {
    return Invalid("decimals ", words.decimals, ": precise or string are known");
  }
  if (words.binary == "base64") {
    modes.binary = ingest::BinaryMode::kBase64;
  } else if (words.binary == "base64-url-safe") {
    modes.binary = ingest::BinaryMode::kBase64Url;
  } else if (words.binary == "hex") {
    modes.binary = ingest::BinaryMode::kHex;
  } else if (!words.binary.empty()) {
    return Invalid("binary ", words.binary, ": base64, base64-url-safe or hex are known");
  }
  if (words.times == "adaptive_time_microseconds") {
    modes.time = ingest::TimeMode::kAdaptiveTimeMicroseconds;
  } else if (words.times == "microseconds") {
    modes.time = ingest::TimeMode::kMicroseconds;
  } else if (words.times == "connect") {
    modes.time = ingest::TimeMode::kConnect;
  } else if (words.times == "nanoseconds") {
    modes.time = ingest::TimeMode::kNanoseconds;
  } else if (!words.times.empty() && words.times != "adaptive") {
    return Invalid("times ", words.times,
                   ": adaptive, adaptive_time_microseconds, connect, microseconds or nanoseconds are known");
  }
  return modes;
}

}  // namespace headrace
