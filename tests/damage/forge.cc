#include "forge.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include <unistd.h>

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/memory_budget.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "file/data_file_reader.h"
#include "file/parquet_file.h"
#include "file/physical_columns.h"
#include "io/local_store.h"
#include "write/session.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using testing::Must;

void Must(const Status& status) {
  if (!status.ok()) status.Abort();
}

std::shared_ptr<Store> QuickStore() { return std::make_shared<LocalStore>(LocalStoreOptions{.sync = false}); }

fs::path FreshFolder() {
  static std::atomic<int> number = 0;
  const fs::path folder = fs::temp_directory_path() /
                          ("headrace-damage-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::shared_ptr<arrow::RecordBatch> Rows(const Table& table, const std::string& json) {
  const auto schema = ToArrowSchema(table.schema->fields);
  const auto rows = Must(arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json));
  return arrow::RecordBatch::Make(schema, rows->length(),
                                  static_cast<const arrow::StructArray&>(*rows).fields());
}

std::shared_ptr<arrow::Array> Kinds(const std::string& json) {
  return Must(arrow::json::ArrayFromJSONString(arrow::int8(), json));
}

Table MakeTable(const fs::path& folder, NewTable table, const std::string& columns) {
  table.fields = Must(ParseColumns(columns));
  Catalog catalog(QuickStore(), std::make_shared<SystemClock>(), folder.string());
  return Must(catalog.CreateTable({"db", "t"}, std::move(table)));
}

struct Commit {
  std::string rows;
  std::string kinds;  // empty: all inserts
};

void WriteCommits(const Table& table, const std::vector<Commit>& commits) {
  MemoryBudget budget(64 << 20);
  SessionOptions options;
  options.commit_user = "writer";
  options.budget = &budget;
  const auto session = Must(WriteSession::Open(table, std::move(options)));
  int64_t identifier = 0;
  for (const Commit& commit : commits) {
    Must(session->Write(Rows(table, commit.rows), commit.kinds.empty() ? nullptr : Kinds(commit.kinds)));
    Must(session->Commit(Must(session->PrepareCommit(++identifier, true))));
  }
}

// Every byte of what is listed follows the edit; the encodings are those of a table by default.
const ManifestEncoding kEncoding;

template <typename T, typename Name>
T& Named(std::vector<T>* all, const Name& name) {
  const auto found = std::find_if(all->begin(), all->end(), [&](const T& one) { return one.name == name; });
  if (found == all->end()) std::abort();
  return *found;
}

}  // namespace

ForgedTable::ForgedTable(const std::string& name)
    : folder_(FreshFolder()), path_((folder_ / "db.db" / "t").string()) {
  if (name == "keyed") {
    WriteKeyed();
    return;
  }
  if (name == "append") {
    WriteAppend();
    return;
  }
  const size_t slash = name.find('/');
  const fs::path source =
      fs::path(HEADRACE_FIXTURES) / name.substr(0, slash) / "warehouse" / "peer.db" / name.substr(slash + 1);
  fs::create_directories(folder_ / "db.db");
  fs::copy(source, path_, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
}

ForgedTable::~ForgedTable() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void ForgedTable::WriteKeyed() const {
  NewTable made;
  made.primary_keys = {"day", "id"};
  made.partition_keys = {"day"};
  made.options = {{"bucket", "2"}, {"changelog-producer", "input"}};
  const Table table = MakeTable(folder_, std::move(made), "day STRING, id BIGINT, name STRING, n INT");
  std::string rows = "[";
  for (int i = 0; i < 40; ++i) {
    rows += std::string(i == 0 ? "" : ",") + R"({"day":")" + (i % 2 == 0 ? "mon" : "tue") + R"(","id":)" +
            std::to_string(i) + R"(,"name":"name )" + std::to_string(i) + R"(","n":)" +
            (i % 5 == 0 ? "null" : std::to_string(i * 10)) + "}";
  }
  WriteCommits(table,
               {{rows + "]", ""},
                {R"([{"day":"mon","id":2,"name":"other","n":null},{"day":"mon","id":4,"name":"name 4","n":40},
                            {"day":"mon","id":6,"name":"six","n":6},{"day":"mon","id":8,"name":"eight","n":8},
                            {"day":"mon","id":10,"name":"ten","n":1},{"day":"mon","id":14,"name":"x","n":2},
                            {"day":"tue","id":3,"name":"three","n":3},{"day":"tue","id":5,"name":"five","n":5},
                            {"day":"tue","id":7,"name":"seven","n":7},{"day":"tue","id":9,"name":"nine","n":9}])",
                 "[2,3,2,2,2,2,2,2,2,2]"}});
}

