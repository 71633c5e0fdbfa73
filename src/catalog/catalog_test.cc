#include "catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/schema_log.h"
#include "catalog/test_tables.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Must;

class CatalogOfMemory : public ::testing::Test {
 protected:
  NewTable Customers() {
    NewTable table;
    table.fields = Must(ParseColumns("id BIGINT, name STRING"));
    table.primary_keys = {"id"};
    table.options = {{"bucket", "4"}};
    return table;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(1'000);
  Catalog catalog_{store_, clock_, "/w/"};
};

TEST(TableNames, ThoseThatCouldLeaveTheWarehouseOrConfusePathsAreRefused) {
  for (const std::string name :
       {"", "db", "db.", ".t", "a.b.c", "db./etc", "db...", "../x.t", "db.a/b", "db.a\\b", "db. t", "db.t ",
        "db.t\n", "db.\x01", "db.a:b", "db.t$snapshots", "sys.t", "db.\xff\xfe"}) {
    EXPECT_TRUE(IsKind(ParseTableIdentifier(name).status(), ErrorKind::kInvalid)) << "'" << name << "'";
  }
  EXPECT_TRUE(IsKind(ParseTableIdentifier("db." + std::string(201, 'x')).status(), ErrorKind::kInvalid));
  EXPECT_TRUE(IsKind(ParseTableIdentifier(std::string("db.a\0b", 6)).status(), ErrorKind::kInvalid));
}

TEST(TableNames, OrdinaryOnesAreTaken) {
  for (const std::string name : {"db.t", "Db_1.orders-2024", "été.größe", "a b.c d", "db.t%20"}) {
    const auto parsed = ParseTableIdentifier(name);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->ToString(), name);
  }
}

TEST_F(CatalogOfMemory, ATableMadeIsListedAndOpensWithItsSchema) {
  const Table table = Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  EXPECT_EQ(table.path, "/w/shop.db/customers");
  EXPECT_EQ(table.schema->id, SchemaId(0));
  EXPECT_EQ(table.schema->time_millis, 1'000);
  EXPECT_FALSE(table.schema->fields[0].type.nullable);
  EXPECT_EQ(table.options.bucket, 4);
  EXPECT_THAT(*catalog_.ListDatabases(), ElementsAre("shop"));
  EXPECT_THAT(*catalog_.ListTables("shop"), ElementsAre("customers"));
  EXPECT_EQ(*Must(catalog_.OpenTable({"shop", "customers"}, Access::kRead)).schema, *table.schema);
}

TEST_F(CatalogOfMemory, ATableIsMadeOnce) {
  Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  EXPECT_TRUE(
      IsKind(catalog_.CreateTable({"shop", "customers"}, Customers()).status(), ErrorKind::kAlreadyExists));
}

TEST_F(CatalogOfMemory, AnEmptyDatabaseExistsUntilItIsDropped) {
  ASSERT_TRUE(catalog_.CreateDatabase("empty").ok());
  EXPECT_TRUE(IsKind(catalog_.CreateDatabase("empty"), ErrorKind::kAlreadyExists));
  EXPECT_THAT(*catalog_.ListDatabases(), ElementsAre("empty"));
  EXPECT_THAT(*catalog_.ListTables("empty"), ElementsAre());
  ASSERT_TRUE(catalog_.DropDatabase("empty", false).ok());
  EXPECT_TRUE(IsKind(catalog_.ListTables("empty").status(), ErrorKind::kNotFound));
}

TEST_F(CatalogOfMemory, ADatabaseWithTablesIsDroppedOnlyWhenAskedToCascade) {
  Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  const Status refused = catalog_.DropDatabase("shop", false);
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
  EXPECT_THAT(refused.message(), HasSubstr("customers"));
  ASSERT_TRUE(catalog_.DropDatabase("shop", true).ok());
  EXPECT_THAT(*catalog_.ListDatabases(), ElementsAre());
}

TEST_F(CatalogOfMemory, ADroppedTableIsGoneAndMayBeMadeAnew) {
  Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  ASSERT_TRUE(catalog_.DropTable({"shop", "customers"}).ok());
  EXPECT_TRUE(
      IsKind(catalog_.OpenTable({"shop", "customers"}, Access::kRead).status(), ErrorKind::kNotFound));
  EXPECT_TRUE(IsKind(catalog_.DropTable({"shop", "customers"}), ErrorKind::kNotFound));
  EXPECT_TRUE(catalog_.CreateTable({"shop", "customers"}, Customers()).ok());
}

TEST_F(CatalogOfMemory, ARenamedTableKeepsItsFiles) {
  Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  ASSERT_TRUE(catalog_.CreateDatabase("archive").ok());
  EXPECT_TRUE(IsKind(catalog_.RenameTable({"shop", "customers"}, {"nowhere", "c"}), ErrorKind::kNotFound));
  ASSERT_TRUE(catalog_.RenameTable({"shop", "customers"}, {"archive", "c"}).ok());
  EXPECT_THAT(*catalog_.ListTables("shop"), ElementsAre());
  EXPECT_THAT(*catalog_.ListTables("archive"), ElementsAre("c"));
  Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  EXPECT_TRUE(
      IsKind(catalog_.RenameTable({"shop", "customers"}, {"archive", "c"}), ErrorKind::kAlreadyExists));
}

TEST_F(CatalogOfMemory, AFolderWithSnapshotsButNoSchemaIsNotTakenForANewTable) {
  ASSERT_TRUE(store_->Replace("/w/shop.db/customers/snapshot/snapshot-1", "{}").ok());
  const Status refused = catalog_.CreateTable({"shop", "customers"}, Customers()).status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid));
  EXPECT_THAT(refused.message(), HasSubstr("/w/shop.db/customers"));
}

