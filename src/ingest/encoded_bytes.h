// Bytes written as text: base64 (both alphabets), and hexadecimal. Strict: a wrong digit, length or padding is refused.
//
// Pure functions. Decoders append to `out` and leave it as it was when they answer false.
#pragma once

#include <string>
#include <string_view>

namespace headrace::ingest {

// The alphabet with '+' and '/', or with `url` the one with '-' and '_'. Padding is required but for `url`, where it may be left out.
// Bits after the last whole byte must be zero.
bool DecodeBase64(std::string_view text, bool url, std::string* out);
// Either case, an even number of digits, no prefix.
bool DecodeHex(std::string_view text, std::string* out);

std::string EncodeBase64(std::string_view bytes);

}  // namespace headrace::ingest
