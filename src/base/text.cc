// UTF-8 as the Unicode standard bounds it: no overlong form, no surrogate, nothing above U+10FFFF.
#include "base/text.h"

#include <arrow/util/utf8.h>

namespace headrace {

std::string Joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

size_t Utf8CharacterBytes(std::string_view text) {
  const auto within = [text](size_t i, unsigned low, unsigned high) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= low &&
           static_cast<unsigned char>(text[i]) <= high;
  };
  if (within(0, 0x00, 0x7F)) return 1;
  if (within(0, 0xC2, 0xDF)) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (within(0, 0xE0, 0xEF)) {
    const unsigned low = within(0, 0xE0, 0xE0) ? 0xA0 : 0x80;
    const unsigned high = within(0, 0xED, 0xED) ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (within(0, 0xF0, 0xF4)) {
    const unsigned low = within(0, 0xF0, 0xF0) ? 0x90 : 0x80;
    const unsigned high = within(0, 0xF4, 0xF4) ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  // Arrow's validator wants its tables made once; making them again does nothing.
  static const bool ready = [] {
    arrow::util::InitializeUTF8();
    return true;
  }();
  return ready && arrow::util::ValidateUTF8(text);
}

}  // namespace headrace
