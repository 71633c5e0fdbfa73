// A schema registry over HTTP: what it answers, what it refuses, and when it is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/avro_test_kit.h"
#include "ingest/schema_registry.h"

namespace headrace::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SchemaRegistry At(const std::string& url) { return SchemaRegistry(*ParseRegistryAddress(url)); }

TEST(SchemaRegistry, ReferencesComeBeforeWhatUsesThemAndOnce) {
  TestRegistry server;
  server.SetSchema(
      7, "main",
      R"(,"references":[{"name":"b","subject":"b","version":2},{"name":"a","subject":"a/x","version":1}])");
  server.Set(
      "/subjects/b/versions/2",
      {200, TestRegistry::AnswerOf("second", R"(,"references":[{"name":"a","subject":"a/x","version":1}])")});
  server.Set("/subjects/a/x/versions/1", {200, TestRegistry::AnswerOf("first", R"(,"schemaType":"AVRO")")});
  SchemaRegistry registry = At(server.url());
  const Result<RegisteredSchema> schema = registry.Ask(7);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->schema, "main");
  EXPECT_THAT(schema->references, ElementsAre("first", "second"));
  EXPECT_EQ(server.asked("/subjects/a/x/versions/1"), 1);
}

TEST(SchemaRegistry, WhatItAnswersTellsWhetherAskingAgainHelps) {
  TestRegistry server;
  server.Set("/schemas/ids/1", {500, "oops"});
  server.Set("/schemas/ids/2", {401, ""});
  server.Set("/schemas/ids/3", {200, "<html>"});
  server.Set("/schemas/ids/4", {200, R"({"id":4})"});
  server.SetSchema(5, "syntax = \"proto3\";", R"(,"schemaType":"PROTOBUF")");
  server.SetSchema(6, "main", R"(,"references":[{"name":"a","subject":"gone","version":1}])");
  server.SetSchema(8, "main", R"(,"references":[{"name":"a","subject":"loop","version":1}])");
  server.Set(
      "/subjects/loop/versions/1",
      {200, TestRegistry::AnswerOf("x", R"(,"references":[{"name":"a","subject":"loop","version":1}])")});
  server.Set("/schemas/ids/9", {200, std::string(20 << 20, 'x')});
  SchemaRegistry registry = At(server.url());
  EXPECT_EQ(KindOf(registry.Ask(1).status()), ErrorKind::kIo);
  EXPECT_EQ(KindOf(registry.Ask(2).status()), ErrorKind::kInvalid);
  EXPECT_THAT(registry.Ask(2).status().message(), HasSubstr("give user and password"));
  EXPECT_EQ(KindOf(registry.Ask(3).status()), ErrorKind::kCorruption);
  EXPECT_EQ(KindOf(registry.Ask(4).status()), ErrorKind::kCorruption);
  EXPECT_EQ(KindOf(registry.Ask(5).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(registry.Ask(6).status()), ErrorKind::kCorruption);
  EXPECT_TRUE(registry.Ask(8).ok());  // asked for once, so it ends
  EXPECT_THAT(registry.Ask(9).status().message(), HasSubstr("more than 16 MiB"));
  EXPECT_EQ(KindOf(registry.Ask(10).status()), ErrorKind::kNotFound);
}

TEST(SchemaRegistry, OneThatIsAwayIsNoAnswer) {
  std::string url;
  { url = TestRegistry().url(); }
  SchemaRegistry registry = At(url);
  EXPECT_EQ(KindOf(registry.Ask(1).status()), ErrorKind::kIo);
}

TEST(SchemaRegistry, ASilentOneIsLeftWhenTheTimeIsOverOrCtrlCComes) {
  TestRegistry server;
  server.Set("/schemas/ids/1", {200, TestRegistry::AnswerOf("main"), milliseconds(3000)});
  const auto took = [](SchemaRegistry registry) {
    const auto start = std::chrono::steady_clock::now();
    const Status status = registry.Ask(1).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kIo);
    EXPECT_THAT(status.message(), HasSubstr("/schemas/ids/1: there was no answer in time"));
    return std::chrono::steady_clock::now() - start;
  };
  const RegistryAddress address = *ParseRegistryAddress(server.url());
  EXPECT_LT(took(SchemaRegistry(address, nullptr, milliseconds(200))), milliseconds(2500));
  const std::atomic<bool> cancel = true;
  EXPECT_LT(took(SchemaRegistry(address, &cancel)), milliseconds(2500));
}

