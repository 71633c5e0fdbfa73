#include "ingest/kafka_source.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "ingest/kafka_client.h"

namespace headrace::ingest {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kIdleMs = 50;
constexpr int kRequestMs = 5000;
constexpr seconds kBetweenLooks{5};
constexpr seconds kAfterFailedLook{30};
constexpr milliseconds kLastMirror{3000};

struct Partition {
  int64_t next = 0;        // of the first record not handed out
  int64_t end = 0;         // as last known
  int64_t target = -1;     // until where `until_end` reads; -1: not waited for
  int64_t committed = -1;  // with the table, for the group to be told
};

// Offsets in the client's own form, freed together.
class OffsetList {
 public:
  OffsetList() = default;
  ~OffsetList() { RdKafka::TopicPartition::destroy(list_); }
  OffsetList(const OffsetList&) = delete;
  OffsetList& operator=(const OffsetList&) = delete;
  void Add(const std::string& topic, int32_t partition, int64_t offset) {
    list_.push_back(RdKafka::TopicPartition::create(topic, partition, offset));
  }
  std::vector<RdKafka::TopicPartition*>& list() { return list_; }

 private:
  std::vector<RdKafka::TopicPartition*> list_;
};

// The answers to commits of group offsets: a mirror only. A coordinator that is not there yet is asked again; another failure is said once.
class MirrorAnswers final : public RdKafka::OffsetCommitCb {
 public:
  explicit MirrorAnswers(const KafkaEvents* events) : events_(events) {}
  void offset_commit_cb(RdKafka::ErrorCode code, std::vector<RdKafka::TopicPartition*>&) override {
    --waiting_;
    behind_ = code != RdKafka::ERR_NO_ERROR && code != RdKafka::ERR__NO_OFFSET && PassesByItself(code);
    if (behind_ || code == RdKafka::ERR_NO_ERROR || code == RdKafka::ERR__NO_OFFSET || said_) return;
    said_ = true;
    events_->Say("the group's offsets, which only show the lag to others, could not be committed: " +
                 RdKafka::err2str(code));
  }
  void Sent() { ++waiting_; }
  bool waiting() const { return waiting_ > 0; }
  // The last one failed for now.
  bool behind() const { return behind_; }

 private:
  const KafkaEvents* events_;
  int waiting_ = 0;
  bool behind_ = false;
  bool said_ = false;
};

class KafkaSource final : public RecordSource {
 public:
  explicit KafkaSource(KafkaSourceOptions options)
      : options_(std::move(options)),
        topic_(options_.address.topic),
        events_("topic " + topic_, options_.say),
        mirror_(&events_) {}
  ~KafkaSource() override;

  Status Open(const Position& position);
  Result<Event> Next() override;
  void Unread() override;
  std::string_view value() const override;
  std::optional<std::string_view> key() const override;
  Message message() const override;
  RecordPlace place() const override;
  void Stamp(Position* position) const override;
  Result<bool> IsBefore(const Position& position) const override;
  void Committed(const Position& position) override;
  int64_t bytes_read() const override { return bytes_; }
  std::optional<int64_t> lag() const override;
  bool is_live() const override { return true; }

