#include "lsm/compaction.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>

#include "lsm/key_value_batch.h"
#include "lsm/merge.h"
#include "lsm/sections.h"

namespace headrace {
namespace {

// One compaction under way: what it has removed, kept and written so far.
class Compactor {
 public:
  Compactor(const CompactionPlan& plan, const BucketFiles& files, FileNames* names, MergePolicy policy)
      : plan_(plan), files_(files), names_(names), policy_(std::move(policy)) {
    policy_.drop_deletes = plan.drop_deletes;
  }

  Result<FileIncrement> Run() {
    const Status status = Walk();
    if (status.ok()) return std::move(increment_);
    (void)files_.Delete(written_);
    return status;
  }

 private:
  // Files that overlap nothing and are large split what must be rewritten into pieces; small ones are rewritten with the piece.
  Status Walk() {
    const int64_t small_bytes = CompactionFileBytes(*files_.options);
    for (Section& section : PartitionIntoSections(plan_.files)) {
      if (section.size() > 1) {
        pending_.push_back(std::move(section));
        continue;
      }
      for (const TreeFilePtr& file : section[0]) {
        if (file->meta.size_bytes < small_bytes) {
          pending_.push_back({{file}});
          continue;
        }
        HEADRACE_RETURN_NOT_OK(RewritePending());
        HEADRACE_RETURN_NOT_OK(Upgrade(file));
      }
    }
    return RewritePending();
  }

  Status RewritePending() {
    std::vector<Section> sections = std::exchange(pending_, {});
    if (sections.empty()) return Status::OK();
    if (sections.size() > 1 || sections[0].size() > 1) return Rewrite(std::move(sections));
    for (const TreeFilePtr& file : sections[0][0]) HEADRACE_RETURN_NOT_OK(Upgrade(file));
    return Status::OK();
  }

  // A file that may hold deletes does not reach the top level as it is. Otherwise only its level changes.
  Status Upgrade(const TreeFilePtr& file) {
    if (plan_.output == plan_.max_level && file->may_hold_deletes()) return Rewrite({{{file}}});
    if (file->meta.level == plan_.output) return Status::OK();
    DataFileMeta moved = file->meta;
    moved.level = plan_.output;
    increment_.removed.push_back(file->meta);
    increment_.added.push_back(std::move(moved));
    return Status::OK();
  }

  Status Rewrite(std::vector<Section> sections) {
    for (const Section& section : sections) {
      for (const RunFiles& run : section) {
        for (const TreeFilePtr& file : run) increment_.removed.push_back(file->meta);
      }
    }
    MergeRequest request;
    request.sections = std::move(sections);
    request.values = files_.schema->ColumnNames();
    request.sequence_and_kind = true;
    request.key_ordered = true;
    request.policy = policy_;
    request.memory_bytes = std::min(request.memory_bytes, files_.memory_bytes);
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RowStream> rows, OpenMerge(files_, std::move(request)));
    HEADRACE_ASSIGN_OR_RETURN(std::vector<DataFileMeta> files, Write(rows.get()));
    written_.insert(written_.end(), files.begin(), files.end());
    increment_.added.insert(increment_.added.end(), files.begin(), files.end());
    return Status::OK();
  }

  // No file when no row is left.
  Result<std::vector<DataFileMeta>> Write(RowStream* rows) const {
    const KeyValueShape shape(*files_.schema);
    std::unique_ptr<DataFileWriter> writer;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, rows->Next());
      if (batch == nullptr) break;
      if (writer == nullptr) {
        HEADRACE_ASSIGN_OR_RETURN(writer, OpenKeyValueWriter(files_.WriteSpec(
                                              names_, FileRole::kData, plan_.output, FileSource::kCompact)));
      }
      HEADRACE_RETURN_NOT_OK(writer->Write(*shape.Assemble(*batch)));
    }
    if (writer == nullptr) return std::vector<DataFileMeta>{};
    return writer->Close();
  }

  const CompactionPlan& plan_;
  const BucketFiles& files_;
  FileNames* names_;
  MergePolicy policy_;
  std::vector<Section> pending_;
  std::vector<DataFileMeta> written_;
  FileIncrement increment_;
};

}  // namespace

int64_t CompactionFileBytes(const TableOptions& options) { return options.target_file_bytes / 10 * 7; }

Result<FileIncrement> Compact(const CompactionPlan& plan, const BucketFiles& files, FileNames* names,
                              const MergePolicy& policy) {
  return Compactor(plan, files, names, policy).Run();
}

}  // namespace headrace
