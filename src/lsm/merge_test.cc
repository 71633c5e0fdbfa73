// Every plan of a merge gives the rows that comparing all versions one by one gives.
#include "lsm/merge.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsm/flush.h"
#include "lsm/key_value_batch.h"
#include "lsm/test_table.h"

namespace headrace {
namespace {

struct TreeCase {
  std::string key_columns;
  std::vector<std::string> keys;
  uint64_t seed = 0;
  bool numbers_overlap = false;
  MergePolicy policy;
};

std::ostream& operator<<(std::ostream& out, const TreeCase& c) {
  return out << c.key_columns << ", seed " << c.seed << (c.numbers_overlap ? ", numbers overlap" : "")
             << (c.policy.drop_deletes ? ", drop deletes" : "")
             << (c.policy.ignore_delete ? ", ignore deletes" : "")
             << (c.policy.sequence_columns.empty() ? ""
                 : c.policy.sequence_descending    ? ", sequence fields descending"
                                                   : ", sequence fields");
}

// A version as text, and all that orders it.
struct Version {
  std::vector<Value> order;
  int64_t number = 0;
  int8_t kind = 0;
  DataFileMeta file;
  std::string line;
};

bool IsOlder(const Version& a, const Version& b, bool descending) {
  for (size_t i = 0; i < a.order.size(); ++i) {
    int order = CompareValues(a.order[i], b.order[i]);
    if (descending && !IsNull(a.order[i]) && !IsNull(b.order[i])) order = -order;
    if (order != 0) return order < 0;
  }
  if (a.number != b.number) return a.number < b.number;
  if (IsRetract(a.kind) != IsRetract(b.kind)) return IsRetract(a.kind);
  if (a.file.level != b.file.level) return a.file.level > b.file.level;
  return IsNewer(b.file, a.file);
}

class MergedTree {
 public:
  explicit MergedTree(const TreeCase& tree_case)
      : case_(tree_case),
        table_(tree_case.key_columns + ", s INT, v STRING, w ARRAY<INT>", tree_case.keys),
        random_(case_.seed) {
    order_ = std::make_unique<KeyOrder>(
        KeyOrder::OfKey(table_.schema->TypesOf(table_.schema->TrimmedPrimaryKeys())).ValueOrDie());
    int64_t next = 0;
    const uint64_t files = 2 + random_.Below(6);
    RandomVersions versions(table_.schema, random_.Between(3, 700), case_.seed);
    for (uint64_t f = 0; f < files; ++f) AddFile(&versions, f, &next);
  }

  // What a scan must give, by key.
  std::map<EncodedKey, std::string> Expected(bool with_system_columns) {
    std::map<EncodedKey, Version> newest;
    for (const TreeFilePtr& file : files_) {
      for (auto& [key, version] : VersionsOf(*file, with_system_columns)) {
        if (case_.policy.ignore_delete && IsRetract(version.kind)) continue;
        const auto [at, is_new] = newest.try_emplace(key, version);
        if (!is_new && IsOlder(at->second, version, case_.policy.sequence_descending)) at->second = version;
      }
    }
    std::map<EncodedKey, std::string> rows;
    for (const auto& [key, version] : newest) {
      if (!(case_.policy.drop_deletes && IsRetract(version.kind))) rows[key] = version.line;
    }
    return rows;
  }

  std::vector<std::string> Read(MergePlan plan, bool key_ordered, bool with_system_columns) {
    MergeRequest request;
    request.sections = PartitionIntoSections(files_);
    request.values = table_.ColumnNames();
    request.sequence_and_kind = with_system_columns;
    request.key_ordered = key_ordered;
    request.policy = case_.policy;
    request.batch_rows = random_.OneIn(2) ? 7 : 500;
    auto stream = OpenMerge(table_.Files(), std::move(request), plan);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return DrainLines(stream->get(), Fields(with_system_columns));
  }

 private:
  std::vector<DataField> Fields(bool with_system_columns) const {
    std::vector<DataField> fields;
    if (with_system_columns) fields = SequenceAndKindFields();
    fields.insert(fields.end(), table_.schema->fields.begin(), table_.schema->fields.end());
    return fields;
  }

  void AddFile(RandomVersions* versions, uint64_t f, int64_t* next) {
    const int64_t rows = random_.Between(1, random_.OneIn(3) ? 900 : 60);
    MergePolicy policy = case_.policy;
    policy.ignore_delete = false;
    WriteBuffer buffer = WriteBuffer::Make(*table_.schema, policy, nullptr).ValueOrDie();
    if (case_.numbers_overlap) *next = random_.Between(0, 40);
    HEADRACE_EXPECT_OK(buffer.Append(versions->Batch(rows), versions->Kinds(rows, true), *next));
    *next += rows;
    FileNames names("u" + std::to_string(f), table_.options);
    const FileIncrement flushed = FlushToLevelZero(buffer, table_.Files(), &names, false).ValueOrDie();
    for (DataFileMeta meta : flushed.added) {
      meta.level = Level(static_cast<int32_t>(random_.Below(3)));
      files_.push_back(MakeTreeFile(*order_, meta).ValueOrDie());
    }
  }