TEST_F(CatalogOfMemory, AnOptionThatCannotBeWrittenYetIsRefusedByName) {
  NewTable table = Customers();
  table.options["file.format"] = "orc";
  const Status refused = catalog_.CreateTable({"shop", "customers"}, table).status();
  EXPECT_TRUE(IsKind(refused, ErrorKind::kUnsupported)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("file.format"));
  EXPECT_TRUE(
      IsKind(catalog_.OpenTable({"shop", "customers"}, Access::kRead).status(), ErrorKind::kNotFound));
}

TEST_F(CatalogOfMemory, TwoMakersOfOneTableHaveOneWinner) {
  // The loser's check for existence comes before the winner's publish.
  const TableSchema schema = Must(MakeTableSchema(Customers(), 1));
  ASSERT_TRUE(PublishFirstSchema(store_.get(), "/w/shop.db/customers", schema).ok());
  EXPECT_TRUE(
      IsKind(PublishFirstSchema(store_.get(), "/w/shop.db/customers", schema), ErrorKind::kAlreadyExists));
}

TEST_F(CatalogOfMemory, FilesAreFoundInTheFolderOfTheirPartitionAndBucket) {
  NewTable orders;
  orders.fields = Must(ParseColumns("region STRING, id BIGINT, v INT"));
  orders.primary_keys = {"region", "id"};
  orders.partition_keys = {"region"};
  orders.options = {{"bucket", "2"}};
  const Table table = Must(catalog_.CreateTable({"shop", "orders"}, orders));
  const std::vector<DataType> types = table.schema->TypesOf({"region"});
  const BinaryRow partition = Must(EncodeBinaryRow(std::vector<Value>{std::string("a=b")}, types));
  EXPECT_EQ(Must(table.BucketDirectory(partition, BucketId(1))), "/w/shop.db/orders/region=a%3Db/bucket-1");
  ManifestEntry entry;
  entry.partition = partition;
  entry.bucket = BucketId(1);
  entry.file.name = "data-1.parquet";
  EXPECT_EQ(Must(table.PathOf(entry)), "/w/shop.db/orders/region=a%3Db/bucket-1/data-1.parquet");
  EXPECT_EQ(table.Describe(partition, BucketId(1)), "partition region=a%3Db, bucket 1");
}

TEST_F(CatalogOfMemory, OptionsChangeByAnotherSchemaThatKeepsEverythingElse) {
  NewTable fresh = Customers();
  fresh.options["some.engine.hint"] = "kept";
  const Table table = Must(catalog_.CreateTable({"shop", "customers"}, fresh));
  clock_->Advance(5);
  const TableSchema altered = Must(AlterSchema(table, {SetOption{"num-sorted-run.compaction-trigger", "9"}}));
  EXPECT_EQ(altered.id, SchemaId(1));
  EXPECT_EQ(altered.time_millis, 1'005);
  EXPECT_EQ(altered.fields, table.schema->fields);
  EXPECT_EQ(altered.options.at("some.engine.hint"), "kept");
  const Table again = Must(catalog_.OpenTable({"shop", "customers"}, Access::kWrite));
  EXPECT_EQ(again.options.compaction_trigger, 9);
  EXPECT_THAT(again.unknown_options, ElementsAre("some.engine.hint"));
  EXPECT_EQ(*Must(again.schema_by_id(SchemaId(0))), *table.schema);
  // Nothing to change, nothing published.
  EXPECT_EQ(Must(AlterSchema(table, {UnsetOption{"not-there"}})).id, SchemaId(1));
  EXPECT_EQ(*Must(FindLatestSchemaId(store_.get(), table.path)), SchemaId(1));
}

TEST_F(CatalogOfMemory, OptionsThatFixWhereDataLiesChangeOnlyBeforeTheFirstSnapshot) {
  const Table table = Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  Must(AlterSchema(table, {SetOption{"bucket-key", "id"}}));
  ASSERT_TRUE(store_->Replace(table.path + "/snapshot/snapshot-1", "{}").ok());
  for (const auto& [key, value] : std::map<std::string, std::string>{{"bucket-key", "name"},
                                                                     {"merge-engine", "first-row"},
                                                                     {"bucket", "-1"},
                                                                     {"deletion-vectors.enabled", "true"}}) {
    const Status refused = AlterSchema(table, {SetOption{key, value}}).status();
    EXPECT_TRUE(IsKind(refused, ErrorKind::kInvalid)) << key << ": " << refused;
    EXPECT_THAT(refused.message(), HasSubstr(key));
  }
  EXPECT_TRUE(AlterBuckets(table, 8).ok());
  const Status alone = AlterSchema(table, {SetOption{"bucket", "4"}}).status();
  EXPECT_TRUE(IsKind(alone, ErrorKind::kInvalid));
  EXPECT_THAT(alone.message(), HasSubstr("headrace rescale TABLE --buckets 4"));
}

TEST_F(CatalogOfMemory, AMissingSchemaVersionIsNotFoundAndAMislabelledOneIsCorruption) {
  const Table table = Must(catalog_.CreateTable({"shop", "customers"}, Customers()));
  EXPECT_TRUE(IsKind(table.schema_by_id(SchemaId(3)).status(), ErrorKind::kNotFound));
  ASSERT_TRUE(store_->Replace(table.path + "/schema/schema-3", SerializeTableSchema(*table.schema)).ok());
  const Status wrong = table.schema_by_id(SchemaId(3)).status();
  EXPECT_TRUE(IsKind(wrong, ErrorKind::kCorruption));
  EXPECT_THAT(wrong.message(), HasSubstr("schema-3"));
}

}  // namespace
}  // namespace headrace
