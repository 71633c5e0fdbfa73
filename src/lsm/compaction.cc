#include "lsm/compaction.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>

#include "lsm/key_value_batch.h"
#include "lsm/level_merge.h"
#include "lsm/lookup.h"
#include "lsm/lookup_cache.h"
#include "lsm/merge.h"
#include "lsm/merged_files.h"
#include "lsm/sections.h"

namespace headrace {
namespace {

// What is done with a file that overlaps nothing, besides its new level.
enum class Upgrade { kMove, kMoveAndTell, kRewrite };

// One compaction under way: what it has removed, kept and written so far.
class Compactor {
 public:
  Compactor(const CompactionTask& task, FileNames* names)
      : task_(task),
        plan_(task.plan),
        files_(task.files),
        options_(*task.files.options),
        names_(names),
        shape_(*task.files.schema) {
    if (files_.deletions != nullptr) deletions_ = *files_.deletions;
  }

  Result<Compacted> Run() {
    const Status status = Walk();
    if (!status.ok()) {
      (void)files_.Delete(written_);
      return status;
    }
    for (auto& [name, vector] : marked_) {
      deletions_[name] = std::shared_ptr<const DeletionVector>(std::move(vector));
      deletions_changed_ = true;
    }
    Compacted done;
    done.increment = std::move(increment_);
    if (deletions_changed_) done.deletions = std::make_shared<const DeletionVectors>(std::move(deletions_));
    return done;
  }

 private:
  // Files that overlap nothing and are large split what must be rewritten into pieces; small ones are rewritten with the piece.
  Status Walk() {
    if (plan_.one_by_one) {
      for (const TreeFilePtr& file : plan_.files)
        HEADRACE_RETURN_NOT_OK(Rewrite({{{file}}}, plan_.drop_deletes));
      return Status::OK();
    }
    const int64_t small_bytes = CompactionFileBytes(options_);
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
        HEADRACE_RETURN_NOT_OK(UpgradeFile(file));
      }
    }
    return RewritePending();
  }

  Status RewritePending() {
    std::vector<Section> sections = std::exchange(pending_, {});
    if (sections.empty()) return Status::OK();
    if (sections.size() > 1 || sections[0].size() > 1)
      return Rewrite(std::move(sections), plan_.drop_deletes);
    for (const TreeFilePtr& file : sections[0][0]) HEADRACE_RETURN_NOT_OK(UpgradeFile(file));
    return Status::OK();
  }

  // A file that may hold deletes does not reach the top level as it is.
  Status UpgradeFile(const TreeFilePtr& file) {
    const bool drops = plan_.output == plan_.max_level && file->may_hold_deletes();
    if (drops || options_.force_rewrite_all_files) return Rewrite({{{file}}}, plan_.drop_deletes);
    if (file->meta.level == plan_.output) return Status::OK();
    switch (UpgradeOf(*file)) {
      case Upgrade::kRewrite: return Rewrite({{{file}}}, options_.deletion_vectors);
      case Upgrade::kMoveAndTell:
        HEADRACE_RETURN_NOT_OK(MergeLevels({{{file}}}, /*keeps_rows=*/false, false));
        break;
      case Upgrade::kMove: break;
    }
    DataFileMeta moved = file->meta;
    moved.level = plan_.output;
    increment_.removed.push_back(file->meta);
    increment_.added.push_back(std::move(moved));
    return Status::OK();
  }

  Upgrade UpgradeOf(const TreeFile& file) const {
    if (TellsFullChanges()) return Upgrade::kMoveAndTell;
    if (!options_.needs_lookup() || file.meta.level.value != 0) return Upgrade::kMove;
    if (options_.deletion_vectors && file.may_hold_deletes()) return Upgrade::kRewrite;
    if (plan_.output == plan_.max_level) return Upgrade::kMoveAndTell;
    // The newest row as it is, whatever lies deeper; every other rule must see the row below.
    const bool newest_wins =
        options_.merge_engine == MergeEngine::kDeduplicate && options_.sequence_fields.empty();
    return newest_wins ? Upgrade::kMoveAndTell : Upgrade::kRewrite;
  }

  bool TellsFullChanges() const {
    return options_.changelog_producer == ChangelogProducer::kFullCompaction && task_.tells_changes &&
           plan_.output == plan_.max_level;
  }
  bool TellsLookupChanges() const {
    return options_.changelog_producer == ChangelogProducer::kLookup && task_.tells_changes;
  }

  Status Rewrite(std::vector<Section> sections, bool drop_deletes) {
    for (const Section& section : sections) {
      for (const RunFiles& run : section) {
        for (const TreeFilePtr& file : run) {
          increment_.removed.push_back(file->meta);
          deletions_changed_ |= deletions_.erase(file->meta.name) > 0;
        }
      }
    }
    const bool by_levels = options_.needs_lookup() || TellsFullChanges();
    return by_levels ? MergeLevels(std::move(sections), /*keeps_rows=*/true, drop_deletes)
                     : MergeRows(std::move(sections), drop_deletes);
  }

