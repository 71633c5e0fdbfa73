// The rows that Java wrote into a fixture, written again by Headrace: the same snapshots, and trees of the same shape.
//
// Kinds, identifiers, record counts and the rows and sequence numbers on each level of each bucket must be equal after every commit. It
// shows that sequence numbers, flushes, the choice of compactions and their timing are Java's. Files are of slightly other sizes, so of tables
// whose choices hang on sizes close to a bound the rows alone are held against Java's, after every commit.
//
// Not in the lists, exactly: partial-update/groups_remove, since 1.3.1 loses the sequence of a delete that it merges in its buffer, and the row
// comes back (2.x keeps it, as we do); of aggregation/* the columns hll and theta, which are refused, and listagg_distinct, whose `distinct`
// 1.3.1 does not heed.
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/json_lines.h"
#include "file/physical_columns.h"
#include "io/local_store.h"
#include "read/scan.h"
#include "write/session.h"

namespace headrace {
namespace {

using testing::Must;
namespace fs = std::filesystem;

struct InputRow {
  int64_t commit = 0;
  int8_t kind = 0;
  arrow::ArrayVector values;  // of one row each
};

int8_t KindOf(const std::string& name) {
  for (const int8_t kind : {0, 1, 2, 3})
    if (ShortName(static_cast<RowKind>(kind)) == name) return kind;
  ADD_FAILURE() << "row kind " << name;
  return 0;
}

std::shared_ptr<arrow::Array> ValueOf(const nlohmann::json& json, const DataType& type) {
  if (type.is_nested())
    return Must(arrow::json::ArrayFromJSONString(ToArrowType(type), "[" + json.dump() + "]"));
  const Value value =
      json.is_null() ? Value{}
                     : Must(ValueFromText(json.is_string() ? json.get<std::string>() : json.dump(), type));
  return Must(ArrayOf(value, type, 1, arrow::default_memory_pool()));
}

std::vector<InputRow> ReadInput(const fs::path& file, const TableSchema& schema) {
  std::vector<InputRow> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json json = Must(ParseJson(line, file.string()));
    InputRow row{json["_commit"].get<int64_t>(), KindOf(json["_rowkind"].get<std::string>()), {}};
    for (const DataField& field : schema.fields)
      row.values.push_back(ValueOf(json.value(field.name, nlohmann::json()), field.type));
    rows.push_back(std::move(row));
  }
  return rows;
}

Status WriteAll(WriteSession* session, const Table& table, const std::vector<InputRow>& rows) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (size_t i = 0; i < table.schema->fields.size(); ++i) {
    arrow::ArrayVector cells;
    for (const InputRow& row : rows) cells.push_back(row.values[i]);
    columns.push_back(Must(arrow::Concatenate(cells)));
  }
  arrow::Int8Builder kinds;
  for (const InputRow& row : rows) HEADRACE_RETURN_NOT_OK(kinds.Append(row.kind));
  HEADRACE_ASSIGN_OR_RETURN(const auto kind_array, kinds.Finish());
  return session->Write(arrow::RecordBatch::Make(ToArrowSchema(table.schema->fields),
                                                 static_cast<int64_t>(rows.size()), columns),
                        kind_array);
}

std::string Describe(const Snapshot& snapshot) {
  return std::string(NameOf(snapshot.commit_kind)) + " " + std::to_string(snapshot.commit_identifier) +
         ": total " + std::to_string(snapshot.total_record_count.value_or(-1)) + ", delta " +
         std::to_string(snapshot.delta_record_count.value_or(-1)) + ", changelog " +
         std::to_string(snapshot.changelog_record_count.value_or(0));
}

