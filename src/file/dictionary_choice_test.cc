#include "file/dictionary_choice.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(ADictionary, IsForStringsThatRepeatAndNeverForNumbersOrForNothingButNulls) {
  arrow::StringBuilder few, many;
  arrow::Int64Builder numbers;
  auto few_elements = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), few_elements);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(few.Append(i % 3 == 0 ? "PAID" : "NEW").ok());
    ASSERT_TRUE(many.Append("order " + std::to_string(i)).ok());
    ASSERT_TRUE(numbers.Append(i % 3).ok());
    ASSERT_TRUE(lists.Append().ok());
    ASSERT_TRUE(few_elements->Append("tag").ok());
  }
  const arrow::ArrayVector columns{few.Finish().ValueOrDie(), many.Finish().ValueOrDie(),
                                   numbers.Finish().ValueOrDie(), lists.Finish().ValueOrDie(),
                                   arrow::MakeArrayOfNull(arrow::utf8(), 5000).ValueOrDie()};
  arrow::FieldVector fields;
  for (const auto& column : columns) fields.push_back(arrow::field("c", column->type()));
  EXPECT_THAT(ChooseDictionaries(*arrow::RecordBatch::Make(arrow::schema(fields), 5000, columns)),
              testing::ElementsAre(true, false, false, true, false));
}

}  // namespace
}  // namespace headrace
