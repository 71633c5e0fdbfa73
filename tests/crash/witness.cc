// Reading everything back and comparing.
#include "tests/crash/witness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "catalog/snapshots.h"
#include "read/changes.h"
#include "read/scan.h"

namespace headrace::crash {
namespace {

Result<Table> OpenForReading(const std::shared_ptr<Store>& store) {
  const Catalog catalog(store, std::make_shared<ManualClock>(1'700'000'000'000), kWarehouse);
  return catalog.OpenTable({"db", "t"}, Access::kRead);
}

Status AppendRows(const arrow::RecordBatch& batch, std::vector<Row>* rows) {
  const auto ids = std::dynamic_pointer_cast<arrow::Int64Array>(batch.GetColumnByName("id"));
  const auto names = std::dynamic_pointer_cast<arrow::StringArray>(batch.GetColumnByName("name"));
  const auto amounts = std::dynamic_pointer_cast<arrow::Int32Array>(batch.GetColumnByName("amount"));
  if (ids == nullptr || names == nullptr || amounts == nullptr) {
    return Invalid("a batch with other columns than written: ", batch.schema()->ToString());
  }
  for (int64_t i = 0; i < batch.num_rows(); ++i)
    rows->push_back({ids->Value(i), names->GetString(i), amounts->Value(i)});
  return Status::OK();
}

Result<std::vector<Row>> RowsOf(const Table& table, const Snapshot& snapshot) {
  HEADRACE_ASSIGN_OR_RETURN(const auto reader, OpenScan(table, snapshot, {}));
  std::vector<Row> rows;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    if (batch == nullptr) break;
    HEADRACE_RETURN_NOT_OK(AppendRows(*batch, &rows));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

Status AppendChanges(arrow::RecordBatchReader* reader, std::map<int64_t, std::vector<Change>>* changes) {
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    if (batch == nullptr) return Status::OK();
    std::vector<Row> rows;
    HEADRACE_RETURN_NOT_OK(AppendRows(*batch, &rows));
    const auto kinds = std::dynamic_pointer_cast<arrow::Int8Array>(batch->GetColumnByName("_VALUE_KIND"));
    if (kinds == nullptr) return Invalid("a batch of changes without kinds: ", batch->schema()->ToString());
    for (size_t i = 0; i < rows.size(); ++i) {
      const Kind kind = static_cast<Kind>(kinds->Value(static_cast<int64_t>(i)));
      (*changes)[rows[i].id].push_back({kind, rows[i]});
    }
  }
}

Result<std::map<int64_t, std::vector<Change>>> ChangesOf(const Table& table,
                                                         bool overwrites_are_legal = false) {
  HEADRACE_ASSIGN_OR_RETURN(const auto stream, ChangeStream::Open(table, {}));
  std::map<int64_t, std::vector<Change>> changes;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<SnapshotChanges> next, stream->Next());
    if (!next.has_value()) return changes;
    if (next->skipped_overwrite && !overwrites_are_legal)
      return Invalid("snapshot ", next->snapshot.id, " is an overwrite, which nobody wrote");
    if (next->rows != nullptr) HEADRACE_RETURN_NOT_OK(AppendChanges(next->rows.get(), &changes));
  }
}

std::string Text(const std::vector<Row>& rows) {
  std::ostringstream out;
  for (const Row& row : rows) out << ' ' << row;
  return out.str();
}

std::string Text(const std::vector<Change>& changes) {
  std::ostringstream out;
  for (const Change& change : changes) out << ' ' << change;
  return out.str();
}

class Examination {
 public:
  Examination(const std::vector<Writer>& writers, const Finding* before, Finding* finding)
      : writers_(writers), before_(before), model_(*writers.front().story), finding_(*finding) {}

  void Run(const std::shared_ptr<Store>& store) {
    const Result<Table> table = OpenForReading(store);
    if (!table.ok()) {
      const bool created =
          std::any_of(writers_.begin(), writers_.end(), [](const Writer& w) { return w.progress->created; });
      if (created || !IsKind(table.status(), ErrorKind::kNotFound)) {
        Fault("the table cannot be opened: ", table.status().ToString());
      }
      return;
    }
    finding_.exists = true;
    CheckSnapshots(*table);
    for (const Writer& writer : writers_) {
      const int found = finding_.steps[writer.user];
      if (found < writer.progress->acknowledged) {
        Fault("step ", writer.progress->acknowledged, " of ", writer.user,
              " was acknowledged, the table holds ", found);
      }
      if (found > writer.progress->attempted) {
        Fault("step ", found, " of ", writer.user, " is there, only ", writer.progress->attempted,
              " were written");
      }
    }
    CheckChanges(*table);
  }

 private:
  template <typename... Parts>
  void Fault(Parts&&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    finding_.faults.push_back(out.str());
  }

  void CheckSnapshots(const Table& table) {
    const Result<std::vector<SnapshotId>> ids = ListSnapshotIds(table);
    if (!ids.ok()) return Fault("the snapshots cannot be listed: ", ids.status().ToString());
    finding_.snapshots = static_cast<int64_t>(ids->size());
    std::map<std::tuple<std::string, int64_t, CommitKind>, SnapshotId> seen;
    for (size_t i = 0; i < ids->size(); ++i) {
      if ((*ids)[i] != SnapshotId(static_cast<int64_t>(i) + 1))
        return Fault("snapshot ", i + 1, " is missing");
      const Result<Snapshot> snapshot = ReadSnapshot(table, (*ids)[i]);
      if (!snapshot.ok()) return Fault("a snapshot cannot be read: ", snapshot.status().ToString());
      const auto [earlier, fresh] =
          seen.emplace(std::tuple(snapshot->commit_user, snapshot->commit_identifier, snapshot->commit_kind),
                       snapshot->id);
      if (!fresh)
        Fault("snapshots ", earlier->second, " and ", snapshot->id, " are the same commit, made twice");
      CheckSnapshot(table, *snapshot);
    }
    const Result<std::optional<SnapshotId>> latest = FindLatestSnapshotId(table);
    if (!latest.ok()) return Fault("the latest snapshot is not found: ", latest.status().ToString());
    const SnapshotId expected(static_cast<int64_t>(ids->size()));
    if (latest->value_or(SnapshotId(0)) != expected)
      Fault("snapshot ", expected, " is not found as the latest");
  }

