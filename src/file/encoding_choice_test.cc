#include "file/encoding_choice.h"

#include <arrow/api.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "file/integer_choice.h"

namespace headrace {
namespace {

constexpr int64_t kRows = 5000;

std::shared_ptr<arrow::RecordBatch> BatchOf(const arrow::ArrayVector& columns) {
  arrow::FieldVector fields;
  for (const auto& column : columns) fields.push_back(arrow::field("c", column->type()));
  return arrow::RecordBatch::Make(arrow::schema(fields), columns[0]->length(), columns);
}

TEST(ADictionary, IsForStringsThatRepeatAndNeverForNothingButNulls) {
  arrow::StringBuilder few, many;
  auto few_elements = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), few_elements);
  for (int i = 0; i < kRows; ++i) {
    ASSERT_TRUE(few.Append(i % 3 == 0 ? "PAID" : "NEW").ok());
    ASSERT_TRUE(many.Append("order " + std::to_string(i)).ok());
    ASSERT_TRUE(lists.Append().ok());
    ASSERT_TRUE(few_elements->Append("tag").ok());
  }
  const arrow::ArrayVector columns{few.Finish().ValueOrDie(), many.Finish().ValueOrDie(),
                                   lists.Finish().ValueOrDie(),
                                   arrow::MakeArrayOfNull(arrow::utf8(), kRows).ValueOrDie()};
  EXPECT_THAT(ChooseEncodings(*BatchOf(columns), {}),
              testing::ElementsAre(LeafEncoding::kDictionary, LeafEncoding::kPlain, LeafEncoding::kDictionary,
                                   LeafEncoding::kPlain));
}

class WholeNumbers : public testing::Test {
 protected:
  // Of a column whose value in a row is value_of(row).
  template <typename ValueOf>
  LeafEncoding Choice(ValueOf value_of, const std::shared_ptr<arrow::DataType>& type = arrow::int64()) {
    arrow::Int64Builder values;
    for (int64_t i = 0; i < kRows; ++i) EXPECT_TRUE(values.Append(value_of(i)).ok());
    const auto column = values.Finish().ValueOrDie()->View(type).ValueOrDie();
    return ChooseEncodings(*BatchOf({column}), rules_)[0];
  }

  Random random_{7};
  std::unique_ptr<arrow::util::Codec> codec_ =
      arrow::util::Codec::Create(arrow::Compression::ZSTD, 1).ValueOrDie();
  IntegerRules rules_{.codec = codec_.get()};
};

TEST_F(WholeNumbers, ThatGrowOrVaryWithinBoundsArePacked) {
  EXPECT_EQ(Choice([](int64_t i) { return 1'000'000 + i; }), LeafEncoding::kDelta);
  EXPECT_EQ(Choice([](int64_t) { return 7; }), LeafEncoding::kDelta);
  EXPECT_EQ(Choice([&](int64_t) { return static_cast<int64_t>(random_.Next() % 2'000'000); }),
            LeafEncoding::kDelta);
  EXPECT_EQ(
      Choice(
          [&](int64_t i) { return 1'700'000'000'000 + i * 10 + static_cast<int64_t>(random_.Next() % 1000); },
          arrow::timestamp(arrow::TimeUnit::MILLI)),
      LeafEncoding::kDelta);
}

TEST_F(WholeNumbers, OfAnyWidthAndSignArePackedWhereNothingIsSmaller) {
  EXPECT_EQ(Choice([&](int64_t) { return static_cast<int64_t>(random_.Next()); }), LeafEncoding::kDelta);
}

TEST_F(WholeNumbers, OfWhichThereAreFewHaveADictionary) {
  EXPECT_EQ(Choice([&](int64_t) { return random_.Next() % 20 == 0 ? 3 : 0; }), LeafEncoding::kDictionary);
  EXPECT_EQ(Choice([&](int64_t) { return static_cast<int64_t>(random_.Next() % 5) << 60; }),
            LeafEncoding::kDictionary);
  rules_.dictionary = false;
  EXPECT_EQ(Choice([&](int64_t) { return static_cast<int64_t>(random_.Next() % 5) << 60; }),
            LeafEncoding::kPlain);
}

TEST_F(WholeNumbers, ThatComeInRunsFarApartOrAreSkewedStayPlainUnderTheCodec) {
  EXPECT_EQ(Choice([&](int64_t i) { return ((i / 8) * 2654435761) % 1'000'000'007 * 1'000'003; }),
            LeafEncoding::kPlain);
  rules_.codec = nullptr;
  EXPECT_EQ(Choice([&](int64_t i) { return ((i / 8) * 2654435761) % 1'000'000'007 * 1'000'003; }),
            LeafEncoding::kDelta);
}

TEST_F(WholeNumbers, AreLeftPlainWhereThatIsAskedFor) {
  rules_.pack = false;
  EXPECT_EQ(Choice([](int64_t i) { return i; }), LeafEncoding::kPlain);
}

TEST_F(WholeNumbers, OfWhichThereIsNoneOrOneArePacked) {
  for (const int64_t rows : {0, 1, 100'000}) {
    const auto nulls = arrow::MakeArrayOfNull(arrow::int32(), rows).ValueOrDie();
    EXPECT_THAT(ChooseEncodings(*BatchOf({nulls}), rules_), testing::ElementsAre(LeafEncoding::kDelta));
  }
}

TEST_F(WholeNumbers, AreDatesTimesAndNarrowDecimalsButNoNanosecondsAndNoFloats) {
  EXPECT_TRUE(IsWholeNumber(*arrow::date32()));
  EXPECT_TRUE(IsWholeNumber(*arrow::time32(arrow::TimeUnit::MILLI)));
  EXPECT_TRUE(IsWholeNumber(*arrow::decimal128(18, 2)));
  EXPECT_FALSE(IsWholeNumber(*arrow::decimal128(19, 2)));
  EXPECT_FALSE(IsWholeNumber(*arrow::timestamp(arrow::TimeUnit::NANO)));
  EXPECT_FALSE(IsWholeNumber(*arrow::float64()));
}

TEST(PackedBits, AreThoseOfTheBlocks) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i <= 128; ++i) values.push_back(5 * i);
  EXPECT_EQ(PackedBits(values, 64), 8 + 4 * 8);  // the least difference, and four widths of zero bits
  values.push_back(INT64_MIN);                   // differences wrap
  EXPECT_EQ(PackedBits(values, 64), 40 + 80 + 4 * 8);
  const int64_t extremes[] = {INT32_MIN, INT32_MAX, INT32_MIN};  // differences of -1 and 1 in 32 bits
  EXPECT_EQ(PackedBits(extremes, 32), 8 + 4 * 8 + 2 * 2);
}

}  // namespace
}  // namespace headrace
