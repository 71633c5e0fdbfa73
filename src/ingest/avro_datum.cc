#include "ingest/avro_datum.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "format/avro_bytes.h"
#include "ingest/encoded_bytes.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

class DatumReader {
 public:
  DatumReader(std::string_view datum, std::string* json)
      : size_(datum.size()), cursor_(datum), json_(*json), most_(json->size() + kMostDatumJson) {}

  bool Read(const DatumStep& root) {
    if (!Value(root)) return false;
    if (cursor_.remaining() == 0) return true;
    return Fail(std::to_string(cursor_.remaining()) +
                " bytes are left behind the datum: it was written by another schema");
  }
  std::string Why() const {
    return "byte " + std::to_string(failed_at_) + " of the Avro datum" +
           (path_.empty() ? "" : ", field " + path_) + ": " + reason_;
  }

 private:
  bool Fail(std::string reason) {
    failed_at_ = size_ - cursor_.remaining();
    reason_ = std::move(reason);
    return false;
  }
  bool Cut(std::string_view what) { return Fail("the bytes end, or are none, of " + std::string(what)); }

  template <typename Number>
  void AppendNumber(Number number) {
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    json_.append(text.data(), static_cast<size_t>(end - text.data()));
  }

  bool Value(const DatumStep& step) {
    if (json_.size() > most_)
      return Fail("it becomes more than " + std::to_string(kMostDatumJson >> 20) + " MiB of JSON");
    if (step.branches > 0) {
      int64_t branch = 0;
      if (!cursor_.TakeLong(&branch)) return Cut("a union's branch");
      if (branch < 0 || branch >= step.branches)
        return Fail("the union's branch is " + std::to_string(branch) + ", it has " +
                    std::to_string(step.branches));
      if (branch == step.null_branch) {
        json_ += "null";
        return true;
      }
    }
    return Plain(step);
  }

