#include "lsm/file_probe.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "file/data_file_pages.h"
#include "file/data_file_path.h"
#include "file/physical_columns.h"
#include "lsm/key_filter.h"

namespace headrace {
namespace {

// A filter costs reading all blocks of keys once: it is made when as many were read in vain, so that at worst twice as many are read as were needed.
constexpr int64_t kFewVainReads = 16;

constexpr size_t kKeysPart = 0;
constexpr size_t kRestPart = 1;

int64_t BytesOf(const KeyColumn& keys) {
  if (keys.size() == 0) return 0;
  if (keys.is_integer()) return keys.size() * 8;
  const std::string_view last = keys.bytes(keys.size() - 1);
  return keys.size() * 4 + (last.data() + last.size() - keys.bytes(0).data());
}

// The first row at or after `begin` whose key is not smaller. Precondition: there is one.
int64_t FirstNotBelow(const KeyColumn& held, int64_t begin, const KeyColumn& keys, int64_t index) {
  if (begin > 0) return held.Bound(begin, held.size(), keys, index, /*upper=*/false);
  // A key on its own. Every look is a wait for memory, and numbers tell about where to look.
  int64_t low = 0;
  int64_t high = held.size() - 1;
  if (held.is_integer()) {
    const std::span<const int64_t> numbers = held.integers();
    const int64_t wanted = keys.integer(index);
    const double width = static_cast<double>(numbers[high]) - static_cast<double>(numbers[low]);
    const double share =
        width > 0 ? (static_cast<double>(wanted) - static_cast<double>(numbers[low])) / width : 0;
    const int64_t guess =
        std::clamp<int64_t>(static_cast<int64_t>(share * static_cast<double>(high)), low, high);
    constexpr int64_t kNear = 16;
    if (numbers[guess] < wanted) {
      low = guess + 1;
      if (guess + kNear < high && numbers[guess + kNear] >= wanted) high = guess + kNear;
    } else {
      high = guess;
      if (guess - kNear > low && numbers[guess - kNear] < wanted) low = guess - kNear + 1;
    }
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (held.Compare(middle, keys, index) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

// The largest key of each block as the page index has it: the whole of an integer key, the first column of any other.
struct FileProbe::OpenedFile {
  std::shared_ptr<const DataFilePages> pages;
  std::vector<int64_t> largest_integers;
  std::vector<EncodedKey> largest_prefixes;
  mutable std::atomic<int64_t> vain_reads{
      0};  // of keys, for one that is not in the file; since a filter was made

  int64_t memory_bytes() const {
    int64_t bytes = pages->memory_bytes() + static_cast<int64_t>(largest_integers.size() * sizeof(int64_t));
    for (const EncodedKey& prefix : largest_prefixes)
      bytes += static_cast<int64_t>(sizeof(EncodedKey) + prefix.capacity());
    return bytes;
  }
};

struct FileProbe::KeyBlock {
  KeyColumn keys;
  arrow::ArrayVector columns;
  int64_t bytes = 0;
};

// With its keys, so that one find in the cache serves a key that is there.
struct FileProbe::WholeBlock {
  std::shared_ptr<const KeyBlock> keys;
  RowBlock rows;
};

Result<FileView> FileView::Make(BucketFiles files, const std::vector<std::string>& values,
                                LookupCache* cache) {
  const TableSchema& schema = *files.schema;
  const std::vector<std::string> keys = schema.TrimmedPrimaryKeys();
  FileView view;
  HEADRACE_ASSIGN_OR_RETURN(view.order, KeyOrder::OfKey(schema.TypesOf(keys)));
  HEADRACE_ASSIGN_OR_RETURN(view.first_column, KeyOrder::OfKey({schema.TypesOf(keys)[0]}));
  view.keys.keys = true;
  view.rest.sequence = view.rest.kind = true;
  view.sources = {0, 1};
  std::vector<DataField> fields = SequenceAndKindFields();
  for (const std::string& name : values) {
    const int index = schema.FieldIndex(name);
    if (index < 0) return NotFound("there is no column '", name, "' to look up");
    fields.push_back(schema.fields[static_cast<size_t>(index)]);
    const auto key = std::find(keys.begin(), keys.end(), name);
    if (key != keys.end()) {
      view.sources.push_back(-1 - static_cast<int>(key - keys.begin()));
    } else {
      view.sources.push_back(2 + static_cast<int>(view.rest.values.size()));
      view.rest.values.push_back(name);
    }
    view.columns_name += '\n' + name;
  }
  view.schema = ToArrowSchema(fields);
  view.columns_name = std::to_string(schema.id.value) + view.columns_name;
  view.files = std::move(files);
  view.cache = cache;
  // What is kept outlives the caller and its pool.
  if (cache != nullptr) view.files.pool = nullptr;
  return view;
}

ProbedFile ProbedFile::Make(const FileView& view, TreeFilePtr file) {
  ProbedFile probed;
  probed.min_key = view.order.ColumnOf(file->min_key);
  probed.max_key = view.order.ColumnOf(file->max_key);
  if (view.cache != nullptr) {
    const std::string& folder =
        file->meta.external_path.has_value() ? *file->meta.external_path : view.files.directory;
    probed.source = view.cache->SourceOf(folder + '/' + file->meta.name + '\n' + view.columns_name);
  }
  probed.file = std::move(file);
  return probed;
}

FileProbe::FileProbe(const FileView* view, const ProbedFile* file) : view_(view), file_(file) {}
FileProbe::~FileProbe() = default;
FileProbe::FileProbe(FileProbe&&) noexcept = default;

Status FileProbe::Named(const Status& status) const {
  return WithContext("data file " + file_->file->meta.name, status);
}

Status FileProbe::OpenFile() {
  LookupCache* cache = view_->cache;
  if (cache != nullptr) {
    filter_ = cache->Find<KeyFilter>(file_->source, LookupCache::Kind::kFilter, 0);
    opened_ = cache->Find<OpenedFile>(file_->source, LookupCache::Kind::kFile, 0);
    if (opened_ != nullptr) return Status::OK();
  }
  FileReadOptions read;
  read.table_schema = view_->files.schema;
  read.schema_by_id = view_->files.schema_by_id;
  read.pool = view_->files.pool;
  const DataFileMeta& meta = file_->file->meta;
  HEADRACE_ASSIGN_OR_RETURN(const std::string path, DataFilePath(view_->files.directory, meta));
  auto opened = std::make_shared<OpenedFile>();
  HEADRACE_ASSIGN_OR_RETURN(
      opened->pages, DataFilePages::Open(view_->files.store, path, meta, read, {view_->keys, view_->rest}));
  for (const Value& largest : opened->pages->largest_keys()) {
    // Only a hint: one that cannot be had in today's type leaves the search without.
    const Result<EncodedKey> prefix = view_->first_column.Encode(std::span(&largest, 1));
    if (!prefix.ok()) {
      opened->largest_integers.clear();
      opened->largest_prefixes.clear();
      break;
    }
    if (view_->order.is_integer()) {
      opened->largest_integers.push_back(IntegerOf(*prefix));
    } else {
      opened->largest_prefixes.push_back(*prefix);
    }
  }
  if (cache != nullptr)
    cache->Put(file_->source, LookupCache::Kind::kFile, 0, opened, opened->memory_bytes());
  opened_ = std::move(opened);
  return Status::OK();
}

Result<PageCursor*> FileProbe::Cursor() {
  if (cursor_ == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(cursor_, opened_->pages->OpenCursor(view_->files.store));
  }
  return cursor_.get();
}

// What the manifest entry says of keys decides which files are asked: a row outside would be found by nobody.
Status FileProbe::CheckKeys(const KeyColumn& keys, size_t block) const {
  const int64_t first_row = opened_->pages->blocks()[block].first_row;
  for (int64_t row = 1; row < keys.size(); ++row) {
    if (keys.Compare(row - 1, keys, row) < 0) continue;
    return Named(Corruption("row ", first_row + row, " does not come after the row before it in key order"));
  }
  if (keys.Compare(0, file_->min_key, 0) < 0)
    return Named(
        Corruption("row ", first_row, " lies before the smallest key that its manifest entry gives"));
  if (keys.Compare(keys.size() - 1, file_->max_key, 0) > 0)
    return Named(Corruption("row ", first_row + keys.size() - 1,
                            " lies after the largest key that its manifest entry gives"));
  return Status::OK();
}

Result<KeyColumn> FileProbe::KeysIn(const arrow::RecordBatch& batch, size_t block) const {
  Result<KeyColumn> keys = view_->order.Encode(batch.columns());
  if (!keys.ok()) return Named(keys.status());
  HEADRACE_RETURN_NOT_OK(CheckKeys(*keys, block));
  return keys;
}

Result<std::shared_ptr<const FileProbe::KeyBlock>> FileProbe::ReadKeys(size_t block) {
  HEADRACE_ASSIGN_OR_RETURN(PageCursor* const cursor, Cursor());
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, cursor->Read(block, kKeysPart));
  ++reads_;
  auto read = std::make_shared<KeyBlock>();
  HEADRACE_ASSIGN_OR_RETURN(read->keys, KeysIn(*batch, block));
  read->columns = batch->columns();
  read->bytes = BytesOf(read->keys) + arrow::util::TotalBufferSize(*batch);
  if (view_->cache != nullptr)
    view_->cache->Put(file_->source, LookupCache::Kind::kKeys, block, read, read->bytes);
  return read;
}

Status FileProbe::LoadKeys(size_t block) {
  if (keys_ != nullptr && block_ == block) return Status::OK();
  block_ = block;
  row_ = 0;
  rows_.reset();
  keys_.reset();
  LookupCache* cache = view_->cache;
  if (cache == nullptr) return ReadKeys(block).Value(&keys_);
  if (auto whole = cache->Find<WholeBlock>(file_->source, LookupCache::Kind::kRows, block)) {
    keys_ = whole->keys;
    rows_ = {whole, &whole->rows};
    return Status::OK();
  }
  keys_ = cache->Find<KeyBlock>(file_->source, LookupCache::Kind::kKeys, block);
  return keys_ != nullptr ? Status::OK() : ReadKeys(block).Value(&keys_);
}

// The first block whose largest key is not smaller, if the page index is right; the one in the middle without one.
size_t FileProbe::GuessBlock(const KeyColumn& keys, int64_t index) const {
  const auto first = static_cast<int64_t>(first_open_);
  if (!opened_->largest_integers.empty()) {
    const std::vector<int64_t>& largest = opened_->largest_integers;
    return static_cast<size_t>(std::lower_bound(largest.begin() + first, largest.end(), keys.integer(index)) -
                               largest.begin());
  }
  const std::vector<EncodedKey>& largest = opened_->largest_prefixes;
  if (largest.empty()) {
    const size_t left = opened_->pages->blocks().size() - first_open_;
    return keys_ != nullptr ? first_open_ : first_open_ + left / 2;
  }
  const std::string_view key = keys.bytes(index);
  const auto below = [](const EncodedKey& prefix, std::string_view wanted) {
    return prefix < wanted.substr(0, prefix.size());
  };
  return static_cast<size_t>(std::lower_bound(largest.begin() + first, largest.end(), key, below) -
                             largest.begin());
}

Result<std::optional<int64_t>> FileProbe::Find(const KeyColumn& keys, int64_t index) {
  if (opened_ == nullptr) HEADRACE_RETURN_NOT_OK(OpenFile());
  if (filter_ != nullptr && !filter_->MayHold(keys, index)) return std::nullopt;
  const int64_t reads_before = reads_;
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<int64_t> position, Search(keys, index));
  if (!position && reads_ > reads_before) NoteVainRead();
  return position;
}

// A filter is only a help: where it cannot be made the blocks are read as before, and tell what is wrong with them.
void FileProbe::NoteVainRead() {
  if (view_->cache == nullptr || filter_ != nullptr) return;
  const auto blocks = static_cast<int64_t>(opened_->pages->blocks().size());
  if (opened_->vain_reads.fetch_add(1) + 1 != std::max(kFewVainReads, blocks)) return;
  (void)MakeFilter();
}

Status FileProbe::MakeFilter() {
  HEADRACE_ASSIGN_OR_RETURN(const auto cursor, opened_->pages->OpenCursor(view_->files.store));
  const DataFilePages::Block& last = opened_->pages->blocks().back();
  auto filter = std::make_shared<KeyFilter>(last.first_row + last.rows);
  for (size_t block = 0; block < opened_->pages->blocks().size(); ++block) {
    HEADRACE_ASSIGN_OR_RETURN(const auto batch, cursor->Read(block, kKeysPart));
    HEADRACE_ASSIGN_OR_RETURN(const KeyColumn keys, KeysIn(*batch, block));
    filter->Add(keys);
  }
  view_->cache->Put(file_->source, LookupCache::Kind::kFilter, 0, filter, filter->memory_bytes());
  filter_ = std::move(filter);
  opened_->vain_reads = 0;
  return Status::OK();
}

Result<std::optional<int64_t>> FileProbe::Search(const KeyColumn& keys, int64_t index) {
  size_t end = opened_->pages->blocks().size();
  size_t block = keys_ != nullptr && block_ >= first_open_ ? block_ : end;
  if (block == end && first_open_ < end) block = std::min(GuessBlock(keys, index), end - 1);
  bool guessed = keys_ == nullptr || block != block_;
  int64_t steps = 0;
  while (first_open_ < end) {
    HEADRACE_RETURN_NOT_OK(LoadKeys(block));
    const KeyColumn& held = keys_->keys;
    const bool below = held.Compare(0, keys, index) > 0;
    if (!below && held.Compare(held.size() - 1, keys, index) >= 0) {
      row_ = FirstNotBelow(held, row_, keys, index);
      if (held.Compare(row_, keys, index) != 0) return std::nullopt;
      return opened_->pages->blocks()[block].first_row + row_;
    }
    if (below) {
      end = block;
    } else {
      first_open_ = block + 1;
    }
    if (first_open_ >= end) break;
    // Past the block of the key before: where the index points. Then to the neighbour, then halving.
    if (!guessed) {
      block = std::min(GuessBlock(keys, index), end - 1);
      guessed = true;
    } else if (steps++ == 0) {
      block = below ? end - 1 : first_open_;
    } else {
      block = first_open_ + (end - first_open_) / 2;
    }
  }
  return std::nullopt;
}

Result<std::shared_ptr<const RowBlock>> FileProbe::Rows() {
  if (rows_ != nullptr) return rows_;
  HEADRACE_ASSIGN_OR_RETURN(PageCursor* const cursor, Cursor());
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> rest, cursor->Read(block_, kRestPart));
  arrow::ArrayVector columns;
  for (const int source : view_->sources)
    columns.push_back(source >= 0 ? rest->column(source) : keys_->columns[static_cast<size_t>(-1 - source)]);
  const int64_t row_count = rest->num_rows();
  auto whole = std::make_shared<const WholeBlock>(
      WholeBlock{keys_, RowBlock(arrow::RecordBatch::Make(view_->schema, row_count, std::move(columns)))});
  rows_ = {whole, &whole->rows};
  if (view_->cache != nullptr) {
    view_->cache->Put(file_->source, LookupCache::Kind::kRows, block_, std::move(whole),
                      arrow::util::TotalBufferSize(*rest) + keys_->bytes);
  }
  return rows_;
}

}  // namespace headrace