void ForgedTable::WriteAppend() const {
  NewTable made;
  made.partition_keys = {"day"};
  made.options = {{"bucket", "2"}, {"bucket-key", "id"}};
  const Table table = MakeTable(folder_, std::move(made), "day STRING, id BIGINT, v DOUBLE");
  std::string rows = "[";
  for (int i = 0; i < 40; ++i) {
    rows += std::string(i == 0 ? "" : ",") + R"({"day":")" + (i % 2 == 0 ? "mon" : "tue") + R"(","id":)" +
            std::to_string(i) + R"(,"v":)" + (i % 3 == 0 ? "null" : std::to_string(i) + ".5") + "}";
  }
  WriteCommits(table, {{rows + "]", ""}, {rows + "]", ""}});
}

void ForgedTable::WriteUntil(const std::atomic<bool>* stop) const {
  const Table table =
      Must(OpenTableAt(QuickStore(), std::make_shared<SystemClock>(), path_, "db.t", Access::kWrite));
  MemoryBudget budget(64 << 20);
  SessionOptions options;
  options.commit_user = "busy";
  options.budget = &budget;
  const auto session = Must(WriteSession::Open(table, std::move(options)));
  for (int64_t identifier = 1; !*stop; ++identifier) {
    const std::string id = std::to_string(identifier % 50);
    Must(session->Write(
        Rows(table, R"([{"day":"mon","id":)" + id + R"(,"name":"n","n":1},{"day":"wed","id":)" + id +
                        R"(,"name":"m","n":2}])"),
        nullptr));
    Must(session->Commit(Must(session->PrepareCommit(identifier, true))));
  }
}

Table ForgedTable::Open() const {
  return Must(OpenTableAt(QuickStore(), std::make_shared<SystemClock>(), path_, "db.t", Access::kRead));
}

std::string ForgedTable::Read(const std::string& file) const {
  std::ifstream in(fs::path(path_) / file, std::ios::binary);
  if (!in) std::abort();
  return {std::istreambuf_iterator<char>(in), {}};
}

void ForgedTable::Write(const std::string& file, const std::string& bytes) const {
  fs::create_directories((fs::path(path_) / file).parent_path());
  std::ofstream out(fs::path(path_) / file, std::ios::binary | std::ios::trunc);
  out << bytes;
  if (!out.flush()) std::abort();
}

void ForgedTable::Remove(const std::string& file) const {
  if (!fs::remove(fs::path(path_) / file)) std::abort();
}

void ForgedTable::MakeOld(const std::string& file) const {
  fs::last_write_time(fs::path(path_) / file, fs::file_time_type::clock::now() - std::chrono::hours(24));
}

void ForgedTable::Truncate(const std::string& file, size_t by) const {
  const std::string bytes = Read(file);
  Write(file, bytes.substr(0, bytes.size() - by));
}

void ForgedTable::FlipBit(const std::string& file, size_t byte) const {
  std::string bytes = Read(file);
  bytes.at(byte) ^= 0x10;
  Write(file, bytes);
}

Snapshot ForgedTable::SnapshotOf(int64_t id) const {
  const std::string file = "snapshot/snapshot-" + std::to_string(id);
  return Must(ParseSnapshot(Read(file), file));
}

int64_t ForgedTable::LatestId() const { return Must(FindLatestSnapshotId(Open()))->value; }

void ForgedTable::EditSnapshot(int64_t id, const std::function<void(Snapshot*)>& edit) const {
  Snapshot snapshot = SnapshotOf(id);
  edit(&snapshot);
  Write("snapshot/snapshot-" + std::to_string(id), SerializeSnapshot(snapshot));
}

void ForgedTable::EditDeltaList(int64_t id, const EditListFunction& edit) const {
  EditSnapshot(id, [&](Snapshot* snapshot) {
    auto manifests = Must(ReadManifestList(Open(), snapshot->delta_manifest_list));
    edit(&manifests);
    const std::string bytes = Must(EncodeManifestList(manifests, kEncoding));
    Write("manifest/" + snapshot->delta_manifest_list, bytes);
    snapshot->delta_manifest_list_bytes = static_cast<int64_t>(bytes.size());
  });
}

