#include "ingest/encoded_bytes.h"

#include <array>
#include <cstdint>

namespace headrace::ingest {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> Base64Values(bool url) {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = kNoDigit;
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  if (url) {
    values['+'] = values['/'] = kNoDigit;
    values['-'] = 62;
    values['_'] = 63;
  }
  return values;
}
constexpr std::array<uint8_t, 256> kBase64 = Base64Values(false);
constexpr std::array<uint8_t, 256> kBase64Url = Base64Values(true);

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool DecodeBase64(std::string_view text, bool url, std::string* out) {
  const std::array<uint8_t, 256>& values = url ? kBase64Url : kBase64;
  const bool padded = text.size() % 4 == 0;
  if (!padded && !url) return false;
  size_t digits = text.size();
  if (padded && digits > 0 && text[digits - 1] == '=') --digits;
  if (padded && digits > 0 && digits % 4 == 3 && text[digits - 1] == '=') --digits;
  if (digits % 4 == 1) return false;

  const size_t before = out->size();
  out->reserve(before + digits / 4 * 3 + 2);
  uint32_t bits = 0;
  for (size_t i = 0; i < digits; ++i) {
    const uint8_t value = values[static_cast<uint8_t>(text[i])];
    if (value == kNoDigit) {
      out->resize(before);
      return false;
    }
    bits = bits << 6 | value;
    if (i % 4 == 3) {
      out->push_back(static_cast<char>(bits >> 16));
      out->push_back(static_cast<char>(bits >> 8));
      out->push_back(static_cast<char>(bits));
      bits = 0;
    }
  }
  const size_t rest = digits % 4;
  if ((rest == 2 && (bits & 0xF) != 0) || (rest == 3 && (bits & 0x3) != 0)) {
    out->resize(before);
    return false;
  }
  if (rest == 2) out->push_back(static_cast<char>(bits >> 4));
  if (rest == 3) {
    out->push_back(static_cast<char>(bits >> 10));
    out->push_back(static_cast<char>(bits >> 2));
  }
  return true;
}

bool DecodeHex(std::string_view text, std::string* out) {
  if (text.size() % 2 != 0) return false;
  const size_t before = out->size();
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) {
      out->resize(before);
      return false;
    }
    out->push_back(static_cast<char>(high << 4 | low));
  }
  return true;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t rest = bytes.size() - i;
    const uint32_t bits = static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << 16 |
                          (rest > 1 ? static_cast<uint32_t>(static_cast<uint8_t>(bytes[i + 1])) << 8 : 0) |
                          (rest > 2 ? static_cast<uint32_t>(static_cast<uint8_t>(bytes[i + 2])) : 0);
    text.push_back(kDigits[bits >> 18]);
    text.push_back(kDigits[bits >> 12 & 63]);
    text.push_back(rest > 1 ? kDigits[bits >> 6 & 63] : '=');
    text.push_back(rest > 2 ? kDigits[bits & 63] : '=');
  }
  return text;
}

}  // namespace headrace::ingest