 private:
  Status Connect();
  template <typename Request>
  Status Ask(const std::string& doing, const Request& request);
  Result<std::vector<int32_t>> ListPartitions(int timeout_ms, RdKafka::ErrorCode* failed);
  Status CheckCluster(const Position& position);
  Status FindPartitions(std::vector<int32_t>* found);
  Status AddPartition(int32_t id, std::optional<int64_t> known, bool first_open);
  Result<int64_t> StartOf(int32_t id, int64_t low, int64_t high);
  Status LookForPartitions();
  Status Assign();
  Status Gap(int32_t id, int64_t wanted, int64_t low, int64_t high) const;
  Status TakeError(const RdKafka::Message& message);
  bool ReachedTargets() const;
  void Mirror();
  std::string NameOf(int32_t id) const { return "topic " + topic_ + ", partition " + std::to_string(id); }
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  const KafkaSourceOptions options_;
  const std::string topic_;
  KafkaEvents events_;
  MirrorAnswers mirror_;
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
  std::unique_ptr<RdKafka::Topic> topic_handle_;
  std::string cluster_;
  std::map<int32_t, Partition> partitions_;
  std::unique_ptr<RdKafka::Message> message_;
  int64_t next_before_ = 0;  // of message_'s partition
  bool given_back_ = false;
  mutable std::string key_line_;
  int64_t bytes_ = 0;
  Clock::time_point next_look_;
};

KafkaSource::~KafkaSource() {
  if (consumer_ == nullptr) return;
  message_.reset();
  consumer_->unassign();
  const Clock::time_point deadline = Clock::now() + kLastMirror;
  while ((mirror_.waiting() || mirror_.behind()) && Clock::now() < deadline) {
    if (!mirror_.waiting()) Mirror();
    std::unique_ptr<RdKafka::Message> none(consumer_->consume(kIdleMs));
  }
  topic_handle_.reset();
  // Not closed: that is leaving a group, which was never joined. What has no answer yet holds up even the client's end, until requests time
  // out; nobody needs to wait for that. Callbacks come from polling alone, so none comes then.
  if (mirror_.waiting())
    std::thread([consumer = std::move(consumer_)]() mutable { consumer.reset(); }).detach();
}

Status KafkaSource::Connect() {
  const KafkaProperties ours = {
      {"group.id", options_.group},
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      {"auto.offset.reset", "error"},
      {"isolation.level", "read_committed"},
      {"enable.partition.eof", "true"},
      {"allow.auto.create.topics", "false"},
      {"queued.max.messages.kbytes", std::to_string(std::max<int64_t>(options_.queue_bytes >> 10, 1024))},
      {"log.queue", "true"},
  };
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RdKafka::Conf> conf,
                            KafkaConf(options_.address, options_.properties, ours, &events_));
  std::string problem;
  if (conf->set("offset_commit_cb", &mirror_, problem) != RdKafka::Conf::CONF_OK)
    return Invalid("setting up the Kafka client: ", problem);
  consumer_.reset(RdKafka::KafkaConsumer::create(conf.get(), problem));
  if (consumer_ == nullptr) return Invalid("setting up the Kafka client of topic ", topic_, ": ", problem);
  consumer_->set_log_queue(nullptr);
  topic_handle_.reset(RdKafka::Topic::create(consumer_.get(), topic_, nullptr, problem));
  if (topic_handle_ == nullptr)
    return Invalid("setting up the Kafka client of topic ", topic_, ": ", problem);
  return Status::OK();
}

// Asks until there is an answer: a broker that is away comes back, though at the start it may also be a name that is wrong.
template <typename Request>
Status KafkaSource::Ask(const std::string& doing, const Request& request) {
  const Clock::time_point started = Clock::now();
  while (true) {
    const RdKafka::ErrorCode code = request();
    if (code == RdKafka::ERR_NO_ERROR) {
      events_.Connected();
      return Status::OK();
    }
    std::unique_ptr<RdKafka::Message> none(consumer_->consume(kIdleMs));  // serves the events
    const std::string reason =
        RdKafka::err2str(code) + (events_.last_error().empty() ? "" : "; " + events_.last_error());
    const auto waited = Clock::now() - started;
    if (cancelled()) return Cancelled(doing, ": stopped on request");
    const bool unknown = code == RdKafka::ERR_UNKNOWN_TOPIC_OR_PART || code == RdKafka::ERR__UNKNOWN_TOPIC;
    // A topic that was made this moment is not known to every broker yet.
    if (unknown && waited > kUnknownTopic)
      return NotFound(doing, ": brokers ", options_.address.brokers, " know no topic ", topic_);
    if (!unknown && (!PassesByItself(code) || events_.refused() || waited > kFirstContact))
      return IoError(doing, " at ", options_.address.brokers, ": ", reason);
  }
}

Result<std::vector<int32_t>> KafkaSource::ListPartitions(int timeout_ms, RdKafka::ErrorCode* failed) {
  RdKafka::Metadata* answer = nullptr;
  *failed = consumer_->metadata(false, topic_handle_.get(), &answer, timeout_ms);
  const std::unique_ptr<RdKafka::Metadata> metadata(answer);
  std::vector<int32_t> ids;
  if (*failed != RdKafka::ERR_NO_ERROR) return ids;
  for (const RdKafka::TopicMetadata* topic : *metadata->topics()) {
    if (topic->topic() != topic_) continue;
    *failed = topic->err();
    for (const RdKafka::PartitionMetadata* partition : *topic->partitions()) ids.push_back(partition->id());
  }
  if (*failed == RdKafka::ERR_NO_ERROR && ids.empty()) *failed = RdKafka::ERR_UNKNOWN_TOPIC_OR_PART;
  std::sort(ids.begin(), ids.end());
  return ids;
}

