// Any bytes as JSON: what parses must be written and parse again to the same, and typed access answers or says what is wrong.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"

namespace {

using namespace headrace;

constexpr std::string_view kFuzz = "fuzz";

void AskForEverything(const nlohmann::json& object, std::string_view key) {
  (void)GetString(object, key, kFuzz);
  (void)GetInt64(object, key, kFuzz);
  (void)GetInt32(object, key, kFuzz);
  (void)GetBool(object, key, kFuzz);
  (void)GetStringList(object, key, kFuzz);
  (void)GetStringMap(object, key, kFuzz);
  (void)FindArray(object, key, kFuzz);
  (void)FindObject(object, key, kFuzz);
}

bool HasFloat(const nlohmann::json& value) {
  if (value.is_number_float()) return true;
  if (!value.is_structured()) return false;
  for (const nlohmann::json& member : value) {
    if (HasFloat(member)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = ParseJson(text, kFuzz);
  if (!parsed.ok()) {
    if (!IsKind(parsed.status(), ErrorKind::kCorruption)) std::abort();
    return 0;
  }
  AskForEverything(*parsed, "id");
  if (parsed->is_object()) {
    for (const auto& [key, value] : parsed->items()) AskForEverything(*parsed, key);
  }
  for (const JsonLayout layout : {JsonLayout::kFlat, JsonLayout::kPretty}) {
    const auto again = ParseJson(ToJsonText(*parsed, layout), "again");
    // Numbers with a point are doubles in the tree; their digits may change once, not what they are.
    if (!again.ok() || (*again != *parsed && !HasFloat(*parsed))) std::abort();
  }
  if (ParseJson(QuoteJson(text), "quoted").ValueOrDie().type() != nlohmann::json::value_t::string)
    std::abort();
  return 0;
}
