#include "lsm/key_ranges.h"

#include <algorithm>
#include <span>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/data_file_pages.h"

namespace headrace {
namespace {

constexpr size_t kRangeKeysPart = 0;
constexpr size_t kRangeRowsPart = 1;
constexpr size_t kPagesInARowForOne = 4;  // a page on its own costs as much as this many in a row

// What the index says of the largest first columns; empty where it does not tell, or not in today's type.
std::vector<EncodedKey> LargestOf(const DataFilePages& pages, const KeyOrder& order) {
  std::vector<EncodedKey> largest;
  for (const Value& value : pages.largest_keys()) {
    Result<EncodedKey> encoded = order.Encode(std::span(&value, 1));
    if (!encoded.ok()) return {};
    largest.push_back(*std::move(encoded));
  }
  return largest;
}

// The blocks that hold rows of the ranges, if the index is right.
size_t BlocksWanted(const std::vector<EncodedKey>& largest, const std::vector<KeyRange>& ranges) {
  size_t wanted = 0;
  size_t counted = 0;  // blocks before this one are counted, or not wanted
  for (const KeyRange& range : ranges) {
    const auto from = largest.begin() + static_cast<std::ptrdiff_t>(counted);
    const auto begin = std::lower_bound(from, largest.end(), range.first);
    if (begin == largest.end()) break;
    const auto last = range.last ? std::upper_bound(begin, largest.end(), *range.last) : largest.end() - 1;
    const size_t end = static_cast<size_t>(std::min(last, largest.end() - 1) - largest.begin()) + 1;
    wanted += end - static_cast<size_t>(begin - largest.begin());
    counted = end;
  }
  return wanted;
}

class KeyRangesReader final : public DataFileReader {
 public:
  KeyRangesReader(std::string name, std::shared_ptr<const DataFilePages> pages,
                  std::unique_ptr<PageCursor> cursor, std::vector<EncodedKey> largest,
                  std::shared_ptr<const KeyRanges> ranges, std::shared_ptr<arrow::Schema> schema)
      : name_(std::move(name)),
        pages_(std::move(pages)),
        cursor_(std::move(cursor)),
        largest_(std::move(largest)),
        ranges_(std::move(ranges)),
        schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (range_ == ranges_->ranges.size() || next_ == largest_.size()) return nullptr;
      HEADRACE_ASSIGN_OR_RETURN(const bool is_next_wanted, in_range_ ? GoesOn() : Begin());
      in_range_ = is_next_wanted;
      if (is_next_wanted) return cursor_->Read(next_++, kRangeRowsPart);
      ++range_;
    }
  }

 private:
  struct Ends {
    size_t block = 0;
    EncodedKey first, last;
  };

  // The first columns of a block's first and last row.
  Result<const Ends*> EndsOf(size_t block) {
    if (ends_ && ends_->block == block) return &*ends_;
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> keys,
                              cursor_->Read(block, kRangeKeysPart));
    Result<KeyColumn> encoded = ranges_->order.Encode({keys->column(0)});
    if (!encoded.ok()) return WithContext(name_, encoded.status());
    ends_ = Ends{block, encoded->Encoded(0), encoded->Encoded(keys->num_rows() - 1)};
    return &*ends_;
  }

  // Whether the range, of which the block before holds rows or may hold some, reaches beyond that.
  Result<bool> GoesOn() {
    const std::optional<EncodedKey>& last = ranges_->ranges[range_].last;
    if (!last) return true;
    HEADRACE_ASSIGN_OR_RETURN(const Ends* const before, EndsOf(next_ - 1));
    return before->last <= *last;
  }

  // Moves `next_` to the first block that may hold rows of the range; false when what was read holds all of it.
  Result<bool> Begin() {
    const KeyRange& range = ranges_->ranges[range_];
    if (next_ > 0) {
      HEADRACE_ASSIGN_OR_RETURN(const Ends* const before, EndsOf(next_ - 1));
      if (before->last >= range.first) return GoesOn();
    }
    const auto guessed =
        std::lower_bound(largest_.begin() + static_cast<std::ptrdiff_t>(next_), largest_.end(), range.first);
    size_t block = std::min(static_cast<size_t>(guessed - largest_.begin()), largest_.size() - 1);
    // Rows of the range lie in the block before only where it does not begin in this one.
    while (block > next_) {
      HEADRACE_ASSIGN_OR_RETURN(const Ends* const ends, EndsOf(block));
      if (ends->first < range.first) break;
      --block;
    }
    next_ = block;
    return true;
  }

  const std::string name_;
  const std::shared_ptr<const DataFilePages> pages_;
  const std::unique_ptr<PageCursor> cursor_;
  const std::vector<EncodedKey> largest_;  // by block
  const std::shared_ptr<const KeyRanges> ranges_;
  const std::shared_ptr<arrow::Schema> schema_;
  size_t range_ = 0;
  bool in_range_ = false;  // the block before `next_` is of the range
  size_t next_ = 0;        // blocks before are read, or hold nothing of the ranges
  std::optional<Ends> ends_;
};

}  // namespace

Result<std::unique_ptr<DataFileReader>> OpenKeyRanges(Store* store, const std::string& path,
                                                      const DataFileMeta& file,
                                                      const FileReadOptions& options,
                                                      std::shared_ptr<const KeyRanges> ranges) {
  ReadColumns keys;
  keys.keys = true;
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const DataFilePages> pages,
                            DataFilePages::Open(store, path, file, options, {keys, options.columns}));
  std::vector<EncodedKey> largest = LargestOf(*pages, ranges->order);
  if (largest.empty() || !std::is_sorted(largest.begin(), largest.end())) return nullptr;
  if (BlocksWanted(largest, ranges->ranges) * kPagesInARowForOne > largest.size()) return nullptr;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<PageCursor> cursor, pages->OpenCursor(store));
  auto schema = pages->schema(kRangeRowsPart);
  return std::make_unique<KeyRangesReader>("data file " + file.name, std::move(pages), std::move(cursor),
                                           std::move(largest), std::move(ranges), std::move(schema));
}

}  // namespace headrace
