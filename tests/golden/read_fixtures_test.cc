// Every table written by Java Paimon is read to the rows and changes that Java reads from it, or refused by the option's name.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "catalog/snapshots.h"
#include "file/json_lines.h"
#include "file/physical_columns.h"
#include "fixture_list.h"
#include "io/local_store.h"
#include "read/changes.h"
#include "read/scan.h"
#include "read/table_lookup.h"

namespace headrace {
namespace {

using Lines = std::vector<std::string>;

Lines Sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Where long lists differ, without printing them whole.
testing::AssertionResult SameLines(const Lines& got, const Lines& expected) {
  const auto [at, want] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  if (at == got.end() && want == expected.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "line " << (at - got.begin()) << " of " << got.size() << " (expected "
                                     << expected.size() << " lines)\n     got "
                                     << (at == got.end() ? "the end" : *at) << "\n  wanted "
                                     << (want == expected.end() ? "the end" : *want);
}

Result<Table> Open(const FixtureTable& fixture) {
  return OpenTableAt(std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), fixture.path(),
                     "peer." + fixture.table, Access::kRead);
}

Result<Lines> Drain(arrow::RecordBatchReader* reader, const JsonLines& json) {
  std::string text;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    HEADRACE_RETURN_NOT_OK(batch->ValidateFull());
    HEADRACE_RETURN_NOT_OK(json.Append(*batch, &text));
  }
  Lines lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The columns to read, and their lines in the form in which they are compared.
struct Look {
  std::vector<std::string> columns;
  std::vector<DataField> fields;
  const FixtureTable* fixture = nullptr;

  Look(const Table& table, const FixtureTable& of) : fixture(&of) {
    for (const DataField& field : table.schema->fields) {
      if (std::count(of.without.begin(), of.without.end(), field.name) > 0) continue;
      columns.push_back(field.name);
      fields.push_back(field);
    }
  }

  Lines Compared(Lines lines) const {
    if (fixture->without.empty() && fixture->unordered.empty()) return lines;
    for (std::string& line : lines) {
      nlohmann::ordered_json row = nlohmann::ordered_json::parse(line);
      for (const std::string& name : fixture->without) row.erase(name);
      for (const std::string& name : fixture->unordered) {
        if (row.at(name).is_array()) std::sort(row[name].begin(), row[name].end());
      }
      line = row.dump();
    }
    return lines;
  }
};

Result<Lines> Scan(const Table& table, const Snapshot& snapshot, const Look& look, bool key_ordered = false,
                   int64_t batch_rows = 32768) {
  HEADRACE_ASSIGN_OR_RETURN(
      const auto reader,
      OpenScan(table, snapshot,
               {.columns = look.columns, .key_ordered = key_ordered, .batch_rows = batch_rows}));
  HEADRACE_ASSIGN_OR_RETURN(Lines lines, Drain(reader.get(), JsonLines(look.fields)));
  return look.Compared(std::move(lines));
}

// Batches of any size and order give the same rows.
void CheckScan(const Table& table, const Snapshot& snapshot, const Look& look, Lines expected) {
  expected = Sorted(look.Compared(std::move(expected)));
  for (const int64_t batch_rows : {32768, 3}) {
    for (const bool key_ordered : {false, true}) {
      const Result<Lines> lines = Scan(table, snapshot, look, key_ordered, batch_rows);
      ASSERT_TRUE(lines.ok()) << lines.status();
      EXPECT_TRUE(SameLines(Sorted(*lines), expected))
          << "snapshot " << snapshot.id << ", batches of " << batch_rows;
    }
  }
}

// `{"_partition":{…},"_bucket":N,` before the columns.
int BucketOf(const std::string& line, std::string* row) {
  const size_t at = line.find("\"_bucket\":") + 10;
  int bucket = 0;
  std::from_chars(line.data() + at, line.data() + line.size(), bucket);
  *row = "{" + line.substr(line.find(',', at) + 1);
  return bucket;
}

// Rows of each bucket, in the reader's order where `in_order`.
void CheckBuckets(const Table& table, const Snapshot& snapshot, const Lines& expected, bool in_order) {
  std::map<int, Lines> wanted;
  for (const std::string& line : expected) {
    std::string row;
    const int bucket = BucketOf(line, &row);
    wanted[bucket].push_back(row);
  }
  auto splits = PlanScan(table, snapshot);
  ASSERT_TRUE(splits.ok()) << splits.status();
  std::map<int, Lines> got;
  for (const Split& split : *splits) {
    auto reader = OpenSplit(table, split, {.key_ordered = true});
    ASSERT_TRUE(reader.ok()) << reader.status();
    auto lines = Drain(reader->get(), JsonLines(table.schema->fields));
    ASSERT_TRUE(lines.ok()) << lines.status();
    std::move(lines->begin(), lines->end(), std::back_inserter(got[split.bucket.value]));
  }
  std::erase_if(got, [](const auto& bucket) { return bucket.second.empty(); });
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [bucket, lines] : wanted) {
    EXPECT_TRUE(in_order ? SameLines(got[bucket], lines) : SameLines(Sorted(got[bucket]), Sorted(lines)))
        << "bucket " << bucket;
  }
}

// `{"_rowkind":"+I","_snapshot":N,` before the columns.
int64_t SnapshotOf(const std::string& line) {
  const size_t at = line.find("\"_snapshot\":") + 12;
  int64_t id = 0;
  std::from_chars(line.data() + at, line.data() + line.size(), id);
  return id;
}

Result<Lines> ChangeLines(const SnapshotChanges& changes, const Table& table) {
  Lines lines;
  if (changes.rows == nullptr) return lines;
  const JsonLines json(table.schema->fields);
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    HEADRACE_RETURN_NOT_OK(changes.rows->ReadNext(&batch));
    if (batch == nullptr) return lines;
    const int last = batch->num_columns() - 1;
    const auto& kinds = static_cast<const arrow::Int8Array&>(*batch->column(last));
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      HEADRACE_ASSIGN_OR_RETURN(const auto columns, batch->Slice(row, 1)->RemoveColumn(last));
      std::string text;
      HEADRACE_RETURN_NOT_OK(json.Append(*columns, &text));
      text.pop_back();
      lines.push_back("{\"_rowkind\":\"" + std::string(ShortName(static_cast<RowKind>(kinds.Value(row)))) +
                      "\",\"_snapshot\":" + std::to_string(changes.snapshot.id.value) + "," + text.substr(1));
    }
  }
}

