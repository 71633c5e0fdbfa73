// A write buffer becomes level-0 files, and its raw rows changelog files.
//
// True afterwards: the files are closed and durable and listed nowhere; each is sorted and has one row a key (one whose sum overflows has
// rows in several: pieces.h); the changelog has
// every row as it was appended, sorted by key, oldest version first. On failure no file is left. Source: MergeTreeWriter.
#pragma once

#include "base/error.h"
#include "format/file_change.h"
#include "lsm/bucket_files.h"
#include "lsm/write_buffer.h"

namespace headrace {

// The increment has `added` and `changelog` alone. The buffer is left as it is.
Result<FileIncrement> FlushToLevelZero(const WriteBuffer& buffer, const BucketFiles& files, FileNames* names,
                                       bool with_changelog);

}  // namespace headrace
