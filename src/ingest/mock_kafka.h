// For tests of topics: librdkafka's own mock cluster inside this process, and a producer to fill it.
//
// Header only, included by tests alone. It keeps keys, values and headers; transactions, retention and groups need a real broker.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

namespace headrace::ingest {

// Brokers inside this process, with a producer to fill them.
class MockKafka {
 public:
  MockKafka() {
    char error[512];
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, Conf(), error, sizeof(error));
    cluster_ = rd_kafka_mock_cluster_new(producer_, 1);
    rd_kafka_brokers_add(producer_, rd_kafka_mock_cluster_bootstraps(cluster_));
  }
  ~MockKafka() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(producer_);
  }
  std::string Address(const std::string& topic) const { return "kafka://" + brokers() + "/" + topic; }
  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void Create(const std::string& topic, int partitions) const {
    rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1);
  }
  void Produce(const std::string& topic, int32_t partition, const std::string& value) const {
    Send(topic, partition, value.data(), value.size(), "");
  }
  void Send(const std::string& topic, int32_t partition, const void* value, size_t size,
            const std::string& key) const {
    ASSERT_EQ(rd_kafka_producev(
                  producer_, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
                  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(const_cast<void*>(value), size),
                  RD_KAFKA_V_KEY(key.empty() ? nullptr : key.data(), key.size()),
                  RD_KAFKA_V_HEADER(key.empty() ? "other" : "__debezium.oldkey", R"({"id":7})", -1),
                  RD_KAFKA_V_END),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_EQ(rd_kafka_flush(producer_, 10000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  // Null parts are left out.
  void SendMessage(const std::string& topic, int32_t partition, const std::optional<std::string>& key,
                   const std::optional<std::string>& value,
                   const std::vector<std::pair<std::string, std::string>>& headers = {}) const {
    rd_kafka_headers_t* list = rd_kafka_headers_new(headers.size());
    for (const auto& [name, bytes] : headers)
      rd_kafka_header_add(list, name.c_str(), -1, bytes.data(), static_cast<ssize_t>(bytes.size()));
    ASSERT_EQ(rd_kafka_producev(producer_, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                RD_KAFKA_V_VALUE((value ? const_cast<char*>(value->data()) : nullptr),
                                                 (value ? value->size() : 0)),
                                RD_KAFKA_V_KEY((key ? key->data() : nullptr), (key ? key->size() : 0)),
                                RD_KAFKA_V_HEADERS(list), RD_KAFKA_V_END),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_EQ(rd_kafka_flush(producer_, 10000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  void BreakConnections(int times) const {
    const std::vector<rd_kafka_resp_err_t> errors(times, RD_KAFKA_RESP_ERR__TRANSPORT);
    rd_kafka_mock_push_request_errors_array(cluster_, 1 /* Fetch */, errors.size(), errors.data());
  }

 private:
  static rd_kafka_conf_t* Conf() {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    char error[512];
    rd_kafka_conf_set(conf, "linger.ms", "0", error, sizeof(error));
    rd_kafka_conf_set(conf, "log_level", "0", error, sizeof(error));
    return conf;
  }
  rd_kafka_t* producer_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

}  // namespace headrace::ingest