// Order counts among rows of one bucket and snapshot: with one bucket all of it, else what a sorted list can tell.
void CheckChanges(const Table& table, int64_t from, const Lines& expected) {
  std::map<int64_t, Lines> wanted;
  for (const std::string& line : expected) wanted[SnapshotOf(line)].push_back(line);
  auto stream = ChangeStream::Open(table, {.from = SnapshotId(from)});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::map<int64_t, Lines> got;
  while (true) {
    auto changes = (*stream)->Next();
    ASSERT_TRUE(changes.ok()) << changes.status();
    if (!changes->has_value()) break;
    auto lines = ChangeLines(**changes, table);
    ASSERT_TRUE(lines.ok()) << lines.status();
    if (!lines->empty()) got[(*changes)->snapshot.id.value] = *lines;
  }
  const bool in_order = table.options.bucket == 1 && table.schema->partition_keys.empty();
  for (const auto& [id, lines] : wanted) {
    EXPECT_TRUE(in_order ? SameLines(got[id], lines) : SameLines(Sorted(got[id]), Sorted(lines)))
        << "changes of snapshot " << id;
    got.erase(id);
  }
  for (const auto& [id, lines] : got)
    EXPECT_TRUE(lines.empty()) << "snapshot " << id << " has changes that Java does not show";
}

// Each row of the newest scan is found by its key.
void CheckPointGets(const Table& table, const Snapshot& snapshot, const Look& look) {
  auto reader = OpenScan(table, snapshot, {.columns = look.columns});
  ASSERT_TRUE(reader.ok()) << reader.status();
  const std::vector<DataField> keys = table.schema->FieldsOf(table.schema->primary_keys);
  const JsonLines json(look.fields);
  int asked = 0;
  while (asked < 20) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ASSERT_TRUE((*reader)->ReadNext(&batch).ok());
    if (batch == nullptr) return;
    for (int64_t row = 0; row < batch->num_rows() && asked < 20; row += 1 + batch->num_rows() / 7, ++asked) {
      std::vector<Value> key;
      for (const DataField& field : keys)
        key.push_back(*ValueAt(*batch->GetColumnByName(field.name), row, field.type));
      const auto found = FindByKey(table, snapshot, key, {.columns = look.columns});
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_NE(*found, nullptr);
      std::string got, wanted;
      ASSERT_TRUE(json.Append(**found, &got).ok());
      ASSERT_TRUE(json.Append(*batch->Slice(row, 1), &wanted).ok());
      EXPECT_EQ(got, wanted);
    }
  }
}

std::vector<std::string> LinesOf(const JsonLines& json, const arrow::RecordBatch& batch) {
  std::vector<std::string> lines;
  for (int64_t row = 0; row < batch.num_rows(); ++row)
    EXPECT_TRUE(json.Append(*batch.Slice(row, 1), &lines.emplace_back()).ok());
  return lines;
}

