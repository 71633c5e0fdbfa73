// What a warehouse holds, as text, and what is wrong with it.
#include <algorithm>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "commit/commit.h"
#include "io/store_path.h"
#include "tests/crash/scenario.h"
#include "tests/crash/teller.h"
#include "tests/crash/witness.h"

namespace headrace::crash {
namespace {

Result<std::vector<Table>> OpenAll(const std::shared_ptr<Store>& store) {
  const Catalog catalog(store, std::make_shared<ManualClock>(1'700'000'000'000), kWarehouse);
  std::vector<Table> tables;
  HEADRACE_ASSIGN_OR_RETURN(const auto databases, catalog.ListDatabases());
  for (const std::string& database : databases) {
    HEADRACE_ASSIGN_OR_RETURN(const auto names, catalog.ListTables(database));
    for (const std::string& name : names) {
      HEADRACE_ASSIGN_OR_RETURN(Table table, catalog.OpenTable({database, name}, Access::kRead));
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

Status DescribeTable(const Table& table, bool with_changes, std::ostream* out) {
  *out << table.name << " schema " << table.schema->id.value;
  for (const auto& [key, value] : table.schema->options) *out << ' ' << key << '=' << value;
  HEADRACE_ASSIGN_OR_RETURN(const auto rows, ReadState(table));
  *out << "\n rows:";
  for (const Row& row : rows) *out << ' ' << row;
  if (with_changes) {
    HEADRACE_ASSIGN_OR_RETURN(const auto changes, ReadChanges(table));
    *out << "\n changes:";
    for (const auto& [id, of_id] : changes)
      for (const Change& change : of_id) *out << ' ' << change;
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto carried, CarriedProperties(table));
  *out << "\n positions:";
  for (const auto& [key, value] : carried)
    if (key != kWriterProperty) *out << ' ' << key << '=' << value;
  *out << '\n';
  return Status::OK();
}

using Names = std::multiset<std::string>;

Names Identities(const std::vector<ManifestEntry>& entries, EntryKind kind) {
  Names names;
  for (const ManifestEntry& entry : entries)
    if (entry.kind == kind) names.insert(IdentityOf(entry));
  return names;
}

// What the table names, by path.
class Examiner {
 public:
  Examiner(const Table& table, int64_t first_that_stays, std::vector<std::string>* faults)
      : table_(table), first_that_stays_(first_that_stays), faults_(*faults) {}

  Status Run() {
    HEADRACE_ASSIGN_OR_RETURN(const auto ids, ListSnapshotIds(table_));
    for (const SnapshotId id : ids) {
      if (id.value < first_that_stays_) continue;
      if (id.value != (before_id_ == 0 ? std::max(ids.front().value, first_that_stays_) : before_id_ + 1))
        Fault("a gap before snapshot ", id);
      HEADRACE_ASSIGN_OR_RETURN(const Snapshot snapshot, ReadSnapshot(table_, id));
      HEADRACE_RETURN_NOT_OK(CheckSnapshot(snapshot, before_id_ == 0));
      before_id_ = id.value;
    }
    return CheckLeftovers(table_.path);
  }

 private:
  template <typename... Parts>
  void Fault(const Parts&... parts) {
    std::ostringstream out;
    ((out << table_.name << ": ") << ... << parts);
    faults_.push_back(out.str());
  }

  Status CheckSnapshot(const Snapshot& snapshot, bool first) {
    HEADRACE_ASSIGN_OR_RETURN(const auto live, LiveFiles(table_, snapshot));
    HEADRACE_ASSIGN_OR_RETURN(const auto delta, DeltaEntries(table_, snapshot));
    HEADRACE_ASSIGN_OR_RETURN(const auto changelog, ChangelogEntries(table_, snapshot));
    Names expected = live_before_;
    expected.merge(Identities(delta, EntryKind::kAdd));
    for (const std::string& gone : Identities(delta, EntryKind::kDelete)) {
      const auto it = expected.find(gone);
      if (it != expected.end()) expected.erase(it);
    }
    Names now = Identities(live, EntryKind::kAdd);
    if (!first && now != expected)
      Fault("snapshot ", snapshot.id, " is not what came before it and what it added");
    if (std::adjacent_find(now.begin(), now.end()) != now.end())
      Fault("snapshot ", snapshot.id, " names a file twice");
    live_before_ = std::move(now);
    for (const auto* entries : {&live, &changelog})
      for (const ManifestEntry& entry : *entries) HEADRACE_RETURN_NOT_OK(CheckFile(snapshot, entry));
    for (const std::string& list : {snapshot.base_manifest_list, snapshot.delta_manifest_list,
                                    snapshot.changelog_manifest_list.value_or("")}) {
      if (list.empty()) continue;
      named_.insert(ManifestPath(table_, list));
      HEADRACE_ASSIGN_OR_RETURN(const auto manifests, ReadManifestList(table_, list));
      for (const ManifestFileMeta& manifest : manifests) named_.insert(ManifestPath(table_, manifest.name));
    }
    return Status::OK();
  }

  Status CheckFile(const Snapshot& snapshot, const ManifestEntry& entry) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string path, table_.PathOf(entry));
    if (!named_.insert(path).second) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const auto info, table_.store->Stat(path));
    if (!info.has_value() || info->size_bytes != entry.file.size_bytes)
      Fault("snapshot ", snapshot.id, " names ", path, ", which is not there in full");
    return Status::OK();
  }

  // A file that nothing names must have a name that orphan cleaning knows, and must stand where that looks.
  Status CheckLeftovers(const std::string& folder) {
    HEADRACE_ASSIGN_OR_RETURN(const auto children, table_.store->List(folder));
    for (const FileInfo& child : children) {
      if (child.is_directory) {
        HEADRACE_RETURN_NOT_OK(CheckLeftovers(child.path));
        continue;
      }
      const std::string_view name = NameIn(child.path);
      const std::string_view in = NameIn(folder);
      const bool known =
          named_.contains(child.path) || (in == "manifest" && name.find("manifest") != name.npos) ||
          (in.starts_with("bucket-") && (name.starts_with("data-") || name.starts_with("changelog-"))) ||
          ((in == "snapshot" || in == "changelog") &&
           (name == "LATEST" || name == "EARLIEST" || name.starts_with("snapshot-") ||
            name.starts_with("changelog-"))) ||
          (in == "schema" && name.starts_with("schema-")) ||
          (in == "consumer" && name.starts_with("consumer-"));
      if (!known) Fault("a file that nobody will ever know: ", child.path);
    }
    return Status::OK();
  }

  const Table& table_;
  const int64_t first_that_stays_;
  std::vector<std::string>& faults_;
  int64_t before_id_ = 0;
  Names live_before_;
  std::set<std::string> named_;
};

}  // namespace

Result<std::string> DescribeWarehouse(const std::shared_ptr<Store>& store, bool with_changes) {
  HEADRACE_ASSIGN_OR_RETURN(const auto tables, OpenAll(store));
  std::ostringstream out;
  for (const Table& table : tables) HEADRACE_RETURN_NOT_OK(DescribeTable(table, with_changes, &out));
  return out.str();
}

std::vector<std::string> FindFaults(const std::shared_ptr<Store>& store, int64_t first_that_stays) {
  std::vector<std::string> faults;
  const auto tables = OpenAll(store);
  if (!tables.ok()) return {tables.status().ToString()};
  for (const Table& table : *tables)
    if (const Status read = Examiner(table, first_that_stays, &faults).Run(); !read.ok())
      faults.push_back(read.ToString());
  return faults;
}

}  // namespace headrace::crash
