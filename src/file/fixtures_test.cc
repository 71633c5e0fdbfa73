// Every Parquet data file of the fixture tables, read: row counts as in the manifests, values as Java reads them, and
// the facts that our writer makes of the same rows against those of Java's manifests.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/printer.h>
#include <parquet/schema.h>

#include "base/clock.h"
#include "file/data_file_pages.h"
#include "file/data_file_reader.h"
#include "file/data_file_writer.h"
#include "file/json_lines.h"
#include "file/manifest_file.h"
#include "file/physical_columns.h"
#include "format/column_stats.h"
#include "io/local_store.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct FixtureTable {
  fs::path folder;
  std::string name;  // fixture/table
  std::map<SchemaId, std::shared_ptr<const TableSchema>> schemas;
  std::map<std::string, fs::path> data_files;  // by name; uuids make them unique
  std::vector<ManifestEntry> entries;          // of all manifests, in no order

  std::shared_ptr<const TableSchema> latest() const { return schemas.rbegin()->second; }

  // The files of the newest state: added and never deleted.
  std::vector<ManifestEntry> Live() const {
    std::map<std::string, ManifestEntry> live;
    std::set<std::string> deleted;
    for (const ManifestEntry& entry : entries) {
      if (entry.kind == EntryKind::kDelete) deleted.insert(IdentityOf(entry));
    }
    for (const ManifestEntry& entry : entries) {
      if (entry.kind == EntryKind::kAdd && !deleted.contains(IdentityOf(entry)))
        live.emplace(IdentityOf(entry), entry);
    }
    std::vector<ManifestEntry> result;
    for (auto& [identity, entry] : live) result.push_back(std::move(entry));
    return result;
  }
};

// Nothing for a table with a schema that is refused (VARIANT columns).
std::optional<FixtureTable> Load(const fs::path& folder) {
  FixtureTable table;
  table.folder = folder;
  table.name =
      folder.parent_path().parent_path().parent_path().filename().string() + "/" + folder.filename().string();
  for (const auto& file : fs::directory_iterator(folder / "schema")) {
    if (!file.path().filename().string().starts_with("schema-")) continue;
    auto schema = ParseTableSchema(Slurp(file.path()), file.path().string());
    if (IsKind(schema.status(), ErrorKind::kUnsupported)) return std::nullopt;
    EXPECT_TRUE(schema.ok()) << schema.status();
    if (!schema.ok()) return std::nullopt;
    table.schemas[schema->id] = std::make_shared<const TableSchema>(*schema);
  }
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.is_regular_file()) table.data_files[file.path().filename().string()] = file.path();
  }
  for (const auto& file : fs::directory_iterator(folder / "manifest")) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("manifest-") || name.starts_with("manifest-list-")) continue;
    auto entries = ReadManifest(Slurp(file.path()), name);
    EXPECT_TRUE(entries.ok()) << entries.status();
    if (entries.ok()) table.entries.insert(table.entries.end(), entries->begin(), entries->end());
  }
  return table;
}

std::vector<FixtureTable> AllTables() {
  std::vector<FixtureTable> tables;
  for (const auto& fixture : fs::directory_iterator(HEADRACE_FIXTURES)) {
    const fs::path database = fixture.path() / "warehouse" / "peer.db";
    if (!fs::exists(database)) continue;
    for (const auto& folder : fs::directory_iterator(database)) {
      if (!fs::exists(folder.path() / "schema")) continue;
      if (auto table = Load(folder.path())) tables.push_back(std::move(*table));
    }
  }
  return tables;
}

FixtureTable TableOf(const std::string& fixture, const std::string& name) {
  return *Load(fs::path(HEADRACE_FIXTURES) / fixture / "warehouse" / "peer.db" / name);
}

std::vector<std::string> Names(const TableSchema& schema) {
  std::vector<std::string> names;
  for (const DataField& field : schema.fields) names.push_back(field.name);
  return names;
}

Result<arrow::RecordBatchVector> ReadAll(const FixtureTable& table, const DataFileMeta& file,
                                         std::shared_ptr<const TableSchema> shape, ReadColumns columns) {
  LocalStore store;
  FileReadOptions read;
  read.table_schema = std::move(shape);
  read.schema_by_id = [&](SchemaId id) -> Result<std::shared_ptr<const TableSchema>> {
    return table.schemas.at(id);
  };
  read.columns = std::move(columns);
  HEADRACE_ASSIGN_OR_RETURN(auto reader,
                            OpenDataFile(&store, table.data_files.at(file.name).string(), file, read));
  arrow::RecordBatchVector batches;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
    if (batch == nullptr) return batches;
    HEADRACE_RETURN_NOT_OK(batch->ValidateFull());
    batches.push_back(batch);
  }
}