  std::map<EncodedKey, Version> VersionsOf(const TreeFile& file, bool with_system_columns) {
    const ReadColumns columns{.keys = false, .sequence = true, .kind = true, .values = table_.ColumnNames()};
    auto stream = OpenConcatenation(table_.Files(), {file.meta}, columns, 100).ValueOrDie();
    std::map<EncodedKey, Version> versions;
    while (auto batch = stream->Next().ValueOrDie()) {
      std::vector<std::shared_ptr<arrow::Array>> keys;
      for (const std::string& name : table_.schema->TrimmedPrimaryKeys())
        keys.push_back(batch->GetColumnByName(name));
      const KeyColumn encoded = order_->Encode(keys).ValueOrDie();
      auto shown = batch;
      if (!with_system_columns) shown = shown->RemoveColumn(0).ValueOrDie()->RemoveColumn(0).ValueOrDie();
      const std::vector<std::string> lines = LinesOf(Fields(with_system_columns), *shown);
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        Version& version = versions[encoded.Encoded(row)];
        version.number = static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(row);
        version.kind = static_cast<const arrow::Int8Array&>(*batch->column(1)).Value(row);
        version.file = file.meta;
        version.line = lines[static_cast<size_t>(row)];
        for (const DataField& field : table_.schema->FieldsOf(case_.policy.sequence_columns)) {
          version.order.push_back(ValueAt(*batch->GetColumnByName(field.name), row, field.type).ValueOrDie());
        }
      }
    }
    return versions;
  }

  TreeCase case_;
  TestTable table_;
  Random random_;
  std::unique_ptr<KeyOrder> order_;
  std::vector<TreeFilePtr> files_;
};

std::vector<std::string> InKeyOrder(const std::map<EncodedKey, std::string>& rows) {
  std::vector<std::string> lines;
  for (const auto& [key, line] : rows) lines.push_back(line);
  return lines;
}

std::vector<std::string> Sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

void CheckEveryPlan(const TreeCase& tree_case) {
  SCOPED_TRACE(testing::PrintToString(tree_case));
  MergedTree tree(tree_case);
  for (const bool with_system_columns : {false, true}) {
    const std::vector<std::string> expected = InKeyOrder(tree.Expected(with_system_columns));
    EXPECT_EQ(tree.Read(MergePlan::kWholeRows, true, with_system_columns), expected);
    EXPECT_EQ(Sorted(tree.Read(MergePlan::kWholeRows, false, with_system_columns)), Sorted(expected));
    EXPECT_EQ(Sorted(tree.Read(MergePlan::kWinnersFirst, false, with_system_columns)), Sorted(expected));
  }
}

TEST(Merge, AllPlansGiveTheNewestRowOfEachKeyForEveryKeyShape) {
  for (const auto& [columns, keys] : KeyShapes()) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      TreeCase c{columns, keys, seed, false, {}};
      c.numbers_overlap = seed % 2 == 0;
      c.policy.drop_deletes = seed > 2;
      CheckEveryPlan(c);
    }
  }
}

TEST(Merge, SequenceFieldsDecideBeforeNumbersInBothDirections) {
  for (uint64_t seed = 10; seed < 18; ++seed) {
    TreeCase c{"k BIGINT NOT NULL", {"k"}, seed, seed % 2 == 0, {}};
    c.policy.sequence_columns =
        seed % 3 == 0 ? std::vector<std::string>{"v", "s"} : std::vector<std::string>{"s"};
    c.policy.sequence_descending = seed % 4 < 2;
    c.policy.drop_deletes = seed > 13;
    CheckEveryPlan(c);
  }
}

TEST(Merge, AnIgnoredDeleteNeitherWinsNorShows) {
  for (uint64_t seed = 20; seed < 26; ++seed) {
    TreeCase c{"k STRING NOT NULL", {"k"}, seed, seed % 2 == 0, {}};
    c.policy.ignore_delete = true;
    c.policy.drop_deletes = true;
    CheckEveryPlan(c);
  }
}

TEST(PlanMerge, TakesWinnersFirstUnlessOrderMemoryOrTheColumnsSpeakAgainstIt) {
  TestTable table("k BIGINT NOT NULL, s INT, v STRING", {"k"});
  TreeFile file;
  file.meta.row_count = 8000;
  const auto shared = std::make_shared<const TreeFile>(file);
  MergeRequest request;
  request.sections = {{{shared}, {shared}}};
  request.values = {"k", "v"};
  EXPECT_EQ(PlanMerge(*table.schema, request), MergePlan::kWinnersFirst);
  request.memory_bytes = 1999;
  EXPECT_EQ(PlanMerge(*table.schema, request), MergePlan::kWholeRows) << "a bit a row";
  request.memory_bytes = 2000;
  EXPECT_EQ(PlanMerge(*table.schema, request), MergePlan::kWinnersFirst);
  request.key_ordered = true;
  EXPECT_EQ(PlanMerge(*table.schema, request), MergePlan::kWholeRows);
  request.key_ordered = false;
  request.values = {"k", "s"};
  request.policy.sequence_columns = {"s"};
  EXPECT_EQ(PlanMerge(*table.schema, request), MergePlan::kWholeRows) << "all of it is read for the merge";
}

