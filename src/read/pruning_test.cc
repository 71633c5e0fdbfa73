// Values and statistics against conditions.
#include "read/pruning.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using Is = RowCondition::Is;

RowCondition Condition(Is is, std::vector<Value> values = {}) { return {"c", is, std::move(values)}; }

TEST(Meets, ComparesAsPaimonOrdersAndTakesNullForNullAlone) {
  EXPECT_TRUE(Meets(int32_t{5}, Condition(Is::kEqual, {int32_t{5}})));
  EXPECT_TRUE(Meets(int32_t{5}, Condition(Is::kIn, {int32_t{4}, int32_t{5}})));
  EXPECT_FALSE(Meets(int32_t{5}, Condition(Is::kLess, {int32_t{5}})));
  EXPECT_TRUE(Meets(int32_t{5}, Condition(Is::kLessOrEqual, {int32_t{5}})));
  EXPECT_TRUE(Meets(int32_t{5}, Condition(Is::kGreater, {int32_t{4}})));
  EXPECT_FALSE(Meets(int32_t{5}, Condition(Is::kGreaterOrEqual, {int32_t{6}})));
  EXPECT_TRUE(Meets(std::string("\xC3\xA9"), Condition(Is::kGreater, {std::string("z")})));
  EXPECT_TRUE(Meets(int32_t{5}, Condition(Is::kNotNull)));
  EXPECT_FALSE(Meets(int32_t{5}, Condition(Is::kNull)));
  EXPECT_TRUE(Meets(Value(), Condition(Is::kNull)));
  EXPECT_FALSE(Meets(Value(), Condition(Is::kEqual, {int32_t{5}})));
}

TEST(MayMeet, LeavesOutOnlyWhatLiesBeyondKnownBounds) {
  const ColumnStats stats{int32_t{10}, int32_t{20}, 0};
  for (const auto& [is, from, to] :
       std::vector<std::tuple<Is, int32_t, int32_t>>{{Is::kEqual, 10, 20},
                                                     {Is::kLess, 11, 99},
                                                     {Is::kLessOrEqual, 10, 99},
                                                     {Is::kGreater, -99, 19},
                                                     {Is::kGreaterOrEqual, -99, 20}}) {
    for (int32_t value = -99; value <= 99; ++value)
      EXPECT_EQ(MayMeet(stats, 3, Condition(is, {value})), value >= from && value <= to)
          << static_cast<int>(is) << " " << value;
  }
  EXPECT_TRUE(MayMeet(stats, 3, Condition(Is::kIn, {int32_t{1}, int32_t{15}})));
  EXPECT_FALSE(MayMeet(stats, 3, Condition(Is::kIn, {int32_t{1}, int32_t{25}})));
}

TEST(MayMeet, KeepsWhatIsUnknown) {
  for (const Is is : {Is::kEqual, Is::kLess, Is::kLessOrEqual, Is::kGreater, Is::kGreaterOrEqual}) {
    EXPECT_TRUE(MayMeet({}, 3, Condition(is, {int32_t{5}})));
    EXPECT_TRUE(MayMeet({int32_t{1}, {}, {}}, 3, Condition(is, {int32_t{5}})) || is == Is::kLess ||
                is == Is::kLessOrEqual);
  }
  EXPECT_TRUE(MayMeet({}, 3, Condition(Is::kNull)));
  EXPECT_TRUE(MayMeet({}, 3, Condition(Is::kNotNull)));
}

TEST(MayMeet, CountsNulls) {
  const ColumnStats all_null{{}, {}, 3};
  EXPECT_FALSE(MayMeet(all_null, 3, Condition(Is::kEqual, {int32_t{5}})));
  EXPECT_FALSE(MayMeet(all_null, 3, Condition(Is::kNotNull)));
  EXPECT_TRUE(MayMeet(all_null, 3, Condition(Is::kNull)));
  EXPECT_FALSE(MayMeet({int32_t{1}, int32_t{2}, 0}, 3, Condition(Is::kNull)));
}

}  // namespace
}  // namespace headrace
