#include "io/anchored_store.h"

#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/memory_store.h"

namespace headrace {
namespace {

TEST(AnchoredStore, MakesNothingOnceItsAnchorIsGone) {
  const auto below = std::make_shared<MemoryStore>();
  ASSERT_TRUE(below->Replace("/t/schema/schema-0", "{}").ok());
  const auto store = Anchored(below, "/t/schema", "table db.t");
  ASSERT_TRUE(store->Replace("/t/hint", "1").ok());
  ASSERT_TRUE(store->PublishIfAbsent("/t/snapshot/snapshot-1", "{}").ok());
  ASSERT_TRUE((*store->OpenForWrite("/t/bucket-0/data-0"))->Close().ok());

  ASSERT_TRUE(below->DeleteRecursively("/t").ok());
  for (const Status& refused :
       {store->Replace("/t/hint", "2"), store->PublishIfAbsent("/t/snapshot/snapshot-2", "{}").status(),
        store->OpenForWrite("/t/bucket-0/data-1").status()}) {
    EXPECT_TRUE(IsKind(refused, ErrorKind::kNotFound)) << refused;
    EXPECT_THAT(refused.message(), testing::HasSubstr("table db.t has been dropped"));
  }
  EXPECT_EQ(*below->Stat("/t"), std::nullopt);
  EXPECT_TRUE(store->Delete("/t/hint").ok());
}

}  // namespace
}  // namespace headrace
