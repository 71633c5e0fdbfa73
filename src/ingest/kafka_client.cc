#include "ingest/kafka_client.h"

#include <algorithm>

namespace headrace::ingest {
namespace {

bool MayBeSecret(std::string_view name) {
  for (const std::string_view part : {"password", "secret", "key", "username", "pem", "oauthbearer"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

constexpr int kScramAsKafka4WantsIt = 0x020601ff;

// Older clients send a nonce that brokers of Kafka 4 no longer take: then the password may be right all the same.
std::string HintOf(const RdKafka::Event& event) {
  if (event.err() != RdKafka::ERR__AUTHENTICATION || event.str().find("SCRAM") == std::string::npos ||
      RdKafka::version() >= kScramAsKafka4WantsIt)
    return {};
  return ". Kafka 4 takes no login by SCRAM from librdkafka before 2.6.1, and this is " +
         RdKafka::version_str() + ": a right password is refused too; use PLAIN over TLS there";
}

Status Set(RdKafka::Conf* conf, const std::string& name, const std::string& value) {
  std::string problem;
  const RdKafka::Conf::ConfResult set = conf->set(name, value, problem);
  if (set == RdKafka::Conf::CONF_OK) return Status::OK();
  if (set == RdKafka::Conf::CONF_UNKNOWN)
    return Invalid("the Kafka option '", name, "' is not one that librdkafka ", RdKafka::version_str(),
                   " knows");
  return Invalid("the Kafka option '", name, "': ", MayBeSecret(name) ? "its value is refused" : problem);
}

}  // namespace

void KafkaEvents::Say(const std::string& line) const {
  if (say_ != nullptr) say_(name_ + ": " + line);
}

void KafkaEvents::Connected() {
  if (away_) Say("the brokers answer again");
  away_ = false;
  last_error_.clear();
}

void KafkaEvents::event_cb(RdKafka::Event& event) {
  if (event.type() == RdKafka::Event::EVENT_LOG) {
    if (event.severity() >= RdKafka::Event::EVENT_SEVERITY_DEBUG) Say(event.fac() + ": " + event.str());
    return;
  }
  if (event.type() != RdKafka::Event::EVENT_ERROR) return;
  if (event.err() != RdKafka::ERR__ALL_BROKERS_DOWN || last_error_.empty())
    last_error_ = event.str() + HintOf(event);
  refused_ = refused_ || event.err() == RdKafka::ERR__AUTHENTICATION || event.err() == RdKafka::ERR__SSL;
  if (!away_ && event.err() == RdKafka::ERR__ALL_BROKERS_DOWN) {
    Say("no broker answers (" + last_error_ + "); trying on");
    away_ = true;
  }
}

Result<std::unique_ptr<RdKafka::Conf>> KafkaConf(const KafkaAddress& address, const KafkaProperties& users,
                                                 const KafkaProperties& ours, KafkaEvents* events) {
  std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
  HEADRACE_RETURN_NOT_OK(Set(conf.get(), "client.id", "headrace"));
  for (const auto& [name, value] : users) {
    const bool is_ours =
        name == "bootstrap.servers" || name == "metadata.broker.list" ||
        std::any_of(ours.begin(), ours.end(), [&](const auto& one) { return one.first == name; });
    if (is_ours) {
      return Invalid("the Kafka option '", name, "' cannot be chosen: ",
                     name.ends_with("list") || name.ends_with("servers")
                         ? "the brokers are in the address, kafka://host:9092/topic"
                         : "what Headrace promises rests on its own value");
    }
    HEADRACE_RETURN_NOT_OK(Set(conf.get(), name, value));
  }
  HEADRACE_RETURN_NOT_OK(Set(conf.get(), "bootstrap.servers", address.brokers));
  for (const auto& [name, value] : ours) HEADRACE_RETURN_NOT_OK(Set(conf.get(), name, value));
  std::string problem;
  if (conf->set("event_cb", events, problem) != RdKafka::Conf::CONF_OK)
    return Invalid("setting up the Kafka client: ", problem);
  return conf;
}

bool PassesByItself(RdKafka::ErrorCode code) {
  switch (code) {
    case RdKafka::ERR__TRANSPORT:
    case RdKafka::ERR__TIMED_OUT:
    case RdKafka::ERR__ALL_BROKERS_DOWN:
    case RdKafka::ERR__RESOLVE:
    case RdKafka::ERR__WAIT_COORD:
    case RdKafka::ERR__WAIT_CACHE:
    case RdKafka::ERR__IN_PROGRESS:
    case RdKafka::ERR__AUTHENTICATION:
    case RdKafka::ERR__SSL:
    case RdKafka::ERR_LEADER_NOT_AVAILABLE:
    case RdKafka::ERR_NOT_LEADER_FOR_PARTITION:
    case RdKafka::ERR_REPLICA_NOT_AVAILABLE:
    case RdKafka::ERR_BROKER_NOT_AVAILABLE:
    case RdKafka::ERR_REQUEST_TIMED_OUT:
    case RdKafka::ERR_NETWORK_EXCEPTION:
    case RdKafka::ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RdKafka::ERR_COORDINATOR_NOT_AVAILABLE:
    case RdKafka::ERR_NOT_COORDINATOR:
    case RdKafka::ERR_OFFSET_NOT_AVAILABLE:
    case RdKafka::ERR_KAFKA_STORAGE_ERROR:
    case RdKafka::ERR_FENCED_LEADER_EPOCH:
    case RdKafka::ERR_UNKNOWN_LEADER_EPOCH: return true;
    default: return false;
  }
}

}  // namespace headrace::ingest