  void CheckSnapshot(const Table& table, const Snapshot& snapshot) {
    const auto writer = std::find_if(writers_.begin(), writers_.end(),
                                     [&](const Writer& w) { return w.user == snapshot.commit_user; });
    if (writer == writers_.end())
      return Fault("snapshot ", snapshot.id, " is of nobody: ", snapshot.commit_user);
    const int step = static_cast<int>(snapshot.commit_identifier);
    if (step < finding_.steps[writer->user] || step > writer->story->last_step()) {
      return Fault("snapshot ", snapshot.id, " is of step ", step, " after step ",
                   finding_.steps[writer->user]);
    }
    for (int& done = finding_.steps[writer->user]; done < step; ++done) {
      model_.Apply(writer->story->steps[static_cast<size_t>(done)]);
    }
    const Result<std::string> bytes = table.store->ReadAll(SnapshotPath(table, snapshot.id));
    if (!bytes.ok())
      return Fault("snapshot ", snapshot.id, " cannot be read again: ", bytes.status().ToString());
    finding_.sound[snapshot.id.value] = *bytes;
    if (before_ != nullptr && before_->sound.contains(snapshot.id.value)) {
      if (before_->sound.at(snapshot.id.value) != *bytes)
        Fault("snapshot ", snapshot.id, " is another than before");
      return;
    }
    CheckFiles(table, snapshot);
    CheckRows(table, snapshot);
  }

  void CheckRows(const Table& table, const Snapshot& snapshot) {
    const Result<std::vector<Row>> rows = RowsOf(table, snapshot);
    if (!rows.ok()) return Fault("snapshot ", snapshot.id, " cannot be read: ", rows.status().ToString());
    const std::vector<Row> expected = model_.Rows();
    if (*rows != expected) {
      Fault("snapshot ", snapshot.id, " (step ", snapshot.commit_identifier, " of ", snapshot.commit_user,
            ") holds other rows:\n  found   ", Text(*rows), "\n  expected", Text(expected));
    }
  }

  void CheckFiles(const Table& table, const Snapshot& snapshot) {
    const auto check_entries = [&](const Result<std::vector<ManifestEntry>>& entries,
                                   const std::string& what) {
      if (!entries.ok())
        return Fault("the ", what, " files of snapshot ", snapshot.id, ": ", entries.status().ToString());
      for (const ManifestEntry& entry : *entries) {
        const Result<std::string> path = table.PathOf(entry);
        if (!path.ok()) return Fault("a file without a path: ", path.status().ToString());
        const auto info = table.store->Stat(*path);
        if (!info.ok() || !info->has_value()) {
          Fault("snapshot ", snapshot.id, " names a file that is not there: ", *path);
        } else if ((*info)->size_bytes != entry.file.size_bytes) {
          Fault("the file ", *path, " has ", (*info)->size_bytes, " bytes, its entry says ",
                entry.file.size_bytes);
        }
      }
    };
    check_entries(LiveFiles(table, snapshot), "live");
    check_entries(ChangelogEntries(table, snapshot), "changelog");
  }

  void CheckChanges(const Table& table) {
    const auto found = ChangesOf(table);
    if (!found.ok()) return Fault("the changes cannot be read: ", found.status().ToString());
    std::map<int64_t, std::vector<Change>> expected = model_.changes();
    for (const auto& [id, changes] : *found) {
      if (expected[id] != changes) {
        Fault("other changes of id ", id, ":\n  found   ", Text(changes), "\n  expected", Text(expected[id]));
      }
      expected.erase(id);
    }
    for (const auto& [id, changes] : expected) {
      if (!changes.empty()) Fault("the changes of id ", id, " are missing:", Text(changes));
    }
  }

  const std::vector<Writer>& writers_;
  const Finding* const before_;
  Model model_;
  Finding& finding_;
};

}  // namespace

Finding Witness(const std::shared_ptr<Store>& store, const std::vector<Writer>& writers,
                const Finding* before) {
  Finding finding;
  Examination(writers, before, &finding).Run(store);
  return finding;
}

Finding Witness(const std::shared_ptr<Store>& store, const Story& story, const Progress& progress,
                const Finding* before) {
  return Witness(store, {{kTeller, &story, &progress}}, before);
}

Result<std::vector<Row>> ReadState(const Table& table) {
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> latest, ReadLatestSnapshot(table));
  if (!latest.has_value()) return std::vector<Row>();
  return RowsOf(table, *latest);
}

Result<std::map<int64_t, std::vector<Change>>> ReadChanges(const Table& table) {
  return ChangesOf(table, true);
}

Result<std::vector<Row>> ReadState(const std::shared_ptr<Store>& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, OpenForReading(store));
  return ReadState(table);
}

Result<std::map<int64_t, std::vector<Change>>> ReadChanges(const std::shared_ptr<Store>& store) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, OpenForReading(store));
  return ChangesOf(table);
}

}  // namespace headrace::crash