bool IsParquetHere(const FixtureTable& table, const ManifestEntry& entry) {
  return entry.kind == EntryKind::kAdd && entry.file.name.ends_with(".parquet") &&
         table.data_files.contains(entry.file.name);
}

TEST(ParquetFilesOfTheFixtures, HaveTheRowsOfTheirManifestEntriesUnderTheirOwnSchemaAndUnderTheLatest) {
  int files = 0;
  for (const FixtureTable& table : AllTables()) {
    if (table.name.starts_with("data-evolution")) continue;  // files of some columns only
    for (const ManifestEntry& entry : table.entries) {
      if (!IsParquetHere(table, entry)) continue;
      ++files;
      for (const auto& shape : {table.schemas.at(entry.file.schema_id), table.latest()}) {
        const bool keyed = shape->has_primary_key();
        const auto batches = ReadAll(table, entry.file, shape, {keyed, keyed, keyed, Names(*shape)});
        ASSERT_TRUE(batches.ok()) << table.name << ": " << batches.status();
        int64_t rows = 0;
        for (const auto& batch : *batches) rows += batch->num_rows();
        EXPECT_EQ(rows, entry.file.row_count) << table.name << " " << entry.file.name;
      }
    }
  }
  EXPECT_GT(files, 300);
}

// The file read block by block, its keys and its values each on their own, put together again.
Result<std::shared_ptr<arrow::Table>> ReadByPages(const FixtureTable& table, const DataFileMeta& file,
                                                  std::shared_ptr<const TableSchema> shape) {
  LocalStore store;
  FileReadOptions read;
  read.table_schema = shape;
  read.schema_by_id = [&](SchemaId id) -> Result<std::shared_ptr<const TableSchema>> {
    return table.schemas.at(id);
  };
  HEADRACE_ASSIGN_OR_RETURN(
      const auto pages,
      DataFilePages::Open(&store, table.data_files.at(file.name).string(), file, read,
                          {{.keys = true, .values = {}}, {false, true, true, Names(*shape)}}));
  HEADRACE_ASSIGN_OR_RETURN(const auto cursor, pages->OpenCursor(&store));
  arrow::RecordBatchVector batches;
  for (size_t block = 0; block < pages->blocks().size(); ++block) {
    HEADRACE_ASSIGN_OR_RETURN(const auto keys, cursor->Read(block, 0));
    HEADRACE_ASSIGN_OR_RETURN(const auto rest, cursor->Read(block, 1));
    arrow::ArrayVector columns = keys->columns();
    arrow::FieldVector fields = keys->schema()->fields();
    for (int i = 0; i < rest->num_columns(); ++i) {
      columns.push_back(rest->column(i));
      fields.push_back(rest->schema()->field(i));
    }
    batches.push_back(arrow::RecordBatch::Make(arrow::schema(fields), rest->num_rows(), columns));
    HEADRACE_RETURN_NOT_OK(batches.back()->ValidateFull());
  }
  return arrow::Table::FromRecordBatches(batches);
}

TEST(ParquetFilesOfTheFixtures, HaveTheSameRowsWhenTheyAreReadPageByPage) {
  int files = 0;
  for (const FixtureTable& table : AllTables()) {
    if (table.name.starts_with("data-evolution")) continue;  // files of some columns only
    for (const ManifestEntry& entry : table.entries) {
      if (!IsParquetHere(table, entry) || !table.latest()->has_primary_key() || entry.file.row_count == 0)
        continue;
      ++files;
      const auto batches =
          ReadAll(table, entry.file, table.latest(), {true, true, true, Names(*table.latest())});
      ASSERT_TRUE(batches.ok()) << table.name << ": " << batches.status();
      const auto whole = arrow::Table::FromRecordBatches(*batches).ValueOrDie();
      const auto paged = ReadByPages(table, entry.file, table.latest());
      ASSERT_TRUE(paged.ok()) << table.name << ": " << paged.status();
      EXPECT_TRUE((*paged)->Equals(*whole, arrow::EqualOptions::Defaults().nans_equal(true)))
          << table.name << " " << entry.file.name;
    }
  }
  EXPECT_GT(files, 200);
}