void ForgedTable::EditBaseList(int64_t id, const EditListFunction& edit) const {
  EditSnapshot(id, [&](Snapshot* snapshot) {
    auto manifests = Must(ReadManifestList(Open(), snapshot->base_manifest_list));
    edit(&manifests);
    const std::string bytes = Must(EncodeManifestList(manifests, kEncoding));
    Write("manifest/" + snapshot->base_manifest_list, bytes);
    snapshot->base_manifest_list_bytes = static_cast<int64_t>(bytes.size());
  });
}

void ForgedTable::EditManifest(int64_t id, bool changelog, const EditEntriesFunction& edit) const {
  EditSnapshot(id, [&](Snapshot* snapshot) {
    const std::string list =
        changelog ? snapshot->changelog_manifest_list.value() : snapshot->delta_manifest_list;
    auto manifests = Must(ReadManifestList(Open(), list));
    ManifestFileMeta& manifest = manifests.at(0);
    auto entries = Must(ReadManifest(Open(), manifest));
    edit(&entries);
    const std::string bytes = Must(EncodeManifest(entries, kEncoding));
    Write("manifest/" + manifest.name, bytes);
    manifest.size_bytes = static_cast<int64_t>(bytes.size());
    manifest.added_files = std::count_if(entries.begin(), entries.end(), [](const ManifestEntry& entry) {
      return entry.kind == EntryKind::kAdd;
    });
    manifest.deleted_files = static_cast<int64_t>(entries.size()) - manifest.added_files;
    manifest.min_bucket = manifest.max_bucket = manifest.min_level = manifest.max_level = std::nullopt;
    const std::string list_bytes = Must(EncodeManifestList(manifests, kEncoding));
    Write("manifest/" + list, list_bytes);
    (changelog ? snapshot->changelog_manifest_list_bytes : snapshot->delta_manifest_list_bytes) =
        static_cast<int64_t>(list_bytes.size());
  });
}

void ForgedTable::EditDelta(int64_t id, const EditEntriesFunction& edit) const {
  EditManifest(id, false, edit);
}
void ForgedTable::EditChangelog(int64_t id, const EditEntriesFunction& edit) const {
  EditManifest(id, true, edit);
}

void ForgedTable::EditIndexManifest(int64_t id,
                                    const std::function<void(std::vector<IndexManifestEntry>*)>& edit) const {
  const std::string name = SnapshotOf(id).index_manifest.value();
  const std::string path = path_ + "/manifest/" + name;
  auto entries = Must(DecodeIndexManifest(Read("manifest/" + name), path));
  edit(&entries);
  Write("manifest/" + name, Must(EncodeIndexManifest(entries, kEncoding)));
}

std::vector<ManifestEntry> ForgedTable::Delta(int64_t id) const {
  return Must(DeltaEntries(Open(), SnapshotOf(id)));
}

std::vector<ManifestEntry> ForgedTable::Live() const {
  const Table table = Open();
  return Must(LiveFiles(table, Must(ReadLatestSnapshot(table)).value()));
}

std::string ForgedTable::FileOf(const ManifestEntry& entry) const {
  return Must(Open().PathOf(entry)).substr(path_.size() + 1);
}

void ForgedTable::RewriteRows(size_t index, const EditRowsFunction& edit) const {
  const Table table = Open();
  const ManifestEntry entry = Delta(LatestId()).at(index);
  const std::string path = path_ + "/" + FileOf(entry);
  const bool keyed = table.schema->has_primary_key();
  FileReadOptions options;
  options.table_schema = table.schema;
  options.schema_by_id = table.schema_by_id;
  options.columns = {keyed, keyed, keyed, table.schema->ColumnNames()};
  const auto reader = Must(OpenDataFile(table.store.get(), path, entry.file, options));
  const auto rows = Must(reader->Next());
  const auto forged = edit(*rows);
  const std::vector<DataField> fields = keyed ? KeyValueFields(*table.schema) : table.schema->fields;
  fs::remove(path);
  const auto file = Must(ParquetFile::Create(table.store.get(), path, fields, {}, *forged));
  Must(file->Write(*forged));
  Must(file->Close().status());
  EditDelta(LatestId(), [&](std::vector<ManifestEntry>* entries) {
    entries->at(index).file.size_bytes = file->size_bytes();
  });
}

}  // namespace headrace
