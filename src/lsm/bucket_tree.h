// One (partition, bucket) as its writer sees it: a buffer in front of the files, flushed and compacted, giving file changes.
//
// Three kinds behind one interface: a merge tree (table with a primary key), a row bucket (append table), and a staging bucket where rows
// of a table with bucket = -2 wait. A tree never commits:
// TakeChange() hands over what changed since the last call, and whoever takes it answers for those files.
//
// Threads: all methods belong to one thread at a time, except RunCompaction, which may run on any thread beside the others: it
// sees only the plan and immutable settings. At most one compaction is under way per tree: PickCompaction gives nothing until the
// result of the last one was applied or dropped. Source: MergeTreeWriter, AppendOnlyWriter, MergeTreeCompactManager.
//
//   tree->Append(rows, kinds) … tree->Flush();
//   if (auto job = tree->PickCompaction(/*full=*/false)) {
//     auto result = tree->RunCompaction(*job);                    // here or on another thread
//     if (result.ok()) tree->ApplyCompaction(*result); else tree->DropCompaction();
//   }
//   FileChange change = tree->TakeChange();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/file_change.h"
#include "io/scratch.h"
#include "lsm/bucket_files.h"
#include "lsm/compaction_picker.h"

namespace headrace {

class LookupCache;  // lsm/lookup_cache.h

struct BucketTreeSpec {
  BucketFiles files;           // clock and options are required
  std::string uuid;            // in the names of the files this tree writes
  Scratch* scratch = nullptr;  // where rows are put aside when memory is short; null: nowhere
  // The bucket's index files in the snapshot the writer builds on; `files.deletions` is what those of deletion vectors hold.
  std::vector<IndexManifestEntry> index = {};
  LookupCache* lookup_cache =
      nullptr;  // for before images; outlives the tree; null: each compaction has a small one
  bool overwrites =
      false;  // what the bucket held before does not count: its changelog by lookup would not be true
};

// What a compaction made: files that are on disk and listed nowhere yet.
struct CompactionResult {
  FileIncrement increment;
  std::shared_ptr<const DeletionVectors> deletions = nullptr;  // of the bucket from now on; null: as before
};

class BucketTree {
 public:
  // `live` are the bucket's live files in the snapshot the writer builds on; empty to ignore them (an overwrite).
  static Result<std::unique_ptr<BucketTree>> Open(BucketTreeSpec spec, const std::vector<DataFileMeta>& live);
  virtual ~BucketTree() = default;

  // `rows` has all columns of the schema in order; `kinds` (int8, RowKind) may be null: all inserts. Rows get consecutive sequence
  // numbers in the order given. With `ignore-delete` retractions are dropped here and get no number. A row bucket takes inserts
  // alone (kInvalid otherwise).
  virtual Status Append(const std::shared_ptr<arrow::RecordBatch>& rows,
                        const std::shared_ptr<arrow::Array>& kinds) = 0;

  // Rows that no file holds yet, and what of them is in memory.
  virtual int64_t buffered_rows() const = 0;
  virtual int64_t buffered_bytes() const = 0;

  // Makes room in memory: buffered rows are put aside on local disk until the next flush. False, and nothing done, where the table or its
  // options do not want that or its share of the disk is used up: then Flush. On failure the rows are still buffered.
  virtual Result<bool> Spill() = 0;

  // Buffered rows become level-0 files and, with changelog-producer=input, changelog files. On failure the rows are still buffered
  // and no file is left.
  virtual Status Flush() = 0;

  // True when so many runs have gathered (num-sorted-run.stop-trigger) that the writer should wait for a compaction.
  virtual bool ShouldWaitForCompaction() const = 0;

  // True when level 0 holds files whose changes nobody has seen: a commit that waits for lookup has them compacted first.
  virtual bool HasFilesForLookup() const = 0;

  // The next compaction, or nothing: no need, one under way, or `write-only` (which a full one overrides).
  virtual std::optional<CompactionPlan> PickCompaction(bool full) = 0;
  virtual bool compaction_under_way() const = 0;
  // On failure its files are deleted.
  virtual Result<CompactionResult> RunCompaction(const CompactionPlan& plan) const = 0;
  // The tree takes the result over. The files it replaced may be deleted here when no commit ever listed them.
  virtual Status ApplyCompaction(const CompactionResult& result) = 0;
  // Forgets the compaction under way; `result`, if there is one, is deleted.
  virtual Status DropCompaction(const CompactionResult* result = nullptr) = 0;

  // Everything flushed and applied since the last call.
  virtual FileChange TakeChange() = 0;
  // Deletes what was flushed and applied since the last TakeChange, and the buffer: the tree is of no use afterwards.
  virtual Status Discard() = 0;

  // The largest sequence number in the files and the buffer; -1 when there is none.
  virtual int64_t max_sequence() const = 0;
  // Live files as the tree knows them, newest run first.
  virtual std::vector<DataFileMeta> LiveFiles() const = 0;
};

// The same rows in new files with every sequence number raised by `raise`: for a writer that lost a race to another which drew the
// same numbers. Only `added` and `changelog` of an append increment are rewritten; the old files are left to the caller.
Result<FileIncrement> RaiseSequences(const BucketTreeSpec& spec, const FileIncrement& append, int64_t raise);

}  // namespace headrace