// The rows of `files` as sorted JSON lines, merged the simple way: the largest sequence number of a key wins.
std::vector<std::string> Scan(const FixtureTable& table, const std::vector<ManifestEntry>& files) {
  const auto shape = table.latest();
  const bool keyed = shape->has_primary_key();
  const JsonLines values(shape->fields);
  const JsonLines keys(KeyFields(*shape));
  std::map<std::string, std::tuple<int64_t, int8_t, std::string>> newest;
  int64_t unkeyed = 0;
  for (const ManifestEntry& entry : files) {
    const auto batches = ReadAll(table, entry.file, shape, {keyed, keyed, keyed, Names(*shape)});
    EXPECT_TRUE(batches.ok()) << batches.status();
    for (const auto& batch : batches.ValueOr({})) {
      const int own = keyed ? static_cast<int>(shape->TrimmedPrimaryKeys().size()) : 0;
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        const auto one = batch->Slice(row, 1);
        arrow::ArrayVector columns = one->columns();
        std::string key = std::to_string(unkeyed++);
        int64_t sequence = 0;
        int8_t kind = 0;
        if (keyed) {
          key.clear();
          arrow::ArrayVector key_columns(columns.begin(), columns.begin() + own);
          EXPECT_TRUE(
              keys.Append(*arrow::RecordBatch::Make(ToArrowSchema(KeyFields(*shape)), 1, key_columns), &key)
                  .ok());
          key += entry.partition.bytes;
          sequence = static_cast<const arrow::Int64Array&>(*columns[own]).Value(0);
          kind = static_cast<const arrow::Int8Array&>(*columns[own + 1]).Value(0);
          columns.erase(columns.begin(), columns.begin() + own + 2);
        }
        std::string line;
        const Status status =
            values.Append(*arrow::RecordBatch::Make(ToArrowSchema(shape->fields), 1, columns), &line);
        EXPECT_TRUE(status.ok()) << status;
        auto& slot = newest[key];
        if (std::get<2>(slot).empty() || std::get<0>(slot) < sequence) slot = {sequence, kind, line};
      }
    }
  }
  std::vector<std::string> lines;
  for (const auto& [key, value] : newest) {
    if (!IsRetract(std::get<1>(value))) lines.push_back(std::get<2>(value));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> LinesOf(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  std::sort(lines.begin(), lines.end());
  return lines;
}

struct ScanCase {
  const char* fixture;
  const char* table;
  const char* expected;
};

class ScanOf : public testing::TestWithParam<ScanCase> {};

TEST_P(ScanOf, GivesTheJsonLinesThatJavaGives) {
  const auto& [fixture, name, expected] = GetParam();
  const FixtureTable table = TableOf(fixture, name);
  const auto lines = Scan(table, table.Live());
  const auto wanted = LinesOf(fs::path(HEADRACE_FIXTURES) / fixture / "expected" / expected);
  ASSERT_EQ(lines.size(), wanted.size());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], wanted[i]);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, ScanOf,
    testing::Values(ScanCase{"types-parquet", "pk", "pk.scan-2.jsonl"},
                    ScanCase{"types-parquet", "appended", "appended.scan-2.jsonl"},
                    ScanCase{"types-parquet", "multisets", "multisets.scan-1.jsonl"},
                    ScanCase{"schema-evolution", "keyed", "keyed.after-compaction.scan-latest.jsonl"},
                    ScanCase{"schema-evolution", "appended_parquet", "appended_parquet.scan-7.jsonl"},
                    ScanCase{"thin-mode", "t_parquet", "t_parquet.scan-5.jsonl"},
                    ScanCase{"compress-lz4", "t_parquet", "t_parquet.scan-2.jsonl"},
                    ScanCase{"compress-gzip", "t_parquet", "t_parquet.scan-2.jsonl"}),
    [](const auto& info) {
      std::string name = std::string(info.param.fixture) + "_" + info.param.table;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// The table is compacted at the end: its old files, each under the schema of its time, give the same rows.
TEST(OldFilesOfTheEvolvedTable, GiveTheRowsOfTheCompactedOneUnderTheLatestSchema) {
  const FixtureTable table = TableOf("schema-evolution", "keyed");
  std::vector<ManifestEntry> old;
  std::set<SchemaId> schemas;
  for (const ManifestEntry& entry : table.entries) {
    if (entry.kind != EntryKind::kAdd || entry.file.level != Level(0)) continue;
    old.push_back(entry);
    schemas.insert(entry.file.schema_id);
  }
  EXPECT_GE(schemas.size(), 6u);
  EXPECT_EQ(Scan(table, old), LinesOf(fs::path(HEADRACE_FIXTURES) / "schema-evolution/expected" /
                                      "keyed.after-compaction.scan-latest.jsonl"));
}

// What of a manifest entry the rows alone decide.
struct Facts {
  BinaryRow min_key, max_key;
  SimpleStats key_stats, value_stats;
  std::optional<std::vector<std::string>> value_stats_columns;
  int64_t rows, min_sequence, max_sequence;
  std::optional<int64_t> deletes;

  explicit Facts(const DataFileMeta& file)
      : min_key(file.min_key),
        max_key(file.max_key),
        key_stats(file.key_stats),
        value_stats(file.value_stats),
        value_stats_columns(file.value_stats_columns),
        rows(file.row_count),
        min_sequence(file.min_sequence),
        max_sequence(file.max_sequence),
        deletes(file.delete_row_count) {}
};

std::string Text(const SimpleStats& stats, const std::optional<std::vector<std::string>>& columns,
                 const std::vector<DataField>& fields) {
  const auto read = ReadStats(stats, columns, fields);
  if (!read.ok()) return read.status().ToString();
  std::string text;
  for (size_t i = 0; i < read->size(); ++i) {
    const ColumnStats& column = (*read)[i];
    text += fields[i].name + " [" + ToText(column.min, fields[i].type) + ", " +
            ToText(column.max, fields[i].type) + "] nulls " +
            (column.null_count ? std::to_string(*column.null_count) : "?") + "\n";
  }
  return text;
}

// Names, field ids, physical and logical types, nullability. Java also marks the repeated group of a map, which says nothing.
std::string ParquetSchemaOf(const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
  std::ostringstream text;
  const auto reader = parquet::ParquetFileReader::Open(file);
  parquet::schema::PrintSchema(reader->metadata()->schema()->schema_root().get(), text);
  std::string result = text.str();
  for (size_t at; (at = result.find("key_value (Map)")) != std::string::npos;) result.erase(at + 9, 6);
  return result;
}

TEST(FactsAndSchemaOfFilesWeWrite, AreThoseOfJavaForTheSameRows) {
  int files = 0;
  for (const FixtureTable& table : AllTables()) {
    if (table.name.starts_with("data-evolution") || table.name.starts_with("row-tracking")) continue;
    for (const ManifestEntry& entry : table.entries) {
      if (!IsParquetHere(table, entry)) continue;
      const auto schema = table.schemas.at(entry.file.schema_id);
      auto options = ParseTableOptions(*schema, Access::kRead);
      if (!options.ok()) continue;
      const bool keyed = schema->has_primary_key();
      const auto batches = ReadAll(table, entry.file, schema, {keyed, keyed, keyed, Names(*schema)});
      ASSERT_TRUE(batches.ok()) << table.name << ": " << batches.status();
      MemoryStore store;
      ManualClock clock;
      FileNames names("u", *options);
      FileWriteSpec spec{.store = &store,
                         .directory = "/d",
                         .schema = schema,
                         .options = &*options,
                         .names = &names,
                         .clock = &clock};
      spec.level = entry.file.level;
      options->target_file_bytes = int64_t{1} << 40;
      auto writer = keyed ? OpenKeyValueWriter(spec) : OpenRowWriter(spec, entry.file.min_sequence);
      ASSERT_TRUE(writer.ok()) << writer.status();
      for (const auto& batch : *batches) ASSERT_TRUE((*writer)->Write(*batch).ok()) << table.name;
      const auto written = (*writer)->Close();
      ASSERT_TRUE(written.ok()) << written.status();
      ASSERT_EQ(written->size(), 1u);
      const Facts ours((*written)[0]);
      const Facts java(entry.file);
      ++files;
      EXPECT_EQ(
          ParquetSchemaOf(store.OpenForRead("/d/" + (*written)[0].name).ValueOrDie()),
          ParquetSchemaOf(
              arrow::io::ReadableFile::Open(table.data_files.at(entry.file.name).string()).ValueOrDie()));
      const std::string where = table.name + " " + entry.file.name;
      EXPECT_EQ(ours.min_key, java.min_key) << where;
      EXPECT_EQ(ours.max_key, java.max_key) << where;
      EXPECT_EQ(ours.rows, java.rows) << where;
      EXPECT_EQ(ours.deletes, java.deletes) << where;
      EXPECT_EQ(ours.min_sequence, java.min_sequence) << where;
      EXPECT_EQ(ours.max_sequence, java.max_sequence) << where;
      EXPECT_TRUE(ours.key_stats == java.key_stats)
          << where << "\nours\n"
          << Text(ours.key_stats, {}, KeyFields(*schema)) << "java\n"
          << Text(java.key_stats, {}, KeyFields(*schema));
      EXPECT_EQ(ours.value_stats_columns, java.value_stats_columns) << where;
      EXPECT_TRUE(ours.value_stats == java.value_stats)
          << where << "\nours\n"
          << Text(ours.value_stats, ours.value_stats_columns, schema->fields) << "java\n"
          << Text(java.value_stats, java.value_stats_columns, schema->fields);
    }
  }
  EXPECT_GT(files, 200);
}

}  // namespace
}  // namespace headrace