// "bucket 0 L0: 10 rows, 2 deletes, sequence 20-29", a line for each level of each bucket that has files.
std::vector<std::string> Shape(const Table& table, const Snapshot& snapshot) {
  struct LevelSum {
    int64_t rows = 0, deletes = 0, first = INT64_MAX, last = -1;
    std::set<FileSource> sources;
  };
  std::map<std::tuple<std::string, int32_t, int32_t>, LevelSum> levels;
  for (const ManifestEntry& entry : Must(LiveFiles(table, snapshot))) {
    LevelSum& sum =
        levels[{Must(table.BucketDirectory(entry.partition, entry.bucket)).substr(table.path.size()),
                entry.total_buckets, entry.file.level.value}];
    sum.rows += entry.file.row_count;
    sum.deletes += entry.file.delete_row_count.value_or(-1);
    sum.first = std::min(sum.first, entry.file.min_sequence);
    sum.last = std::max(sum.last, entry.file.max_sequence);
    if (entry.file.source) sum.sources.insert(*entry.file.source);
  }
  std::vector<std::string> lines;
  for (const auto& [key, sum] : levels) {
    std::string sources;
    for (const FileSource source : sum.sources)
      sources += source == FileSource::kAppend ? " appended" : " compacted";
    lines.push_back(std::get<0>(key) + " of " + std::to_string(std::get<1>(key)) + " L" +
                    std::to_string(std::get<2>(key)) + ": " + std::to_string(sum.rows) + " rows, " +
                    std::to_string(sum.deletes) + " deletes, sequence " + std::to_string(sum.first) + "-" +
                    std::to_string(sum.last) + sources);
  }
  return lines;
}

// Functions that are not built have no column in our table, nor has listagg with distinct, which 1.3.1 does not heed.
NewTable WithoutSketches(const TableSchema& schema) {
  NewTable table{{}, schema.primary_keys, schema.partition_keys, schema.options, {}};
  for (const DataField& field : schema.fields) {
    const auto function = schema.options.find("fields." + field.name + ".aggregate-function");
    const bool distinct = schema.options.contains("fields." + field.name + ".distinct");
    if (function == schema.options.end() ||
        !(function->second.ends_with("_sketch") || (function->second == "listagg" && distinct))) {
      table.fields.push_back(field);
      continue;
    }
    std::erase_if(table.options,
                  [&](const auto& option) { return option.first.starts_with("fields." + field.name + "."); });
  }
  return table;
}

// The rows of a snapshot as lines, sorted; arrays too, whose order Java leaves to hash tables.
std::vector<std::string> RowsOf(const Table& table, const Snapshot& snapshot,
                                const std::vector<DataField>& fields) {
  std::vector<std::string> columns;
  for (const DataField& field : fields) columns.push_back(field.name);
  const auto reader = Must(OpenScan(table, snapshot, {.columns = columns}));
  std::string text;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    EXPECT_TRUE(reader->ReadNext(&batch).ok());
    if (batch == nullptr) break;
    EXPECT_TRUE(JsonLines(fields).Append(*batch, &text).ok());
  }
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    for (auto& value : row) {
      if (value.is_array()) std::sort(value.begin(), value.end());
    }
    lines.push_back(row.dump());
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

using Commits = std::map<int64_t, std::vector<InputRow>>;

class Replay : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    const std::string fixture = name.substr(0, name.find('/')), table = name.substr(name.find('/') + 1);
    const fs::path folder = fs::path(HEADRACE_FIXTURES) / fixture;
    const auto clock = std::make_shared<ManualClock>(1);
    javas_ = Must(OpenTableAt(std::make_shared<LocalStore>(), clock,
                              (folder / "warehouse/peer.db" / table).string(), name, Access::kRead));
    Catalog catalog(std::make_shared<MemoryStore>(), clock, "/w");
    NewTable ours = WithoutSketches(*javas_.schema);
    // Which files a compaction takes hangs on their sizes: integers are written as Java writes them.
    ours.options["headrace.parquet.integer-encoding"] = "plain";
    ours_ = Must(catalog.CreateTable({"db", "t"}, std::move(ours)));
    for (InputRow& row : ReadInput(folder / "input" / (table + ".jsonl"), *ours_.schema))
      commits_[row.commit].push_back(std::move(row));
  }

  void WriteEach(const std::set<int64_t>& compacted = {},
                 const std::function<void(int64_t identifier)>& committed = {}) {
    MemoryBudget budget(256 << 20);
    const auto session = Must(WriteSession::Open(
        ours_, {.commit_user = "u", .budget = &budget, .compactors = nullptr, .pool = nullptr}));
    for (const auto& [identifier, rows] : commits_) {
      ASSERT_TRUE(WriteAll(session.get(), ours_, rows).ok());
      if (compacted.contains(identifier)) {
        ASSERT_TRUE(session->Compact(/*full=*/true).ok());
      }
      Must(session->Commit(Must(session->PrepareCommit(identifier, /*wait_for_compaction=*/true))));
      if (committed) committed(identifier);
    }
  }

  // Those that Java's one writer made of the input.
  std::vector<Snapshot> JavasSnapshots() const {
    std::vector<Snapshot> snapshots;
    for (const SnapshotId id : Must(ListSnapshotIds(javas_))) {
      Snapshot snapshot = Must(ReadSnapshot(javas_, id));
      if (!commits_.contains(snapshot.commit_identifier) ||
          (!snapshots.empty() && snapshot.commit_user != snapshots.front().commit_user))
        break;
      snapshots.push_back(std::move(snapshot));
    }
    return snapshots;
  }

  Table javas_, ours_;
  Commits commits_;
};

