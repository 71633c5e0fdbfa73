#include "ingest/pgoutput_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/encoded_bytes.h"

namespace headrace::ingest::pgoutput {
namespace {

using ::testing::HasSubstr;

std::string Bytes(const std::string& hex) {
  std::string bytes;
  EXPECT_TRUE(DecodeHex(hex, &bytes)) << hex;
  return bytes;
}

std::vector<std::string> EveryCapturedMessage() {
  std::vector<std::string> messages;
  for (const char* name : {"customers", "customers-default-identity", "orders-evolving", "pk-change",
                           "types.precise-adaptive"}) {
    for (const std::string& line : LinesOf(ReadFixture(std::string(name) + ".pgoutput.hex")))
      messages.push_back(Bytes(line.substr(line.rfind(' ') + 1)));
  }
  return messages;
}

TEST(Lsn, IsWrittenAndReadAsPostgresDoes) {
  EXPECT_EQ(LsnText(0x16B374D848), "16/B374D848");
  EXPECT_EQ(ParseLsn("16/B374D848"), 0x16B374D848u);
  EXPECT_EQ(ParseLsn("0/0"), 0u);
  EXPECT_EQ(ParseLsn("FFFFFFFF/ffffffff"), ~0ull);
  for (const char* wrong : {"", "1", "/", "1/", "/1", "1/2/3", "1/2 ", "100000000/0", "x/1", "-1/1"})
    EXPECT_FALSE(ParseLsn(wrong)) << wrong;
}

TEST(Decode, ReadsBeginAndCommit) {
  const auto begin = std::get<Begin>(*Decode(Bytes("4200000000025e19b800030469c89e891b00000320")));
  EXPECT_EQ(LsnText(begin.commit_lsn), "0/25E19B8");
  EXPECT_EQ(begin.xid, 800u);
  EXPECT_GT(begin.commit_time_us, 1767225600LL * 1000000);  // 2026
}

TEST(Decode, ReadsARelation) {
  const auto relation =
      std::get<Relation>(*Decode(Bytes("5200004000"
                                       "7075626c696300"
                                       "7400"
                                       "66"
                                       "0002"
                                       "01"
                                       "696400"
                                       "00000017"
                                       "ffffffff"
                                       "00"
                                       "6e00"
                                       "00000413"
                                       "0000000e")));
  EXPECT_EQ(relation.schema, "public");
  EXPECT_EQ(relation.name, "t");
  EXPECT_EQ(relation.identity, ReplicaIdentity::kFull);
  EXPECT_EQ(relation.columns, (std::vector<RelationColumn>{{true, "id", 23, -1}, {false, "n", 1043, 14}}));
}

TEST(Decode, ReadsTheThreeFormsOfAnUpdate) {
  const std::string new_row = Bytes(
      "5500004000"
      "4e"
      "0002"
      "74"
      "00000001"
      "31"
      "75");
  const auto plain = std::get<Update>(*Decode(new_row));
  EXPECT_EQ(plain.old_kind, OldTuple::kNone);
  EXPECT_EQ(plain.row[0].text, "1");
  EXPECT_EQ(plain.row[1].kind, CellKind::kUnchanged);
  const std::string with_key = Bytes(
      "5500004000"
      "4b"
      "0001"
      "74"
      "00000001"
      "30"
      "4e"
      "0001"
      "6e");
  const auto key = std::get<Update>(*Decode(with_key));
  EXPECT_EQ(key.old_kind, OldTuple::kKey);
  EXPECT_EQ(key.old_row[0].text, "0");
  EXPECT_EQ(key.row[0].kind, CellKind::kNull);
  const auto whole =
      std::get<Update>(*Decode(Bytes("5500004000"
                                     "4f"
                                     "0000"
                                     "4e"
                                     "0000")));
  EXPECT_EQ(whole.old_kind, OldTuple::kWhole);
}

TEST(Decode, ReadsTruncateAndMessage) {
  const auto truncate =
      std::get<Truncate>(*Decode(Bytes("54"
                                       "00000002"
                                       "03"
                                       "00004000"
                                       "00004001")));
  EXPECT_EQ(truncate.relations, (std::vector<uint32_t>{0x4000, 0x4001}));
  EXPECT_TRUE(truncate.cascade);
  EXPECT_TRUE(truncate.restart_identity);
  const std::string emitted = Bytes(
      "4d"
      "01"
      "0000000000000010"
      "6100"
      "00000002"
      "6869");
  const auto message = std::get<LogicalMessage>(*Decode(emitted));
  EXPECT_EQ(message.prefix, "a");
  EXPECT_EQ(message.content, "hi");
}

TEST(Decode, RefusesWhatIsNoMessage) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "is empty"},
      {"00", "is no message"},
      {"42", "needs 8 more bytes"},
      {"4200000000025e19b800030469c89e891b0000032000", "1 bytes more"},
      {"52"
       "00004000"
       "7075",
       "name without an end"},
      {"52"
       "00004000"
       "7000"
       "7400"
       "78"
       "0000",
       "unknown replica identity"},
      {"52"
       "00004000"
       "7000"
       "7400"
       "64"
       "7fff",
       "counts 32767 parts"},
      {"49"
       "00004000"
       "4e"
       "ffff",
       "counts -1 parts"},
      {"49"
       "00004000"
       "4e"
       "0001"
       "74"
       "7fffffff"
       "31",
       "needs 2147483647 more bytes"},
      {"49"
       "00004000"
       "4e"
       "0001"
       "74"
       "ffffffff",
       "value of -1 bytes"},
      {"49"
       "00004000"
       "4e"
       "0001"
       "62"
       "00000000",
       "unknown kind"},
      {"49"
       "00004000"
       "4b"
       "0000",
       "no new row"},
      {"44"
       "00004000"
       "4e"
       "0000",
       "no old row"},
      {"54"
       "7fffffff"
       "00",
       "counts 2147483647 parts"}};
  for (const auto& [hex, reason] : wrong) {
    const Status status = Decode(Bytes(hex)).status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << hex;
    EXPECT_THAT(status.message(), HasSubstr(reason)) << hex;
  }
}

// Every message cut short anywhere, and with a byte too many, is refused: nothing in it is read past its end.
TEST(Decode, RefusesEveryCapturedMessageCutShort) {
  for (const std::string& message : EveryCapturedMessage()) {
    EXPECT_TRUE(Decode(message).ok());
    EXPECT_FALSE(Decode(message + '\0').ok());
    const size_t step = message.size() / 97 + 1;
    for (size_t length = 0; length < message.size(); length += step) {
      const std::string cut = message.substr(0, length);  // a copy: the sanitizer sees a read past it
      EXPECT_FALSE(Decode(cut).ok()) << "cut to " << length;
    }
  }
}

}  // namespace
}  // namespace headrace::ingest::pgoutput