Status KafkaSource::FindPartitions(std::vector<int32_t>* found) {
  return Ask("reading topic " + topic_, [&] {
    RdKafka::ErrorCode failed = RdKafka::ERR_NO_ERROR;
    *found = *ListPartitions(kLookMs, &failed);
    return failed;
  });
}

Status KafkaSource::CheckCluster(const Position& position) {
  cluster_ = consumer_->clusterid(kRequestMs);
  if (position.cluster.empty() || cluster_.empty() || cluster_ == position.cluster) return Status::OK();
  return Invalid(
      "resuming topic ", topic_, ": its position is of the Kafka cluster ", position.cluster, ", ",
      options_.address.brokers, " are of ", cluster_,
      ", whose offsets mean other records. Give another --job, with --start offsets:… to go on at a "
      "known place");
}

Status KafkaSource::Open(const Position& position) {
  HEADRACE_RETURN_NOT_OK(Connect());
  std::vector<int32_t> found;
  HEADRACE_RETURN_NOT_OK(FindPartitions(&found));
  HEADRACE_RETURN_NOT_OK(CheckCluster(position));
  std::map<int32_t, int64_t> known;
  for (const PartitionPosition& one : position.partitions) {
    if (one.topic == topic_) known[one.partition] = one.next_offset;
  }
  for (const auto& [id, next] : known) {
    if (!std::binary_search(found.begin(), found.end(), id)) {
      return Invalid("resuming ", NameOf(id), ": offset ", next, " is wanted, but the topic has only ",
                     found.size(), " partitions; it was made anew. Give another --job to begin with it");
    }
  }
  for (const int32_t id : found) {
    const auto it = known.find(id);
    HEADRACE_RETURN_NOT_OK(
        AddPartition(id, it == known.end() ? std::nullopt : std::optional(it->second), known.empty()));
  }
  if (known.empty()) {
    for (const auto& [id, offset] : options_.start.offsets) {
      if (!partitions_.contains(id))
        return Invalid("starting topic ", topic_, ": offset ", offset, " is given for partition ", id,
                       ", but it has ", partitions_.size(), " partitions, from 0");
    }
  }
  next_look_ = Clock::now() + kBetweenLooks;
  return Assign();
}

Status KafkaSource::AddPartition(int32_t id, std::optional<int64_t> known, bool first_open) {
  int64_t low = 0;
  int64_t high = 0;
  HEADRACE_RETURN_NOT_OK(Ask("reading " + NameOf(id), [&] {
    return consumer_->query_watermark_offsets(topic_, id, &low, &high, kRequestMs);
  }));
  Partition partition;
  partition.next = low;  // one that came later is read from its first record
  if (known) {
    partition.next = *known;
  } else if (first_open) {
    HEADRACE_ASSIGN_OR_RETURN(partition.next, StartOf(id, low, high));
  }
  if (partition.next < low || partition.next > high) return Gap(id, partition.next, low, high);
  partition.end = high;
  partition.target = options_.until_end ? high : -1;
  partitions_[id] = partition;
  return Status::OK();
}

Result<int64_t> KafkaSource::StartOf(int32_t id, int64_t low, int64_t high) {
  switch (options_.start.at) {
    case KafkaStart::At::kEarliest: return low;
    case KafkaStart::At::kLatest: return high;
    case KafkaStart::At::kOffsets: {
      const auto given = options_.start.offsets.find(id);
      if (given != options_.start.offsets.end()) return given->second;
      return Invalid("starting ", NameOf(id), ": no offset is given for it; it has ", low, " to ", high,
                     ", and --start offsets:… names every partition");
    }
    case KafkaStart::At::kTime: break;
  }
  int64_t offset = high;
  HEADRACE_RETURN_NOT_OK(Ask("looking for the time to start " + NameOf(id) + " at", [&] {
    OffsetList asked;
    asked.Add(topic_, id, options_.start.time_ms);
    const RdKafka::ErrorCode code = consumer_->offsetsForTimes(asked.list(), kRequestMs);
    if (code != RdKafka::ERR_NO_ERROR) return code;
    // Below zero: no record is that young.
    if (asked.list().front()->offset() >= 0) offset = asked.list().front()->offset();
    return asked.list().front()->err();
  }));
  return offset;
}