std::string NameOfTable(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

// Where Java's choice of compactions hangs on the sizes of its files: rows alone, and compactions with the commits that Java compacted, since a
// late row's fate hangs on whether a delete has been dropped.
class ReplayedRows : public Replay {};

TEST_P(ReplayedRows, AreThoseOfJavaAfterEachCommit) {
  std::map<int64_t, Snapshot> last;
  std::set<int64_t> compacted;
  for (const Snapshot& snapshot : JavasSnapshots()) {
    last[snapshot.commit_identifier] = snapshot;
    if (snapshot.commit_kind == CommitKind::kCompact) compacted.insert(snapshot.commit_identifier);
  }
  EXPECT_FALSE(last.empty());
  WriteEach(compacted, [&](int64_t identifier) {
    SCOPED_TRACE("commit " + std::to_string(identifier));
    if (!last.contains(identifier)) return;
    EXPECT_EQ(RowsOf(ours_, *Must(ReadLatestSnapshot(ours_)), ours_.schema->fields),
              RowsOf(javas_, last.at(identifier), ours_.schema->fields));
  });
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ReplayedRows,
                         ::testing::Values("aggregation/agg_inserts", "partial-update/nulls",
                                           "dedup-sequence/two_fields", "keys-mod/m_int",
                                           "keys-mod/m_bigint"),
                         NameOfTable);

TEST_P(Replay, MakesTheSnapshotsThatJavaMade) {
  const Table &javas = javas_, &ours = ours_;
  WriteEach();
  for (const Snapshot& expected : JavasSnapshots()) {
    const SnapshotId id = expected.id;
    SCOPED_TRACE("snapshot " + std::to_string(id.value));
    const auto made = FindSnapshot(ours, id);
    ASSERT_TRUE(made.ok() && made->has_value());
    EXPECT_EQ(Describe(**made), Describe(expected));
    ASSERT_EQ(Shape(ours, **made), Shape(javas, expected));
    const std::vector<DataField>& fields = ours.schema->fields;
    ASSERT_EQ(RowsOf(ours, **made, fields), RowsOf(javas, expected, fields));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, Replay,
    ::testing::Values(
        "lsm-partial/t", "lsm-many-runs/t", "customer-8821-input/customers", "customer-8821-none/customers",
        "append-bucketed/t", "append-unaware/t", "bucket-dynamic/flat", "bucket-dynamic-cross-partition/t",
        "partitioned/three_levels", "manifests/merging", "manifests/zstd", "dedup-sequence/ascending",
        "dedup-sequence/ascending_unmerged", "dedup-sequence/ignore_delete", "compress-zstd/t_parquet",
        "first-row/first_unmerged", "partial-update/nulls_unmerged", "partial-update/nulls_ignore_delete",
        "partial-update/nulls_remove_record", "partial-update/groups", "partial-update/groups_unmerged",
        "partial-update/groups_two_fields", "partial-update/groups_aggregate",
        "partial-update/groups_aggregate_unmerged", "partial-update/groups_default_aggregate",
        "partial-update/sequence", "aggregation/agg_inserts_unmerged", "aggregation/agg_retract",
        "aggregation/agg_retract_unmerged", "dedup-sequence/two_fields_unmerged"),
    NameOfTable);

}  // namespace
}  // namespace headrace