  bool Plain(const DatumStep& step) {
    switch (step.how) {
      case DatumStep::How::kNull: json_ += "null"; return true;
      case DatumStep::How::kBoolean: return Boolean();
      case DatumStep::How::kInt:
        return Whole("an int", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      case DatumStep::How::kLong:
        return Whole("a long", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
      case DatumStep::How::kFloat: return Floating<float>("a float");
      case DatumStep::How::kDouble: return Floating<double>("a double");
      case DatumStep::How::kBytes: return Bytes();
      case DatumStep::How::kText: return Text();
      case DatumStep::How::kFixed: return Fixed(step);
      case DatumStep::How::kUuid: return Uuid();
      case DatumStep::How::kEnum: return Symbol(step);
      case DatumStep::How::kArray: return Items(step, '[', ']');
      case DatumStep::How::kPairs: return Items(step, '[', ']');
      case DatumStep::How::kMap: return Items(step, '{', '}');
      case DatumStep::How::kRecord: return Record(step);
    }
    return false;
  }

  bool Boolean() {
    std::string_view byte;
    if (!cursor_.TakeRaw(1, &byte)) return Cut("a boolean");
    if (byte[0] != 0 && byte[0] != 1) return Fail("a boolean is neither 0 nor 1");
    json_ += byte[0] != 0 ? "true" : "false";
    return true;
  }

  bool Whole(std::string_view what, int64_t least, int64_t most) {
    int64_t value = 0;
    if (!cursor_.TakeLong(&value)) return Cut(what);
    if (value < least || value > most)
      return Fail(std::string(what) + " is " + std::to_string(value) + ", more than 32 bits");
    AppendNumber(value);
    return true;
  }

  template <typename Number>
  bool Floating(std::string_view what) {
    std::string_view bytes;
    if (!cursor_.TakeRaw(sizeof(Number), &bytes)) return Cut(what);
    Number value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    if (std::isnan(value)) {
      json_ += "\"NaN\"";
    } else if (std::isinf(value)) {
      json_ += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else {
      AppendNumber(value);
    }
    return true;
  }

  bool Bytes() {
    std::string_view bytes;
    if (!cursor_.TakeBytes(&bytes)) return Cut("bytes");
    AppendQuoted(EncodeBase64(bytes));
    return true;
  }

  bool Fixed(const DatumStep& step) {
    std::string_view bytes;
    if (!cursor_.TakeRaw(static_cast<size_t>(step.size), &bytes)) return Cut("a fixed");
    AppendQuoted(EncodeBase64(bytes));
    return true;
  }

  bool Uuid() {
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::string_view bytes;
    if (!cursor_.TakeRaw(16, &bytes)) return Cut("a UUID");
    std::string text;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      const auto byte = static_cast<uint8_t>(bytes[i]);
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
    AppendQuoted(text);
    return true;
  }

  void AppendQuoted(std::string_view plain) {
    json_ += '"';
    json_ += plain;
    json_ += '"';
  }

  bool Text() {
    std::string_view text;
    if (!cursor_.TakeBytes(&text)) return Cut("a string");
    if (!IsUtf8(text)) return Fail("a string is not UTF-8");
    AppendJsonString(text, &json_);
    return true;
  }

  bool Symbol(const DatumStep& step) {
    int64_t index = 0;
    if (!cursor_.TakeLong(&index)) return Cut("an enum");
    if (index < 0 || index >= static_cast<int64_t>(step.symbols->size()))
      return Fail("an enum's symbol is number " + std::to_string(index) + ", it has " +
                  std::to_string(step.symbols->size()));
    AppendJsonString((*step.symbols)[static_cast<size_t>(index)], &json_);
    return true;
  }

  bool Record(const DatumStep& step) {
    json_ += '{';
    for (size_t i = 0; i < step.children.size(); ++i) {
      if (i > 0) json_ += ',';
      AppendJsonString(step.names[i], &json_);
      json_ += ':';
      if (!Value(step.children[i])) return Inside(step.names[i]);
    }
    json_ += '}';
    return true;
  }

  bool Inside(std::string_view name) {
    path_ = std::string(name) + (path_.empty() ? "" : "." + path_);
    return false;
  }

  bool Items(const DatumStep& step, char open, char close) {
    const std::string_view what = step.how == DatumStep::How::kMap ? "a map" : "an array";
    json_ += open;
    bool any = false;
    while (true) {
      int64_t count = 0;
      int64_t block_bytes = -1;
      if (!cursor_.TakeCount(&count, &block_bytes)) return Cut("the count of " + std::string(what));
      if (count == 0) break;
      if (static_cast<uint64_t>(count) > cursor_.remaining())
        return Fail(std::string(what) + " has " + std::to_string(count) + " items, only " +
                    std::to_string(cursor_.remaining()) + " bytes are left");
      const size_t before = cursor_.remaining();
      for (; count > 0; --count) {
        if (any) json_ += ',';
        any = true;
        if (!Item(step)) return false;
      }
      if (block_bytes >= 0 && before - cursor_.remaining() != static_cast<uint64_t>(block_bytes))
        return Fail("a block of " + std::string(what) + " has " +
                    std::to_string(before - cursor_.remaining()) + " bytes, it says " +
                    std::to_string(block_bytes));
    }
    json_ += close;
    return true;
  }

  bool Item(const DatumStep& step) {
    const DatumStep& item = step.children[0];
    if (step.how == DatumStep::How::kMap) {
      if (!Text()) return false;
      json_ += ':';
      return Value(item);
    }
    if (step.how == DatumStep::How::kArray) return Value(item);
    json_ += '[';
    if (!Value(item.children[0])) return Inside(item.names[0]);
    json_ += ',';
    if (!Value(item.children[1])) return Inside(item.names[1]);
    json_ += ']';
    return true;
  }

  const size_t size_;
  AvroCursor cursor_;
  std::string& json_;
  const size_t most_;
  size_t failed_at_ = 0;
  std::string path_;
  std::string reason_;
};

}  // namespace

bool AppendDatum(const DatumStep& root, std::string_view datum, std::string* json, std::string* why) {
  DatumReader reader(datum, json);
  if (reader.Read(root)) return true;
  *why = reader.Why();
  return false;
}

}  // namespace headrace::ingest