  Status MergeRows(std::vector<Section> sections, bool drop_deletes) {
    MergeRequest request;
    request.sections = std::move(sections);
    request.values = files_.schema->ColumnNames();
    request.sequence_and_kind = true;
    request.key_ordered = true;
    request.policy = task_.policy;
    request.policy.drop_deletes = drop_deletes;
    request.memory_bytes = std::min(request.memory_bytes, files_.memory_bytes);
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RowStream> rows, OpenMerge(files_, std::move(request)));
    MergedFiles data = DataFiles();
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, rows->Next());
      if (batch == nullptr) return Finish(&data, &increment_.added);
      HEADRACE_RETURN_NOT_OK(data.Write(batch));
    }
  }

  Status MergeLevels(std::vector<Section> sections, bool keeps_rows, bool drop_deletes) {
    LevelMergeSpec spec;
    spec.sections = std::move(sections);
    spec.policy = task_.policy;
    spec.policy.drop_deletes = drop_deletes;
    spec.before = TellsFullChanges() ? BeforeImages::kTopLevel : BeforeImages::kLowestAbove;
    spec.top = plan_.max_level;
    spec.output = plan_.output;
    spec.keeps_rows = keeps_rows;
    spec.tells_changes = TellsFullChanges() || TellsLookupChanges();
    spec.places_only = PlacesOnly();
    spec.memory_bytes = std::min(spec.memory_bytes, files_.memory_bytes);
    HEADRACE_ASSIGN_OR_RETURN(spec.below, LookupBelow());
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<LevelMerge> merge,
                              LevelMerge::Open(files_, std::move(spec)));
    MergedFiles data = DataFiles();
    MergedFiles changelog(files_.WriteSpec(names_, FileRole::kChangelog, plan_.output, FileSource::kAppend),
                          shape_);
    LevelMerged merged;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const bool more, merge->Next(&merged));
      if (!more) break;
      HEADRACE_RETURN_NOT_OK(data.Write(merged.rows));
      HEADRACE_RETURN_NOT_OK(changelog.Write(merged.changes));
      if (options_.deletion_vectors) MarkDeleted(merged.replaced);
    }
    HEADRACE_RETURN_NOT_OK(Finish(&data, &increment_.added));
    return Finish(&changelog, &increment_.changelog);
  }

  // What a replaced row held matters neither to the merge nor to a changelog.
  bool PlacesOnly() const {
    return options_.deletion_vectors && !TellsLookupChanges() &&
           options_.merge_engine == MergeEngine::kDeduplicate && options_.sequence_fields.empty();
  }

  // Null where nothing lies below the output.
  Result<const TreeLookup*> LookupBelow() {
    if (lookup_ != nullptr || !options_.needs_lookup() || plan_.tree.highest_level() <= plan_.output)
      return lookup_.get();
    // Windows follow each other in key order: what one has read the next may need.
    LookupCache* cache = task_.lookup_cache;
    if (cache == nullptr) cache = &own_cache_.emplace(files_.memory_bytes / 4);
    const bool places = PlacesOnly() || options_.merge_engine == MergeEngine::kFirstRow;
    HEADRACE_ASSIGN_OR_RETURN(
        lookup_, TreeLookup::Open(files_, plan_.tree,
                                  places ? std::vector<std::string>{} : files_.schema->ColumnNames(), cache));
    return lookup_.get();
  }

  void MarkDeleted(const std::vector<LookupRows::Place>& places) {
    for (const LookupRows::Place& place : places) {
      std::unique_ptr<DeletionVector>& vector = marked_[place.file->meta.name];
      if (vector == nullptr) {
        const auto old = deletions_.find(place.file->meta.name);
        vector = old == deletions_.end() ? std::make_unique<DeletionVector>()
                                         : std::make_unique<DeletionVector>(*old->second);
      }
      vector->Delete(place.position);
    }
  }

  MergedFiles DataFiles() const {
    return {files_.WriteSpec(names_, FileRole::kData, plan_.output, FileSource::kCompact), shape_};
  }

  Status Finish(MergedFiles* rows, std::vector<DataFileMeta>* into) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataFileMeta> files, rows->Close());
    written_.insert(written_.end(), files.begin(), files.end());
    into->insert(into->end(), files.begin(), files.end());
    return Status::OK();
  }

  const CompactionTask& task_;
  const CompactionPlan& plan_;
  const BucketFiles& files_;
  const TableOptions& options_;
  FileNames* names_;
  const KeyValueShape shape_;
  std::optional<LookupCache> own_cache_;  // outlives lookup_
  std::unique_ptr<TreeLookup> lookup_;
  std::vector<Section> pending_;
  std::vector<DataFileMeta> written_;
  DeletionVectors deletions_;
  bool deletions_changed_ = false;
  std::map<std::string, std::unique_ptr<DeletionVector>> marked_;
  FileIncrement increment_;
};

}  // namespace

int64_t CompactionFileBytes(const TableOptions& options) { return options.target_file_bytes / 10 * 7; }

Result<Compacted> Compact(const CompactionTask& task, FileNames* names) {
  return Compactor(task, names).Run();
}

}  // namespace headrace
