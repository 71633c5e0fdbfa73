#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"

namespace headrace {
namespace {

TEST(Error, KeepsItsKindAndSaysWhatItWasGiven) {
  const Status status = Corruption("manifest ", "m-1", " entry ", 7, ": level ", Level(9), ", at most ", 5.5);
  EXPECT_EQ(KindOf(status), ErrorKind::kCorruption);
  EXPECT_THAT(status.message(), testing::StartsWith("manifest m-1 entry 7: level 9, at most 5.5"));
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption));
  EXPECT_FALSE(IsKind(Status::OK(), ErrorKind::kCorruption));
}

TEST(Error, KeepsItsKindUnderContext) {
  const Status status = WithContext("reading table db.t", NotFound("file x"));
  EXPECT_EQ(KindOf(status), ErrorKind::kNotFound);
  EXPECT_EQ(status.message(), "reading table db.t: file x");
  EXPECT_TRUE(WithContext("anything", Status::OK()).ok());
}

TEST(Error, DerivesAKindFromArrowsCodes) {
  EXPECT_EQ(KindOf(Status::IOError("x")), ErrorKind::kIo);
  EXPECT_EQ(KindOf(Status::OutOfMemory("x")), ErrorKind::kOverBudget);
  EXPECT_EQ(KindOf(Status::NotImplemented("x")), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(Status::Cancelled("x")), ErrorKind::kCancelled);
  EXPECT_EQ(KindOf(Status::TypeError("x")), ErrorKind::kInvalid);
}

TEST(Error, GivesEachKindANameOfItsOwn) {
  std::vector<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kCancelled); ++kind) {
    const std::string_view name = NameOf(static_cast<ErrorKind>(kind));
    EXPECT_THAT(names, testing::Not(testing::Contains(name)));
    EXPECT_EQ(KindOf(MakeError(static_cast<ErrorKind>(kind), "x")), static_cast<ErrorKind>(kind));
    names.push_back(name);
  }
}

TEST(Id, OrdersAndHashesByItsNumber) {
  EXPECT_LT(SnapshotId(1), SnapshotId(2));
  EXPECT_EQ(std::hash<BucketId>{}(BucketId(3)), std::hash<int32_t>{}(3));
  std::ostringstream out;
  out << BucketId(-2) << ' ' << SnapshotId(12);
  EXPECT_EQ(out.str(), "-2 12");
}

}  // namespace
}  // namespace headrace