Status KafkaSource::Gap(int32_t id, int64_t wanted, int64_t low, int64_t high) const {
  const std::string what = wanted < low ? "records from " + std::to_string(wanted) + " to " +
                                              std::to_string(low - 1) + " are no longer there"
                                        : "the partition ends before it; was the topic made anew?";
  return Invalid(
      "reading ", NameOf(id), ": offset ", wanted, " is wanted, the partition has offsets ", low,
      " up to before ", high, ": ", what,
      ". Nothing is passed over unsaid: to go on without them give another --job, or --again, with "
      "--start earliest or --start offsets:…");
}

Status KafkaSource::Assign() {
  OffsetList all;
  for (const auto& [id, partition] : partitions_) all.Add(topic_, id, partition.next);
  const RdKafka::ErrorCode code = consumer_->assign(all.list());
  if (code == RdKafka::ERR_NO_ERROR) return Status::OK();
  return IoError("reading topic ", topic_, ": ", RdKafka::err2str(code));
}

Status KafkaSource::LookForPartitions() {
  RdKafka::ErrorCode failed = RdKafka::ERR_NO_ERROR;
  const std::vector<int32_t> found = *ListPartitions(kLookMs, &failed);
  next_look_ = Clock::now() + (failed == RdKafka::ERR_NO_ERROR ? kBetweenLooks : kAfterFailedLook);
  if (failed != RdKafka::ERR_NO_ERROR) return Status::OK();
  OffsetList fresh;
  for (const int32_t id : found) {
    if (partitions_.contains(id)) continue;
    HEADRACE_RETURN_NOT_OK(AddPartition(id, std::nullopt, false));
    partitions_[id].target = -1;
    fresh.Add(topic_, id, partitions_[id].next);
    events_.Say("partition " + std::to_string(id) + " is new; it is read from offset " +
                std::to_string(partitions_[id].next));
  }
  if (fresh.list().empty()) return Status::OK();
  const std::unique_ptr<RdKafka::Error> error(consumer_->incremental_assign(fresh.list()));
  return error == nullptr ? Status::OK()
                          : IoError("reading new partitions of topic ", topic_, ": ", error->str());
}

bool KafkaSource::ReachedTargets() const {
  return options_.until_end && std::all_of(partitions_.begin(), partitions_.end(), [](const auto& one) {
           return one.second.next >= one.second.target;
         });
}

Result<RecordSource::Event> KafkaSource::Next() {
  if (given_back_) {
    given_back_ = false;
    partitions_[message_->partition()].next = message_->offset() + 1;
    return Event::kRecord;
  }
  message_.reset();
  if (ReachedTargets()) return Event::kEnd;
  if (Clock::now() >= next_look_) HEADRACE_RETURN_NOT_OK(LookForPartitions());
  message_.reset(consumer_->consume(kIdleMs));
  if (message_->err() != RdKafka::ERR_NO_ERROR) {
    const Status taken = TakeError(*message_);
    message_.reset();
    HEADRACE_RETURN_NOT_OK(taken);
    return Event::kIdle;
  }
  Partition& partition = partitions_[message_->partition()];
  if (message_->offset() < partition.next) {
    message_.reset();
    return Event::kIdle;
  }
  events_.Connected();
  next_before_ = partition.next;
  partition.next = message_->offset() + 1;
  bytes_ += static_cast<int64_t>(message_->len());
  return Event::kRecord;
}

Status KafkaSource::TakeError(const RdKafka::Message& message) {
  const RdKafka::ErrorCode code = message.err();
  if (code == RdKafka::ERR__TIMED_OUT) return Status::OK();
  if (code == RdKafka::ERR__PARTITION_EOF) {
    // Marks of transactions count as offsets, and are no records.
    Partition& partition = partitions_[message.partition()];
    partition.next = std::max(partition.next, message.offset());
    events_.Connected();
    return Status::OK();
  }
  if (code == RdKafka::ERR__AUTO_OFFSET_RESET || code == RdKafka::ERR_OFFSET_OUT_OF_RANGE) {
    const int32_t id = message.partition();
    int64_t low = 0;
    int64_t high = 0;
    HEADRACE_RETURN_NOT_OK(Ask("reading " + NameOf(id), [&] {
      return consumer_->query_watermark_offsets(topic_, id, &low, &high, kRequestMs);
    }));
    return Gap(id, partitions_[id].next, low, high);
  }
  if (PassesByItself(code)) return Status::OK();  // events_ says which brokers are away
  return IoError("reading ", message.partition() < 0 ? "topic " + topic_ : NameOf(message.partition()), ": ",
                 message.errstr());
}

