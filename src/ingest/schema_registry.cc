#include "ingest/schema_registry.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <httplib.h>

#include "base/json.h"

namespace headrace::ingest {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kConnecting{3000};
constexpr milliseconds kLook{50};
constexpr milliseconds kAfterCancel{500};
constexpr size_t kMostBytes = 16U << 20;
constexpr int kMostReferenceLevels = 20;
constexpr size_t kMostReferences = 200;

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == ':' || c == '[' || c == ']';
}

bool IsPathCharacter(char c) { return c > ' ' && c < 0x7F && c != '?' && c != '#' && c != '"'; }

std::string PercentEncoded(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 15];
  }
  return encoded;
}

// "%40" is "@": passwords may hold any character.
std::string PercentDecoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
  };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      plain += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

Result<int> PortOf(std::string_view text) {
  int port = 0;
  for (const char c : text) port = c >= '0' && c <= '9' && port < 100000 ? port * 10 + (c - '0') : 100000;
  if (text.empty() || port < 1 || port > 65535) return Invalid("'", text, "' is not a port");
  return port;
}

}  // namespace

Result<RegistryAddress> ParseRegistryAddress(std::string_view url) {
  const std::string_view wanted = "; write http://host:8081, or https://user:password@host/path";
  RegistryAddress address;
  const size_t scheme_end = url.find("://");
  const std::string_view scheme = url.substr(0, std::min(scheme_end, url.size()));
  if (scheme_end == std::string_view::npos || (scheme != "http" && scheme != "https"))
    return Invalid("the schema registry's address is not one of http or https", wanted);
  std::string_view rest = url.substr(scheme_end + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view host = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  const size_t at = host.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view login = host.substr(0, at);
    const size_t colon = std::min(login.find(':'), login.size());
    address.user = PercentDecoded(login.substr(0, colon));
    address.password = PercentDecoded(login.substr(std::min(colon + 1, login.size())));
    host.remove_prefix(at + 1);
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  if (host.empty() || !std::all_of(host.begin(), host.end(), IsHostCharacter))
    return Invalid("the schema registry's address names no host", wanted);
  if (!std::all_of(path.begin(), path.end(), IsPathCharacter))
    return Invalid("the schema registry's address has a path of other characters than a URL's", wanted);
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    const Result<int> port = PortOf(host.substr(colon + 1));
    if (!port.ok()) return WithContext("the schema registry's address", port.status());
  }
  address.origin = std::string(scheme) + "://" + std::string(host);
  address.path = path;
  return address;
}

struct SchemaRegistry::Client {
  explicit Client(const RegistryAddress& address) : http(address.origin) {
    http.set_follow_location(false);
    // A token may stand as the password of nobody.
    if (!address.user.empty() || !address.password.empty())
      http.set_basic_auth(address.user, address.password);
  }
  httplib::Client http;
};

// What one Ask may take in all. The library looks neither at such a deadline nor at Ctrl-C while the registry is silent: requests are ended from
// beside them, and again and again, for one may just have begun.
class SchemaRegistry::Asking {
 public:
  Asking(httplib::Client* http, milliseconds patience, const std::atomic<bool>* cancel)
      : http_(http),
        cancel_(cancel),
        over_at_(Clock::now() + patience),
        watcher_([this](const std::stop_token& done) { Watch(done); }) {}

  bool is_over() const { return Clock::now() >= over_at_.load(); }
  // At least a millisecond: none would be no limit to the library.
  milliseconds left() const {
    return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(over_at_.load() - Clock::now()));
  }

  size_t bytes_left = kMostBytes;
  std::vector<std::string> seen;

 private:
  void Watch(const std::stop_token& done) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    bool cancelled = false;
    while (!ended.wait_for(lock, done, kLook, [&] { return done.stop_requested(); })) {
      // A moment is left even then: the end of a transaction may need the schema.
      if (!cancelled && cancel_ != nullptr && cancel_->load()) {
        cancelled = true;
        over_at_ = std::min(over_at_.load(), Clock::now() + kAfterCancel);
      }
      if (is_over()) http_->stop();
    }
  }

  httplib::Client* const http_;
  const std::atomic<bool>* const cancel_;
  std::atomic<Clock::time_point> over_at_;
  const std::jthread watcher_;
};

SchemaRegistry::SchemaRegistry(RegistryAddress address, const std::atomic<bool>* cancel,
                               milliseconds patience)
    : address_(std::move(address)), cancel_(cancel), patience_(patience) {}
SchemaRegistry::~SchemaRegistry() = default;

