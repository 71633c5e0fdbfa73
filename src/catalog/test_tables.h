// Tables for tests: new ones in a memory store, and the fixtures that Java wrote.
//
// Included by tests alone. A failure to make one ends the test program with its message.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "io/memory_store.h"

namespace headrace::testing {

template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) result.status().Abort();
  return std::move(result).ValueUnsafe();
}

struct TestTable {
  std::shared_ptr<Store> store;
  std::shared_ptr<ManualClock> clock;
  Table table;
};

// <warehouse>/db.db/t in `store` (a new memory store by default), columns and keys as in ParseColumns.
inline TestTable MakeTestTable(const std::string& columns, std::vector<std::string> primary_keys,
                               std::map<std::string, std::string> options,
                               std::vector<std::string> partition_keys = {},
                               std::shared_ptr<Store> store = nullptr, const std::string& warehouse = "/w") {
  TestTable made;
  made.store = store == nullptr ? std::make_shared<MemoryStore>() : std::move(store);
  made.clock = std::make_shared<ManualClock>(1'700'000'000'000);
  NewTable table;
  table.fields = Must(ParseColumns(columns));
  table.primary_keys = std::move(primary_keys);
  table.partition_keys = std::move(partition_keys);
  table.options = std::move(options);
  made.table = Must(Catalog(made.store, made.clock, warehouse).CreateTable({"db", "t"}, std::move(table)));
  return made;
}

// The table again, with the same options, as another process would see it through `store`.
inline Table Reopened(const Table& table, std::shared_ptr<Store> store) {
  return Must(OpenTableAt(std::move(store), table.clock, table.path, table.name, Access::kWrite));
}

}  // namespace headrace::testing
