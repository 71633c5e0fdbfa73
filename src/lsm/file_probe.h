// Finding keys in one data file: by its key range, then by blocks of keys, then in one block; rows are read for blocks that hold one.
//
// The file's page index says in which block a key should be; what decides are the keys themselves: a key is absent only when the keys
// before and after it have been seen, or a filter of all the file's keys says so. Blocks come from the cache, or from the file and into the cache. A file of which blocks are
// read again and again for keys that it does not have is read once for a filter.
// A FileView is what all probes of one lookup share: immutable. A FileProbe serves one call: keys must ascend, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/key_order.h"
#include "lsm/levels.h"
#include "lsm/lookup_cache.h"
#include "lsm/row_block.h"

namespace headrace {

class DataFilePages;
class KeyFilter;
class PageCursor;

struct FileView {
  BucketFiles files;  // a probe finds rows that its deletions hide as well
  KeyOrder order;
  KeyOrder first_column;     // of the key, to make use of the page index
  ReadColumns keys, rest;    // what is read of a file; the rest without the key columns
  std::vector<int> sources;  // where each column of `schema` comes from: the rest, or -1 - i: key column i
  std::shared_ptr<arrow::Schema> schema;  // _SEQUENCE_NUMBER, _VALUE_KIND, the columns asked for
  LookupCache* cache = nullptr;           // may be null
  std::string columns_name;               // tells views of one file apart

  static Result<FileView> Make(BucketFiles files, const std::vector<std::string>& values, LookupCache* cache);
};

// A file of a lookup.
struct ProbedFile {
  TreeFilePtr file;
  KeyColumn min_key;
  KeyColumn max_key;
  LookupCache::SourcePtr source;  // null without a cache

  static ProbedFile Make(const FileView& view, TreeFilePtr file);
};

class FileProbe {
 public:
  FileProbe(const FileView* view, const ProbedFile* file);
  ~FileProbe();
  FileProbe(FileProbe&&) noexcept;

  // The physical row of a key, or nothing. Keys of one probe ascend strictly.
  Result<std::optional<int64_t>> Find(const KeyColumn& keys, int64_t index);

  // The rows of the block that the last key was found in, and its row there.
  Result<std::shared_ptr<const RowBlock>> Rows();
  int64_t row_in_block() const { return row_; }
  size_t block() const { return block_; }

 private:
  struct OpenedFile;  // the file's pages and what its index says of keys
  struct KeyBlock;
  struct WholeBlock;

  Status OpenFile();
  Status LoadKeys(size_t block);
  Result<std::shared_ptr<const KeyBlock>> ReadKeys(size_t block);
  Result<KeyColumn> KeysIn(const arrow::RecordBatch& batch, size_t block) const;
  Result<std::optional<int64_t>> Search(const KeyColumn& keys, int64_t index);
  void NoteVainRead();
  Status MakeFilter();
  Status CheckKeys(const KeyColumn& keys, size_t block) const;
  Result<PageCursor*> Cursor();
  size_t GuessBlock(const KeyColumn& keys, int64_t index) const;
  Status Named(const Status& status) const;

  const FileView* view_;
  const ProbedFile* file_;
  std::shared_ptr<const OpenedFile> opened_;
  std::shared_ptr<const KeyFilter> filter_;  // null: there is none
  std::unique_ptr<PageCursor> cursor_;
  std::shared_ptr<const KeyBlock> keys_;  // of block_
  std::shared_ptr<const RowBlock> rows_;  // of block_; null: not asked for yet
  size_t block_ = 0;
  size_t first_open_ = 0;  // every key of an earlier block is smaller than the last one asked for
  int64_t row_ = 0;
  int64_t reads_ = 0;  // of blocks of keys, from the file
};

}  // namespace headrace
