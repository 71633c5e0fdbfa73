#include "ingest/plain_types.h"

#include "ingest/encoded_bytes.h"
#include "ingest/exact_number.h"
#include "ingest/time_text.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {
namespace {

DataType Atomic(TypeRoot root, int32_t precision = 0) {
  DataType type;
  type.root = root;
  type.precision = precision;
  if (root == TypeRoot::kVarChar) type.length = kMaxLength;
  return type;
}

// As a program prints a whole number: no plus, no zeros in front.
bool IsPlainWhole(std::string_view text) {
  std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return false;
  int64_t value = 0;
  std::string why;
  return digits.find_first_not_of("0123456789") == std::string_view::npos && WholeNumber(text, &value, &why);
}

bool HasLeadingZero(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

}  // namespace

void PlainType::AddNumber(std::string_view text) {
  double number = 0;
  std::string why;
  if (IsPlainWhole(text)) {
    ++whole_;
  } else {
    ++floating_;
  }
  doubles_exact_ = doubles_exact_ && ExactDouble(text, &number, &why);
}

void PlainType::AddJson(const JsonToken& value) {
  if (value.is_null() || IsUnavailable(value)) return;
  ++values_;
  switch (value.kind) {
    case JsonKind::kNull: return;
    case JsonKind::kTrue:
    case JsonKind::kFalse: ++booleans_; return;
    case JsonKind::kNumber: AddNumber(value.view()); return;
    case JsonKind::kString: {
      ++texts_;
      const std::string_view text = value.view();
      special_floats_ += text == "NaN" || text == "Infinity" || text == "-Infinity";
      std::string bytes;
      if (text.empty() || !DecodeBase64(text, false, &bytes)) return;
      ++base64_;
      padded_base64_ += text.ends_with('=');
      return;
    }
    case JsonKind::kArray:
      ++arrays_;
      if (elements_ == nullptr) elements_ = std::make_unique<PlainType>();
      for (const JsonToken* element = value.begin(); element != value.end(); element = element->next())
        elements_->AddJson(*element);
      return;
    case JsonKind::kObject:
      ++objects_;
      decimals_ +=
          value.length == 2 && FindMember(value, "scale") != nullptr && FindMember(value, "value") != nullptr;
      return;
  }
}

void PlainType::AddText(std::string_view text) {
  ++values_;
  ++texts_;
  booleans_ += text == "true" || text == "false";
  dates_ += ParseDate(text).has_value();
  if (const std::optional<ParsedTime> time = ParseDateTime(text); time && time->CountAt(6)) {
    time->offset_seconds ? ++zoned_ : ++instants_;
  }
  if (LooksLikeNumber(text) && !HasLeadingZero(text)) AddNumber(text);
}

Result<DataType> PlainType::TypeOf(std::string_view column, const ValueModes& modes) const {
  const auto refuse = [&](std::string_view why) {
    return Invalid("choosing a type for the column '", column, "': ", why,
                   "; make the table first by `headrace create`, or send the events with their schema "
                   "(schemas.enable=true)");
  };
  if (values_ == 0) return refuse("it is null in all events looked at");
  if (booleans_ == values_) return Atomic(TypeRoot::kBoolean);
  if (whole_ == values_) return Atomic(TypeRoot::kBigInt);
  if (whole_ + floating_ + special_floats_ == values_) {
    if (!doubles_exact_) return refuse("its numbers have more digits than DOUBLE holds");
    return Atomic(TypeRoot::kDouble);
  }
  if (texts_ == values_) {
    const bool told = modes.decimal == DecimalMode::kString && modes.binary != BinaryMode::kUnsaid;
    if (base64_ == values_ && padded_base64_ > 0 && !told) {
      return refuse("its values look like base64, of bytes or of decimals whose scale is not said");
    }
    return Atomic(TypeRoot::kVarChar);
  }
  if (arrays_ == values_) {
    HEADRACE_ASSIGN_OR_RETURN(DataType element, elements_->TypeOf(std::string(column) + "[]", modes));
    DataType type = Atomic(TypeRoot::kArray);
    type.element = std::make_shared<const DataType>(std::move(element));
    return type;
  }
  if (decimals_ == values_) return Atomic(TypeRoot::kVarChar);
  if (objects_ == values_) return refuse("it holds objects, which may be a ROW or a MAP");
  return refuse("it holds values of different kinds");
}

DataType PlainType::TypeOfText() const {
  if (values_ == 0) return Atomic(TypeRoot::kVarChar);
  if (booleans_ == values_) return Atomic(TypeRoot::kBoolean);
  if (whole_ == values_) return Atomic(TypeRoot::kBigInt);
  if (whole_ + floating_ == values_ && doubles_exact_) return Atomic(TypeRoot::kDouble);
  if (dates_ == values_) return Atomic(TypeRoot::kDate);
  if (instants_ == values_) return Atomic(TypeRoot::kTimestamp, 6);
  if (zoned_ == values_) return Atomic(TypeRoot::kTimestampLtz, 6);
  return Atomic(TypeRoot::kVarChar);
}

}  // namespace headrace::ingest