TEST(Merge, NamesTheFileWhoseRowsAreOutOfOrder) {
  TestTable table("k BIGINT NOT NULL", {"k"});
  const KeyValueShape shape(*table.schema);
  FileNames names("u", table.options);
  std::vector<TreeFilePtr> files;
  const KeyOrder order = KeyOrder::OfKey({table.schema->fields[0].type}).ValueOrDie();
  for (const std::vector<int64_t>& keys : {std::vector<int64_t>{1, 2, 3}, std::vector<int64_t>{1, 3, 2, 4}}) {
    auto writer =
        OpenKeyValueWriter(table.Files().WriteSpec(&names, FileRole::kData, Level(0), FileSource::kAppend))
            .ValueOrDie();
    const std::vector<int64_t> numbers(keys.size(), static_cast<int64_t>(files.size()));
    HEADRACE_EXPECT_OK(writer->Write(
        *shape.Assemble(Int64s(numbers), KindsOf(std::vector<int8_t>(keys.size(), 0)), {Int64s(keys)})));
    for (const DataFileMeta& meta : writer->Close().ValueOrDie())
      files.push_back(MakeTreeFile(order, meta).ValueOrDie());
  }
  MergeRequest request;
  request.sections = PartitionIntoSections(files);
  request.values = {"k"};
  auto stream = OpenMerge(table.Files(), request).ValueOrDie();
  Status status;
  while (status.ok()) {
    auto batch = stream->Next();
    status = batch.status();
    if (batch.ok() && *batch == nullptr) break;
  }
  ASSERT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(),
              testing::AllOf(testing::HasSubstr(files[1]->meta.name), testing::HasSubstr("row 2")));
}

// Two files that a narrower range parts from each other would show a key twice.
TEST(Merge, NamesTheFileWhoseRowsLieOutsideOfItsKeyRange) {
  TestTable table("a BIGINT NOT NULL, b BIGINT NOT NULL", {"a", "b"});
  const KeyValueShape shape(*table.schema);
  FileNames names("u", table.options);
  const std::vector<DataType> types = {table.schema->fields[0].type, table.schema->fields[1].type};
  const KeyOrder order = KeyOrder::OfKey(types).ValueOrDie();
  std::vector<DataFileMeta> metas;
  for (const int64_t number : {0, 1}) {
    auto writer =
        OpenKeyValueWriter(table.Files().WriteSpec(&names, FileRole::kData, Level(0), FileSource::kAppend))
            .ValueOrDie();
    HEADRACE_EXPECT_OK(writer->Write(*shape.Assemble(Int64s({number, number, number}), KindsOf({0, 0, 0}),
                                                     {Int64s({1, 1, 2}), Int64s({5, 6, 1})})));
    for (DataFileMeta& meta : writer->Close().ValueOrDie()) metas.push_back(std::move(meta));
  }
  using Key = std::vector<Value>;
  const auto message_with = [&](const Key& low, const Key& high) -> std::string {
    DataFileMeta narrow = metas[1];
    narrow.min_key = EncodeBinaryRow(low, types).ValueOrDie();
    narrow.max_key = EncodeBinaryRow(high, types).ValueOrDie();
    MergeRequest request;
    request.sections = PartitionIntoSections(
        {MakeTreeFile(order, metas[0]).ValueOrDie(), MakeTreeFile(order, narrow).ValueOrDie()});
    request.values = {"a", "b"};
    auto stream = OpenMerge(table.Files(), request).ValueOrDie();
    while (true) {
      auto batch = stream->Next();
      if (!batch.ok()) {
        EXPECT_TRUE(IsKind(batch.status(), ErrorKind::kCorruption)) << batch.status();
        return batch.status().message();
      }
      if (*batch == nullptr) return "no error";
    }
  };
  const Key low = {int64_t{1}, int64_t{5}}, high = {int64_t{2}, int64_t{1}};
  EXPECT_EQ(message_with(low, high), "no error");
  EXPECT_EQ(message_with({int64_t{-9}, int64_t{0}}, {int64_t{9}, int64_t{0}}), "no error")
      << "wider does no harm";
  for (const auto& [narrow_low, narrow_high] :
       std::vector<std::pair<Key, Key>>{{{int64_t{2}, int64_t{0}}, high},
                                        {low, {int64_t{1}, int64_t{9}}},
                                        {{int64_t{1}, int64_t{6}}, high},
                                        {low, {int64_t{2}, int64_t{0}}}}) {
    EXPECT_THAT(message_with(narrow_low, narrow_high), testing::HasSubstr(metas[1].name));
  }
}

}  // namespace
}  // namespace headrace