// Every row of the scan is found by its key, many keys at once and through a cache that holds but a part.
void ExpectLookups(const Table& table, const Snapshot& snapshot, const Look& look) {
  LookupCache cache(100'000);
  auto lookup = TableLookup::Open(table, snapshot, look.columns, &cache);
  ASSERT_TRUE(lookup.ok()) << lookup.status();
  auto reader = OpenScan(table, snapshot, {.columns = look.columns});
  ASSERT_TRUE(reader.ok()) << reader.status();
  const JsonLines json(look.fields);
  for (int batches = 0; batches < 4; ++batches) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ASSERT_TRUE((*reader)->ReadNext(&batch).ok());
    if (batch == nullptr) return;
    std::vector<std::shared_ptr<arrow::Array>> keys;
    for (const std::string& name : table.schema->primary_keys) keys.push_back(batch->GetColumnByName(name));
    const auto found = (*lookup)->FindAll(keys);
    ASSERT_TRUE(found.ok()) << found.status();
    const std::vector<std::string> wanted = LinesOf(json, *batch);
    const std::vector<std::string> got = LinesOf(json, *found->rows);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_GE(found->row_of_key[row], 0) << wanted[row];
      ASSERT_EQ(got[static_cast<size_t>(found->row_of_key[row])], wanted[row]);
    }
  }
}

Result<Snapshot> SnapshotFor(const Table& table, const std::string& scan) {
  if (scan == "latest") {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Snapshot> latest, ReadLatestSnapshot(table));
    if (!latest.has_value()) return NotFound("no snapshot");
    return *std::move(latest);
  }
  if (scan.starts_with("tag-")) {
    const std::string path = table.path + "/tag/" + scan;
    HEADRACE_ASSIGN_OR_RETURN(const std::string json, table.store->ReadAll(path));
    return ParseSnapshot(json, path);
  }
  return ReadSnapshot(table, SnapshotId(std::stoll(scan)));
}

// False for what other tests look at: the facts of `info`, system tables.
bool IsAboutRows(const Expectation& expectation) {
  const std::string& what = expectation.what;
  return what.find("scan-") != std::string::npos || what.starts_with("changes-from-") || what == "ordered" ||
         what == "placement";
}

void Check(const Table& table, const FixtureTable& fixture, const Expectation& expectation) {
  SCOPED_TRACE(expectation.what);
  const size_t scan = expectation.what.find("scan-");
  if (scan != std::string::npos) {
    const std::string of = expectation.what.substr(scan + 5);
    const Result<Snapshot> snapshot = SnapshotFor(table, of);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const Result<Table> then = of == "latest" ? Result<Table>(table) : TableAsOf(table, *snapshot);
    ASSERT_TRUE(then.ok()) << then.status();
    CheckScan(*then, *snapshot, Look(*then, fixture), expectation.lines);
  } else if (expectation.what.starts_with("changes-from-")) {
    CheckChanges(table, std::stoll(expectation.what.substr(13)), expectation.lines);
  } else if (expectation.what == "ordered" || expectation.what == "placement") {
    const Result<Snapshot> snapshot = SnapshotFor(table, "latest");
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    CheckBuckets(table, *snapshot, expectation.lines, expectation.what == "ordered");
  }
}

class ReadFixture : public testing::TestWithParam<FixtureTable> {};

TEST_P(ReadFixture, AsJavaReadsItOrNotAtAll) {
  const FixtureTable& fixture = GetParam();
  Result<Table> table = Open(fixture);
  if (fixture.refused_option.empty()) {
    ASSERT_TRUE(table.ok()) << table.status();
    int checked = 0;
    for (const Expectation& expectation : ExpectationsOf(fixture)) {
      if (!IsAboutRows(expectation)) continue;
      Check(*table, fixture, expectation);
      ++checked;
    }
    EXPECT_GT(checked, 0) << "nothing is expected of this table";
    const auto latest = ReadLatestSnapshot(*table);
    ASSERT_TRUE(latest.ok()) << latest.status();
    if (latest->has_value() && table->schema->has_primary_key()) {
      CheckPointGets(*table, **latest, Look(*table, fixture));
      ExpectLookups(*table, **latest, Look(*table, fixture));
    }
    return;
  }
  Status status = table.status();
  if (status.ok()) {
    const auto latest = ReadLatestSnapshot(*table);
    ASSERT_TRUE(latest.ok() && latest->has_value());
    status = Scan(*table, **latest, Look(*table, fixture)).status();
  }
  ASSERT_TRUE(IsKind(status, ErrorKind::kUnsupported)) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr(fixture.refused_option));
}

std::string NameOf(const testing::TestParamInfo<FixtureTable>& info) {
  std::string name = info.param.fixture + "_" + info.param.table;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ReadFixture, testing::ValuesIn(ListedTables()), NameOf);

TEST(FixtureList, NamesEveryTableThereIs) {
  std::vector<std::string> listed;
  for (const FixtureTable& table : ListedTables()) listed.push_back(table.fixture + " " + table.table);
  EXPECT_EQ(Sorted(listed), TablesOnDisk());
}

}  // namespace
}  // namespace headrace