Result<std::string> SchemaRegistry::Get(const std::string& path, Asking* asking) {
  const std::string doing = "asking the schema registry " + shown() + " for " + path;
  if (const auto known = answers_.find(path); known != answers_.end()) {
    asking->bytes_left -= known->second.size();
    return known->second;
  }
  if (asking->is_over()) return IoError(doing, ": there was no answer in time");
  httplib::Client& http = client_->http;
  http.set_connection_timeout(std::min(kConnecting, asking->left()));
  http.set_read_timeout(asking->left());
  http.set_write_timeout(asking->left());
  const httplib::Headers headers = {{"Accept", "application/vnd.schemaregistry.v1+json, application/json"},
                                    {"Accept-Encoding", "identity"}};
  std::string body;
  bool too_much = false;
  const httplib::Result answer = http.Get(address_.path + path, headers, [&](const char* data, size_t size) {
    too_much = body.size() + size > asking->bytes_left;
    if (!too_much) body.append(data, size);
    return !too_much && !asking->is_over();
  });
  if (too_much) return Corruption(doing, ": the answer has more than ", kMostBytes >> 20, " MiB");
  // One that was cut off looks whole where it says no length.
  if (asking->is_over()) return IoError(doing, ": there was no answer in time");
  if (!answer) return IoError(doing, ": ", httplib::to_string(answer.error()));
  const int status = answer->status;
  if (status == 200) {
    asking->bytes_left -= body.size();
    answers_[path] = body;
    return body;
  }
  const std::string said = body.empty() ? "" : ", " + body.substr(0, 200);
  if (status == 404) return NotFound(doing, ": there is none (404", said, ")");
  if (status == 408 || status == 429 || status >= 500) return IoError(doing, ": status ", status, said);
  if (status == 401 || status == 403)
    return Invalid(doing, ": it refuses us (", status,
                   "); give user and password in its address, http://user:password@host:port");
  return Invalid(doing, ": status ", status, said);
}

Status SchemaRegistry::AddReferences(const std::string& answer, int depth, Asking* asking,
                                     RegisteredSchema* schema) {
  std::vector<std::string>& seen = asking->seen;
  const std::string origin = "the schema registry " + shown();
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(answer, origin));
  if (!json.is_object()) return Corruption(origin, ": its answer is no object of JSON");
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<std::string> type, FindString(json, "schemaType", origin));
  if (type && *type != "AVRO") return Unsupported("the schema is of ", *type, ", not of Avro");
  HEADRACE_ASSIGN_OR_RETURN(std::string text, GetString(json, "schema", origin));
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* references, FindArray(json, "references", origin));
  for (size_t i = 0; references != nullptr && i < references->size(); ++i) {
    const nlohmann::json& one = (*references)[i];
    if (!one.is_object()) return Corruption(origin, ": a reference is no object of JSON");
    HEADRACE_ASSIGN_OR_RETURN(const std::string subject, GetString(one, "subject", origin));
    HEADRACE_ASSIGN_OR_RETURN(const int64_t version, GetInt64(one, "version", origin));
    const std::string path = "/subjects/" + PercentEncoded(subject) + "/versions/" + std::to_string(version);
    if (std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
    if (depth >= kMostReferenceLevels || seen.size() >= kMostReferences)
      return Unsupported("the schema refers to others over more than ", kMostReferenceLevels,
                         " levels, or to more than ", kMostReferences);
    seen.push_back(path);
    Result<std::string> referred = Get(path, asking);
    // The schema itself is there, so this is no unknown id.
    if (IsKind(referred.status(), ErrorKind::kNotFound)) return Corruption(referred.status().message());
    HEADRACE_RETURN_NOT_OK(referred.status());
    HEADRACE_RETURN_NOT_OK(AddReferences(*referred, depth + 1, asking, schema));
  }
  if (depth == 0) {
    schema->schema = std::move(text);
  } else {
    schema->references.push_back(std::move(text));
  }
  return Status::OK();
}

Result<RegisteredSchema> SchemaRegistry::AskAll(int64_t id, Asking* asking) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string answer, Get("/schemas/ids/" + std::to_string(id), asking));
  RegisteredSchema schema;
  HEADRACE_RETURN_NOT_OK(AddReferences(answer, 0, asking, &schema));
  return schema;
}

Result<RegisteredSchema> SchemaRegistry::Ask(int64_t id) {
  if (answers_of_ != id) answers_.clear();
  answers_of_ = id;
  // The library throws for what it does not like of an address, and a thread where none can be had; nothing of that may leave this room.
  try {
    if (client_ == nullptr) client_ = std::make_unique<Client>(address_);
    Asking asking(&client_->http, patience_, cancel_);
    Result<RegisteredSchema> schema = AskAll(id, &asking);
    if (!IsKind(schema.status(), ErrorKind::kIo)) answers_.clear();
    return schema;
  } catch (const std::exception& error) {
    return IoError("asking the schema registry ", shown(), " for the schema ", id, ": ", error.what());
  }
}

}  // namespace headrace::ingest
