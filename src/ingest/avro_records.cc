#include "ingest/avro_records.h"

#include <algorithm>
#include <thread>

#include "ingest/message_key.h"

namespace headrace::ingest {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kIdle{50};
constexpr milliseconds kFirstPause{250};
constexpr milliseconds kLongestPause{5000};
constexpr seconds kFirstAnswer{60};

}  // namespace

AvroRecords::AvroRecords(std::unique_ptr<RecordSource> messages, AvroReading reading, std::string topic,
                         bool wants_keys, SayLine say)
    : messages_(std::move(messages)),
      reading_(std::move(reading)),
      topic_(std::move(topic)),
      wants_keys_(wants_keys),
      say_(std::move(say)) {}

Result<RecordSource::Event> AvroRecords::Next() {
  if (away_since_) {
    const auto left = ask_again_ - Clock::now();
    if (left > Clock::duration::zero()) {
      std::this_thread::sleep_for(std::min<Clock::duration>(left, kIdle));
      return Event::kIdle;
    }
  }
  HEADRACE_ASSIGN_OR_RETURN(const Event event, messages_->Next());
  if (event != Event::kRecord) return event;
  const Status translated = Translate();
  if (IsKind(translated, ErrorKind::kIo)) return WaitForRegistry(translated);
  if (!translated.ok()) return WithContext("reading " + messages_->place().text(), translated);
  if (away_since_ && say_ != nullptr) say_("topic " + topic_ + ": the schema registry answers again");
  away_since_.reset();
  failures_ = 0;
  return Event::kRecord;
}

// One that never answered may be named wrongly; one that did comes back.
Result<RecordSource::Event> AvroRecords::WaitForRegistry(const Status& failed) {
  const Clock::time_point now = Clock::now();
  if (!away_since_) {
    away_since_ = now;
    if (say_ != nullptr) say_("topic " + topic_ + ": " + failed.message() + "; it is waited for");
  }
  if (!reading_.schemas->answered() && now - *away_since_ >= kFirstAnswer)
    return WithContext("reading " + messages_->place().text(), failed);
  messages_->Unread();
  ask_again_ = now + std::min(kFirstPause * (1 << std::min(failures_, 10)), kLongestPause);
  ++failures_;
  return Event::kIdle;
}

Status AvroRecords::Translate() {
  line_.clear();
  key_line_.clear();
  damage_.clear();
  const Message message = messages_->message();
  if (message.value) {
    HEADRACE_RETURN_NOT_OK(TranslateValue(*message.value));
  } else {
    line_ = "null";
  }
  if (damage_.empty() && wants_keys_) HEADRACE_RETURN_NOT_OK(TranslateKey(message));
  if (!damage_.empty()) line_.clear();
  return Status::OK();
}

Status AvroRecords::TranslateValue(std::string_view message) {
  HEADRACE_ASSIGN_OR_RETURN(const AvroSchemas::Found found, reading_.schemas->FindForValue(message));
  if (found.meaning == nullptr) {
    damage_ = "the message " + found.problem;
    return Status::OK();
  }
  if (found.meaning->steps.how != DatumStep::How::kRecord) {
    damage_ = std::string("the message's schema is no record, as ") +
              (reading_.rows ? "a row" : "an event of Debezium") + " is";
    return Status::OK();
  }
  if (envelope_of_ != found.meaning) {
    envelope_ = EnvelopeOf(*found.meaning, reading_.rows);
    envelope_of_ = found.meaning;
  }
  line_ = envelope_.before;
  if (!AppendDatum(found.meaning->steps, found.datum, &line_, &damage_)) return Status::OK();
  line_ += envelope_.behind;
  return Status::OK();
}

// Another converter or serializer may write keys and headers: JSON stays as it is, and what cannot be read says nothing to a decoder. A first
// zero byte alone makes no Avro: integers have it too. Only the schema that the user gave for the key must fit.
Status AvroRecords::KeyPart(std::string_view bytes, std::string_view what, bool has_schema,
                            std::string* json) {
  if (!has_schema && !(reading_.schemas->has_ids() && bytes.starts_with('\0'))) {
    if (bytes.starts_with('{')) *json = bytes;
    return Status::OK();
  }
  HEADRACE_ASSIGN_OR_RETURN(const AvroSchemas::Found found, reading_.schemas->FindForKey(bytes));
  if (found.meaning == nullptr) return Status::OK();
  std::string why;
  if (AppendDatum(found.meaning->steps, found.datum, json, &why)) return Status::OK();
  json->clear();
  if (has_schema) damage_ = std::string(what) + ": " + why;
  return Status::OK();
}

Status AvroRecords::TranslateKey(const Message& message) {
  std::string key;
  if (message.key)
    HEADRACE_RETURN_NOT_OK(
        KeyPart(*message.key, "the message's key", reading_.schemas->has_key_schema(), &key));
  std::vector<MessageHeader> headers;
  for (const auto& [name, bytes] : message.headers) {
    std::string json;
    HEADRACE_RETURN_NOT_OK(KeyPart(bytes, "the header " + name, false, &json));
    if (!json.empty()) headers.emplace_back(name, std::move(json));
  }
  key_line_ = KeyLineOf(topic_, key, headers);
  return Status::OK();
}

std::optional<std::string_view> AvroRecords::key() const {
  if (!wants_keys_) return std::nullopt;
  return key_line_;
}

}  // namespace headrace::ingest