TEST(SchemaRegistry, ReferencesTakeNoMoreTimeTogetherAndAskingAgainGoesOn) {
  constexpr int kReferences = 20;
  TestRegistry server;
  const auto path = [](int i) { return "/subjects/s/versions/" + std::to_string(i); };
  std::string references;
  for (int i = 0; i < kReferences; ++i) {
    references += (i == 0 ? "" : ",") + std::string(R"({"name":"n","subject":"s","version":)") +
                  std::to_string(i) + "}";
    server.Set(path(i), {200, TestRegistry::AnswerOf("r" + std::to_string(i)), milliseconds(50)});
  }
  server.SetSchema(1, "main", ",\"references\":[" + references + "]");
  SchemaRegistry registry(*ParseRegistryAddress(server.url()), nullptr, milliseconds(400));
  Result<RegisteredSchema> schema = registry.Ask(1);
  EXPECT_EQ(KindOf(schema.status()), ErrorKind::kIo);
  EXPECT_EQ(server.asked(path(kReferences - 1)), 0);
  for (int i = 0; i < 30 && !schema.ok(); ++i) schema = registry.Ask(1);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->references.size(), 20U);
  EXPECT_EQ(server.asked("/schemas/ids/1"), 1);
}

TEST(SchemaRegistry, AllThatASchemaRefersToIsBoundedTogether) {
  TestRegistry server;
  server.SetSchema(
      1, "main",
      R"(,"references":[{"name":"a","subject":"s","version":1},{"name":"b","subject":"s","version":2}])");
  for (const char* path : {"/subjects/s/versions/1", "/subjects/s/versions/2"})
    server.Set(path, {200, TestRegistry::AnswerOf(std::string(9 << 20, 'x'))});
  EXPECT_THAT(At(server.url()).Ask(1).status().message(), HasSubstr("more than 16 MiB"));
}

TEST(SchemaRegistry, UserAndPasswordAreSentAndNeverShown) {
  TestRegistry server;
  server.Set("/base/schemas/ids/1", {403, ""});
  std::string url = server.url() + "/base/";
  url.insert(std::string("http://").size(), "me:p%40ss%3A@");
  SchemaRegistry registry = At(url);
  const Status refused = registry.Ask(1).status();
  EXPECT_EQ(server.last_authorization(), "Basic bWU6cEBzczo=");
  EXPECT_THAT(refused.message(), Not(HasSubstr("p@ss")));
  EXPECT_THAT(refused.message(), Not(HasSubstr("p%40ss")));
  EXPECT_THAT(refused.message(), HasSubstr("/base for /schemas/ids/1"));
}

TEST(SchemaRegistry, APasswordWithoutAUserIsSentToo) {
  TestRegistry server;
  std::string url = server.url();
  url.insert(std::string("http://").size(), ":token@");
  EXPECT_EQ(KindOf(At(url).Ask(1).status()), ErrorKind::kNotFound);
  EXPECT_EQ(server.last_authorization(), "Basic OnRva2Vu");
}

TEST(SchemaRegistry, AddressesThatAreNoneAreRefusedWithoutShowingThem) {
  for (const char* url : {"", "registry:8081", "ftp://host", "http://", "http://host:0", "http://host:99999",
                          "http://ho st", "http://secret@", "http://host/a?b", "https://host:x"}) {
    const Status refused = ParseRegistryAddress(url).status();
    EXPECT_EQ(KindOf(refused), ErrorKind::kInvalid) << url;
    EXPECT_THAT(refused.message(), Not(HasSubstr("secret"))) << url;
  }
  EXPECT_EQ(ParseRegistryAddress("https://[::1]:8081/a/b/")->shown(), "https://[::1]:8081/a/b");
  EXPECT_EQ(ParseRegistryAddress("http://u@host")->user, "u");
}

}  // namespace
}  // namespace headrace::ingest
