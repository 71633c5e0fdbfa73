// Any bytes as a statement of MySQL: it is read or not, and ends either way.
#include <string_view>

#include "ingest/mysql_ddl.h"
#include "ingest/mysql_types.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::ingest;
  const Ddl ddl = ParseMysqlDdl({reinterpret_cast<const char*>(data), size});
  for (const DdlColumnChange& change : ddl.columns) TypeOfMysql(change.type);
  return 0;
}