void KafkaSource::Unread() {
  given_back_ = true;
  partitions_[message_->partition()].next = next_before_;
}

std::string_view KafkaSource::value() const {
  if (message_->payload() == nullptr) return "null";
  return {static_cast<const char*>(message_->payload()), message_->len()};
}

std::optional<std::string_view> KafkaSource::key() const {
  if (!options_.wants_keys) return std::nullopt;
  const Message parts = message();
  key_line_ = KeyLineOf(topic_, parts.key.value_or(""), parts.headers);
  return key_line_;
}

RecordSource::Message KafkaSource::message() const {
  Message parts;
  if (message_->payload() != nullptr) parts.value = value();
  if (message_->key_pointer() != nullptr)
    parts.key = std::string_view(static_cast<const char*>(message_->key_pointer()), message_->key_len());
  const RdKafka::Headers* headers = message_->headers();
  if (headers == nullptr) return parts;
  for (const RdKafka::Headers::Header& header : headers->get_all()) {
    if (!IsDebeziumHeader(header.key()) || header.value() == nullptr) continue;
    parts.headers.emplace_back(header.key(),
                               std::string(static_cast<const char*>(header.value()), header.value_size()));
  }
  return parts;
}

RecordPlace KafkaSource::place() const {
  return {NameOf(message_->partition()), "offset", message_->offset()};
}

void KafkaSource::Stamp(Position* position) const {
  position->cluster = cluster_;
  std::erase_if(position->partitions, [&](const PartitionPosition& one) { return one.topic == topic_; });
  for (const auto& [id, partition] : partitions_)
    position->partitions.push_back({topic_, id, partition.next});
  std::stable_sort(position->partitions.begin(), position->partitions.end(),
                   [](const auto& a, const auto& b) { return a.topic < b.topic; });
}

Result<bool> KafkaSource::IsBefore(const Position& position) const {
  for (const PartitionPosition& one : position.partitions) {
    if (one.topic == topic_ && one.partition == message_->partition())
      return message_->offset() < one.next_offset;
  }
  return false;
}

void KafkaSource::Committed(const Position& position) {
  bool moved = mirror_.behind();
  for (const PartitionPosition& one : position.partitions) {
    const auto it = partitions_.find(one.partition);
    if (one.topic != topic_ || it == partitions_.end()) continue;
    moved = moved || it->second.committed != one.next_offset;
    it->second.committed = one.next_offset;
  }
  if (moved) Mirror();
}

void KafkaSource::Mirror() {
  OffsetList all;
  for (const auto& [id, partition] : partitions_) {
    if (partition.committed >= 0) all.Add(topic_, id, partition.committed);
  }
  if (!all.list().empty() && consumer_->commitAsync(all.list()) == RdKafka::ERR_NO_ERROR) mirror_.Sent();
}

std::optional<int64_t> KafkaSource::lag() const {
  int64_t lag = 0;
  for (const auto& [id, partition] : partitions_) {
    int64_t low = 0;
    int64_t high = 0;
    const bool known = consumer_->get_watermark_offsets(topic_, id, &low, &high) == RdKafka::ERR_NO_ERROR;
    lag += std::max<int64_t>((known && high >= 0 ? high : partition.end) - partition.next, 0);
  }
  return lag;
}

}  // namespace

Result<std::unique_ptr<RecordSource>> OpenKafkaSource(KafkaSourceOptions options, const Position& position) {
  const std::optional<AvroReading> avro = options.avro;
  const std::string topic = options.address.topic;
  const bool wants_keys = options.wants_keys;
  const SayLine say = options.say;
  auto source = std::make_unique<KafkaSource>(std::move(options));
  HEADRACE_RETURN_NOT_OK(source->Open(position));
  if (!avro) return source;
  return std::make_unique<AvroRecords>(std::move(source), *avro, topic, wants_keys, say);
}

}  // namespace headrace::ingest
