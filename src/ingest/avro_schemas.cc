#include "ingest/avro_schemas.h"

#include <fstream>

#include "ingest/event_format.h"

namespace headrace::ingest {
namespace {

constexpr std::chrono::seconds kUntilAskedAgain{5};
constexpr size_t kMostSchemas = 10000;
constexpr size_t kMostFileBytes = 16U << 20;

Result<std::shared_ptr<const AvroMeaning>> MeaningOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return NotFound("reading the Avro schema ", path, ": there is no such file, or it cannot be read");
  std::string text;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof(buffer)) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
    if (text.size() > kMostFileBytes)
      return Invalid("reading the Avro schema ", path, ": it has more than ", kMostFileBytes >> 20, " MiB");
  }
  Result<AvroMeaning> meaning = ReadAvroMeaning(text, {}, path);
  if (meaning.ok()) return std::make_shared<const AvroMeaning>(*std::move(meaning));
  // What a user gave is no damage.
  if (IsKind(meaning.status(), ErrorKind::kCorruption)) return Invalid(meaning.status().message());
  return meaning.status();
}

}  // namespace

Status CheckAvroChoices(const AvroChoices& choices, EventFormat format, const std::string& input) {
  const bool any = !choices.schema_file.empty() || !choices.key_schema_file.empty() ||
                   !choices.registry.empty() || choices.id_bytes != 4;
  if (!IsAvro(format)) {
    if (!any) return Status::OK();
    return Invalid("ingesting ", input,
                   ": an Avro schema or a schema registry is for messages of the formats avro and "
                   "debezium-avro, not for ",
                   NameOf(format));
  }
  if (choices.schema_file.empty() == choices.registry.empty()) {
    return Invalid(
        "ingesting ", input, " as ", NameOf(format),
        ": say how the messages' schemas are found, by one of --schema-registry URL (a schema's id "
        "is at each message's head) and --avro-schema FILE (messages are bare data of that schema)");
  }
  if (!choices.key_schema_file.empty() && choices.schema_file.empty())
    return Invalid("ingesting ", input,
                   ": --avro-key-schema goes with --avro-schema; with a registry keys tell their schema too");
  if (!choices.key_schema_file.empty() && format == EventFormat::kAvro)
    return Invalid("ingesting ", input, " as avro: keys are not read, so they need no --avro-key-schema");
  if (choices.id_bytes != 4 && choices.id_bytes != 8)
    return Invalid("ingesting ", input, ": a schema's id has ", choices.id_bytes,
                   " bytes; 4 (Confluent's), or 8 (Apicurio's own)");
  if (choices.id_bytes == 8 && choices.registry.empty())
    return Invalid("ingesting ", input, ": how long ids are is for messages of a schema registry");
  return choices.registry.empty() ? Status::OK() : ParseRegistryAddress(choices.registry).status();
}

Result<std::unique_ptr<AvroSchemas>> AvroSchemas::Open(const AvroChoices& choices,
                                                       const std::atomic<bool>* cancel) {
  auto schemas = std::make_unique<AvroSchemas>();
  schemas->id_bytes_ = static_cast<size_t>(choices.id_bytes);
  if (!choices.schema_file.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(schemas->value_, MeaningOfFile(choices.schema_file));
  }
  if (!choices.key_schema_file.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(schemas->key_, MeaningOfFile(choices.key_schema_file));
  }
  if (!choices.registry.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(RegistryAddress address, ParseRegistryAddress(choices.registry));
    schemas->registry_ = std::make_unique<SchemaRegistry>(std::move(address), cancel);
  }
  return schemas;
}

Result<AvroSchemas::Found> AvroSchemas::FindForValue(std::string_view message) {
  if (registry_ == nullptr) return Found{value_, message, {}};
  return FindById(message);
}

Result<AvroSchemas::Found> AvroSchemas::FindForKey(std::string_view key) {
  if (registry_ == nullptr) return Found{key_, key, {}};
  return FindById(key);
}

Result<AvroSchemas::Found> AvroSchemas::FindById(std::string_view message) {
  const size_t head = 1 + id_bytes_;
  if (message.size() < head || message[0] != 0) {
    return Found{
        nullptr,
        {},
        "does not begin with a zero byte and the " + std::to_string(id_bytes_) +
            " bytes of a schema's id, as what is written through a schema registry does; bare data are "
            "read by --avro-schema FILE"};
  }
  uint64_t raw = 0;
  for (size_t i = 1; i < head; ++i) raw = raw << 8 | static_cast<uint8_t>(message[i]);
  const auto id =
      id_bytes_ == 4 ? static_cast<int64_t>(static_cast<int32_t>(raw)) : static_cast<int64_t>(raw);
  const auto now = std::chrono::steady_clock::now();
  auto known = by_id_.find(id);
  if (known == by_id_.end() || (known->second.ask_again && now >= *known->second.ask_again)) {
    Result<RegisteredSchema> registered = registry_->Ask(id);
    const std::string name = "schema " + std::to_string(id) + " of the registry " + registry_->shown();
    Known fresh;
    if (IsKind(registered.status(), ErrorKind::kNotFound)) {
      fresh.problem = "is of " + name + ", which that registry does not have";
      fresh.ask_again = now + kUntilAskedAgain;
    } else if (IsKind(registered.status(), ErrorKind::kUnsupported)) {
      fresh.problem = "is of " + name + ": " + registered.status().message();
    } else {
      HEADRACE_RETURN_NOT_OK(registered.status());
      Result<AvroMeaning> meaning = ReadAvroMeaning(registered->schema, registered->references, name);
      if (meaning.ok()) {
        fresh.meaning = std::make_shared<const AvroMeaning>(*std::move(meaning));
      } else {
        fresh.problem = "is of " + meaning.status().message();
      }
    }
    answered_ = true;
    if (by_id_.size() >= kMostSchemas) by_id_.clear();
    known = by_id_.insert_or_assign(id, std::move(fresh)).first;
  }
  return Found{known->second.meaning, message.substr(head), known->second.problem};
}

}  // namespace headrace::ingest
