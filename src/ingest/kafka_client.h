// What reading from Kafka and writing to it share: addresses, properties, and what a client tells of its connections.
//
// kafka://host:9092,host2:9092/topic. Properties are librdkafka's own names and values, refused where Headrace must choose them itself;
// values may be secrets and are never repeated in a message. KafkaEvents is called from the thread that polls the client.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <librdkafka/rdkafkacpp.h>

#include "base/error.h"
#include "ingest/kafka_terms.h"

namespace headrace::ingest {

// How long each question for a topic waits, and how long a client goes on asking: brokers that never answered, and a topic that they do
// not know, which may have been made just now.
inline constexpr int kLookMs = 1000;
inline constexpr std::chrono::seconds kFirstContact{60};
inline constexpr std::chrono::seconds kUnknownTopic{3};

class KafkaEvents final : public RdKafka::EventCb {
 public:
  // `name` begins each line that is said: "topic orders".
  KafkaEvents(std::string name, SayLine say) : name_(std::move(name)), say_(std::move(say)) {}

  void event_cb(RdKafka::Event& event) override;
  // An answer came: what is said next is news again.
  void Connected();
  void Say(const std::string& line) const;

  const std::string& last_error() const { return last_error_; }
  // The brokers were reached and refused us, or their certificate did not hold: waiting will not help.
  bool refused() const { return refused_; }

 private:
  const std::string name_;
  const SayLine say_;
  std::string last_error_;
  bool refused_ = false;
  bool away_ = false;
};

// Sets the address, the user's properties, and then `ours`, which the user may not set.
Result<std::unique_ptr<RdKafka::Conf>> KafkaConf(const KafkaAddress& address, const KafkaProperties& users,
                                                 const KafkaProperties& ours, KafkaEvents* events);

// Whether the same request may succeed later by itself.
bool PassesByItself(RdKafka::ErrorCode code);

}  // namespace headrace::ingest
