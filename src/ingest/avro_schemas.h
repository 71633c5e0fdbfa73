// The writers' schemas of Avro messages: by the id at a message's head and a registry, or one that was given.
//
// With a registry a message is a zero byte, the schema's id (4 bytes, big-endian; 8 where Apicurio was set so) and the datum; with a file it is
// the datum alone. A schema is asked for once and kept; an id that the registry does not know is asked for again after a while. One thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "headrace/ingest_terms.h"
#include "ingest/avro_connect.h"
#include "ingest/schema_registry.h"

namespace headrace::ingest {

// As the user says it; all empty for forms that are not Avro.
struct AvroChoices {
  std::string schema_file;      // an .avsc: messages are bare data of this schema
  std::string key_schema_file;  // the same of their keys; empty: keys are not read
  std::string registry;         // its address; then ids are at the messages' heads
  int id_bytes = 4;             // or 8
};

inline bool IsAvro(EventFormat format) {
  return format == EventFormat::kAvro || format == EventFormat::kDebeziumAvro;
}
// kInvalid where the choices do not go together, or not with the format.
Status CheckAvroChoices(const AvroChoices& choices, EventFormat format, const std::string& input);

class AvroSchemas {
 public:
  // Reads the files. kNotFound, kInvalid. Where `cancel` is set the registry is waited for no longer (kIo).
  static Result<std::unique_ptr<AvroSchemas>> Open(const AvroChoices& choices,
                                                   const std::atomic<bool>* cancel = nullptr);

  struct Found {
    std::shared_ptr<const AvroMeaning> meaning;  // nullptr: `problem`
    std::string_view datum;
    std::string problem;  // why this message cannot be read
  };
  // kIo: the registry does not answer now. Other errors: it will not.
  Result<Found> FindForValue(std::string_view message);
  Result<Found> FindForKey(std::string_view key);
  bool has_ids() const { return registry_ != nullptr; }
  bool has_key_schema() const { return key_ != nullptr; }
  // Has the registry answered yet?
  bool answered() const { return answered_; }

 private:
  struct Known {
    std::shared_ptr<const AvroMeaning> meaning;
    std::string problem;
    std::optional<std::chrono::steady_clock::time_point> ask_again;  // of an id that is not there
  };
  Result<Found> FindById(std::string_view message);

  std::shared_ptr<const AvroMeaning> value_;
  std::shared_ptr<const AvroMeaning> key_;
  std::unique_ptr<SchemaRegistry> registry_;
  size_t id_bytes_ = 4;
  std::map<int64_t, Known> by_id_;
  bool answered_ = false;
};

}  // namespace headrace::ingest
