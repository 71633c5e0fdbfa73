// What we write, read by pyarrow: another reader's view of values, nullability and statistics. Skipped where Arrow did not come
// from a pyarrow wheel.
#include <cstdio>
#include <filesystem>
#include <random>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "file/data_file_writer.h"
#include "file/json_lines.h"
#include "file/random_rows.h"
#include "io/local_store.h"

namespace headrace {
namespace {

// Prints the rows as JSON lines of the types that both sides print alike.
constexpr char kScript[] = R"(
import json, sys, pyarrow.parquet as pq
file = pq.ParquetFile(sys.argv[1])
for batch in file.iter_batches():
    for row in batch.to_pylist():
        out = {}
        for key, value in row.items():
            kind = type(value).__name__
            if kind == 'Decimal': value = format(value, 'f')
            elif kind == 'bytes': value = value.hex()
            elif kind == 'date': value = value.isoformat()
            elif kind == 'datetime': value = value.replace(tzinfo=None).isoformat(timespec='microseconds')
            out[key] = value
        print(json.dumps(out, ensure_ascii=False, separators=(',', ':')))
)";

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot run " + command;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, got);
  pclose(pipe);
  return output;
}

TEST(Pyarrow, ReadsTheRowsThatWeWrote) {
  const std::string python = HEADRACE_PYTHON;
  if (python.empty() || OutputOf("'" + python + "' -c 'import pyarrow.parquet; print(1)' 2>&1") != "1\n") {
    GTEST_SKIP() << "no Python with pyarrow";
  }
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto schema = std::make_shared<TableSchema>();
  schema->fields =
      ParseColumns(
          "id BIGINT NOT NULL, b BOOLEAN, t TINYINT, s SMALLINT, i INT, d9 DECIMAL(9, 2), d18 DECIMAL(18, "
          "4), "
          "d20 DECIMAL(20, 3), d38 DECIMAL(38, 18), str STRING, by BYTES, dt DATE, ts TIMESTAMP(6), "
          "z TIMESTAMP_LTZ(6), a ARRAY<INT>, r ROW<x INT, y ROW<z STRING>>")
          .ValueOrDie();
  RandomRows rows(seed);
  const auto batch = rows.Batch(schema->fields, 500).ValueOrDie();
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("headrace-pyarrow-" + std::to_string(seed))).string();
  LocalStore store({.sync = false});
  TableOptions options;
  options.target_file_bytes = 128 << 20;
  FileNames names("p", options);
  SystemClock clock;
  FileWriteSpec spec{.store = &store,
                     .directory = folder,
                     .schema = schema,
                     .options = &options,
                     .names = &names,
                     .clock = &clock};
  auto writer = OpenRowWriter(spec, 0).ValueOrDie();
  ASSERT_TRUE(writer->Write(*batch).ok());
  const auto files = writer->Close().ValueOrDie();
  ASSERT_TRUE(store.Replace(folder + "/read.py", kScript).ok());
  std::string expected;
  ASSERT_TRUE(JsonLines(schema->fields).Append(*batch, &expected).ok());
  // Python prints no final Z and no control characters other than ours.
  for (size_t at; (at = expected.find("Z\",\"a\"")) != std::string::npos;) expected.erase(at, 1);
  const std::string output =
      OutputOf("'" + python + "' " + folder + "/read.py " + folder + "/" + files[0].name + " 2>&1");
  EXPECT_EQ(output, expected);
  EXPECT_TRUE(store.DeleteRecursively(folder).ok());
}

}  // namespace
}  // namespace headrace
