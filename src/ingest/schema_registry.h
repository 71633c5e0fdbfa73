// A schema registry that speaks Confluent's API, as Apicurio and Karapace do too: schemas by their ids.
//
// Ask waits ten seconds at most for a schema and all that it refers to, and a moment where `cancel` is set (a host's name takes as long as the
// system's resolver does), and never tries again: whoever asks does, and what was answered already is not asked for again. The URL may hold user
// and password, which are in no message, and a path: http://user:password@host:8081/apis/ccompat/v7. https checks the certificate against the
// system's authorities (SSL_CERT_FILE names others). What an Ask reads is bounded. One thread, but for `cancel`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headrace::ingest {

struct RegisteredSchema {
  std::string schema;
  std::vector<std::string> references;  // each before those that use it
};

struct RegistryAddress {
  std::string origin;  // "http://host:8081"
  std::string path;    // "/apis/ccompat/v7", or nothing
  std::string user;
  std::string password;

  std::string shown() const { return origin + path; }
};
Result<RegistryAddress> ParseRegistryAddress(std::string_view url);

class SchemaRegistry {
 public:
  explicit SchemaRegistry(RegistryAddress address, const std::atomic<bool>* cancel = nullptr,
                          std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~SchemaRegistry();

  // kIo: no answer now, or one that may change: ask again. kNotFound: there is no such id. kInvalid: the registry refuses to answer.
  // kUnsupported: the schema is not of Avro. kCorruption: the answer is none of a schema registry.
  Result<RegisteredSchema> Ask(int64_t id);
  std::string shown() const { return address_.shown(); }

 private:
  struct Client;
  class Asking;
  Result<RegisteredSchema> AskAll(int64_t id, Asking* asking);
  Result<std::string> Get(const std::string& path, Asking* asking);
  Status AddReferences(const std::string& answer, int depth, Asking* asking, RegisteredSchema* schema);

  const RegistryAddress address_;
  const std::atomic<bool>* const cancel_;
  const std::chrono::milliseconds patience_;
  std::unique_ptr<Client> client_;
  // Of an Ask that did not get all: by their paths.
  std::map<std::string, std::string> answers_;
  int64_t answers_of_ = 0;
};

}  // namespace headrace::ingest
