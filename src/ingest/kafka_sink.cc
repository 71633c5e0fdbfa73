#include "ingest/kafka_sink.h"

#include <algorithm>
#include <chrono>

#include "ingest/kafka_client.h"

namespace headrace::ingest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;

class TopicSink final : public KafkaSink, public RdKafka::DeliveryReportCb {
 public:
  explicit TopicSink(KafkaSinkOptions options)
      : options_(std::move(options)), events_("topic " + options_.address.topic, options_.say) {}
  ~TopicSink() override {
    if (producer_ != nullptr)
      producer_->purge(RdKafka::Producer::PURGE_QUEUE | RdKafka::Producer::PURGE_INFLIGHT);
  }

  Status Open();
  Status Send(std::optional<std::string_view> key, std::optional<std::string_view> value) override;
  Status Flush() override;
  void dr_cb(RdKafka::Message& message) override {
    if (message.err() == RdKafka::ERR_NO_ERROR) {
      events_.Connected();
    } else if (failure_.empty()) {
      failure_ = message.errstr();
    }
  }

 private:
  Status LookForTopic();
  Status CheckDelivered() const;
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  const KafkaSinkOptions options_;
  KafkaEvents events_;
  std::string failure_;  // of the first message that could not be delivered
  std::unique_ptr<RdKafka::Producer> producer_;
};

Status TopicSink::Open() {
  const KafkaProperties ours = {{"enable.idempotence", "true"},
                                {"acks", "all"},
                                {"allow.auto.create.topics", "false"},
                                {"log.queue", "true"}};
  KafkaProperties users = options_.properties;
  // The partition that Kafka's own clients in Java would choose for the key.
  if (std::none_of(users.begin(), users.end(), [](const auto& one) { return one.first == "partitioner"; }))
    users.emplace_back("partitioner", "murmur2_random");
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RdKafka::Conf> conf,
                            KafkaConf(options_.address, users, ours, &events_));
  std::string problem;
  if (conf->set("dr_cb", this, problem) != RdKafka::Conf::CONF_OK)
    return Invalid("setting up the Kafka client: ", problem);
  producer_.reset(RdKafka::Producer::create(conf.get(), problem));
  if (producer_ == nullptr)
    return Invalid("setting up the Kafka client of topic ", options_.address.topic, ": ", problem);
  producer_->set_log_queue(nullptr);
  return LookForTopic();
}

Status TopicSink::LookForTopic() {
  const std::string& topic = options_.address.topic;
  std::string problem;
  const std::unique_ptr<RdKafka::Topic> handle(
      RdKafka::Topic::create(producer_.get(), topic, nullptr, problem));
  if (handle == nullptr) return Invalid("writing to topic ", topic, ": ", problem);
  const Clock::time_point started = Clock::now();
  while (true) {
    RdKafka::Metadata* answer = nullptr;
    RdKafka::ErrorCode code = producer_->metadata(false, handle.get(), &answer, kLookMs);
    const std::unique_ptr<RdKafka::Metadata> metadata(answer);
    if (code == RdKafka::ERR_NO_ERROR) {
      for (const RdKafka::TopicMetadata* one : *metadata->topics()) code = one->err();
    }
    if (code == RdKafka::ERR_NO_ERROR) return Status::OK();
    producer_->poll(kPollMs);
    const auto waited = Clock::now() - started;
    if (cancelled()) return Cancelled("writing to topic ", topic, ": stopped on request");
    const bool unknown = code == RdKafka::ERR_UNKNOWN_TOPIC_OR_PART || code == RdKafka::ERR__UNKNOWN_TOPIC;
    if (unknown && waited > kUnknownTopic) {
      return NotFound("writing to topic ", topic, ": brokers ", options_.address.brokers,
                      " know no such topic; make it first");
    }
    if (!unknown && (!PassesByItself(code) || events_.refused() || waited > kFirstContact)) {
      return IoError("writing to topic ", topic, " at ", options_.address.brokers, ": ",
                     RdKafka::err2str(code), events_.last_error().empty() ? "" : "; ", events_.last_error());
    }
  }
}

Status TopicSink::CheckDelivered() const {
  if (!failure_.empty()) {
    return IoError("writing to topic ", options_.address.topic,
                   ": a message could not be delivered: ", failure_,
                   "; what follows it was not marked as sent, run again to go on");
  }
  std::string fatal;
  if (producer_->fatal_error(fatal) == RdKafka::ERR_NO_ERROR) return Status::OK();
  return IoError("writing to topic ", options_.address.topic, ": ", fatal);
}

Status TopicSink::Send(std::optional<std::string_view> key, std::optional<std::string_view> value) {
  while (true) {
    producer_->poll(0);
    HEADRACE_RETURN_NOT_OK(CheckDelivered());
    const RdKafka::ErrorCode code = producer_->produce(
        options_.address.topic, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
        value ? const_cast<char*>(value->data()) : nullptr, value ? value->size() : 0,
        key ? key->data() : nullptr, key ? key->size() : 0, 0, nullptr);
    if (code == RdKafka::ERR_NO_ERROR) return Status::OK();
    if (code != RdKafka::ERR__QUEUE_FULL) {
      return IoError("writing to topic ", options_.address.topic, ": a message of ",
                     value ? value->size() : 0, " bytes: ", RdKafka::err2str(code),
                     code == RdKafka::ERR_MSG_SIZE_TOO_LARGE
                         ? "; --kafka-option message.max.bytes=… allows more, if the topic does too"
                         : "");
    }
    if (cancelled()) return Cancelled("writing to topic ", options_.address.topic, ": stopped on request");
    producer_->poll(kPollMs);
  }
}

Status TopicSink::Flush() {
  while (true) {
    const RdKafka::ErrorCode code = producer_->flush(kPollMs);
    HEADRACE_RETURN_NOT_OK(CheckDelivered());
    if (code == RdKafka::ERR_NO_ERROR) return Status::OK();
    if (cancelled() && !events_.last_error().empty()) {
      return Cancelled("writing to topic ", options_.address.topic, ": stopped while no broker answered (",
                       events_.last_error(), ")");
    }
  }
}

}  // namespace

Result<std::unique_ptr<KafkaSink>> OpenKafkaSink(KafkaSinkOptions options) {
  auto sink = std::make_unique<TopicSink>(std::move(options));
  HEADRACE_RETURN_NOT_OK(sink->Open());
  return sink;
}

}  // namespace headrace::ingest
