// The text format by example, and a page fetched as others fetch it.
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <httplib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/http_page.h"
#include "serve/metrics_text.h"

namespace headrace::serve {
namespace {

TEST(MetricsText, PutsTheSamplesOfAFamilyTogether) {
  MetricsText text;
  text.Add("rows_total", MetricType::kCounter, "Rows written.", {{"target", "a.b"}}, 12);
  text.Add("lag_seconds", MetricType::kGauge, "How far \\ behind.", {}, 0.25);
  text.Add("rows_total", MetricType::kCounter, "Rows written.", {{"target", "a.\"c\"\n"}}, 1e15);
  EXPECT_EQ(text.Finish(),
            "# HELP rows_total Rows written.\n# TYPE rows_total counter\n"
            "rows_total{target=\"a.b\"} 12\nrows_total{target=\"a.\\\"c\\\"\\n\"} 1e+15\n"
            "# HELP lag_seconds How far \\\\ behind.\n# TYPE lag_seconds gauge\nlag_seconds 0.25\n");
}

TEST(HttpPage, GivesWhatWasPutLastAndNothingElse) {
  auto page = HttpPage::Open("127.0.0.1", 0, "/metrics", "text/plain; version=0.0.4");
  ASSERT_TRUE(page.ok()) << page.status().message();
  (*page)->Put("one\n");
  (*page)->Put("two\n");
  httplib::Client client("127.0.0.1", (*page)->port());
  const auto answer = client.Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "two\n");
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4");
  EXPECT_EQ(client.Get("/other")->status, 404);
}

// Connects, and asks for nothing.
class SilentReader {
 public:
  explicit SilentReader(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  }
  ~SilentReader() { ::close(socket_); }
  bool connected() const { return connected_; }

 private:
  const int socket_;
  bool connected_ = false;
};

TEST(HttpPage, SlowReadersDoNotKeepOthersFromIt) {
  auto page = HttpPage::Open("127.0.0.1", 0, "/metrics", "text/plain");
  ASSERT_TRUE(page.ok()) << page.status().message();
  (*page)->Put("one\n");
  std::vector<std::unique_ptr<SilentReader>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<SilentReader>((*page)->port()));
    ASSERT_TRUE(silent.back()->connected());
  }
  httplib::Client client("127.0.0.1", (*page)->port());
  client.set_read_timeout(20, 0);
  const auto answer = client.Get("/metrics");
  ASSERT_TRUE(answer) << "they were given up after a while";
  EXPECT_EQ(answer->body, "one\n");
}

TEST(HttpPage, ListensOnAddressesOfTheSixthVersion) {
  auto page = HttpPage::Open("::1", 0, "/metrics", "text/plain");
  if (!page.ok()) GTEST_SKIP() << "this machine has none: " << page.status().message();
  (*page)->Put("six\n");
  httplib::Client client("::1", (*page)->port());
  const auto answer = client.Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "six\n");
}

TEST(HttpPage, TellsThatAPortIsTaken) {
  const auto first = HttpPage::Open("127.0.0.1", 0, "/", "text/plain");
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto second = HttpPage::Open("127.0.0.1", (*first)->port(), "/", "text/plain");
  EXPECT_THAT(second.status().message(), ::testing::HasSubstr("another program may have it"));
}

}  // namespace
}  // namespace headrace::serve
