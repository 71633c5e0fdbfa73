// How each leaf column of a Parquet file is encoded, told from a first batch of rows.
//
// Strings, bytes and wide decimals: a dictionary halves the cost of a column of few values and triples the cost of one of many.
// Whole numbers (dates, times and narrow decimals too): packed differences without a codec are the cheapest to write and to
// read and mostly the smallest, but a few values far apart are smaller in a dictionary, and skewed ones under the codec; both
// are estimated against each other on the first values. Pure; bounded work whatever the batch.
#pragma once

#include <vector>

#include <arrow/type_fwd.h>
#include <arrow/util/type_fwd.h>

namespace headrace {

enum class LeafEncoding {
  kPlain,       // and the file's codec
  kDictionary,  // codes under the codec
  kDelta,       // whole numbers only: DELTA_BINARY_PACKED, no codec
};

// What whole numbers are held against. Nothing to pack: they stay plain.
struct IntegerRules {
  bool pack = true;
  bool dictionary = true;               // may they have one
  arrow::util::Codec* codec = nullptr;  // of the file; nullptr: none
};

// One answer a leaf, in Parquet's leaf order (depth first).
std::vector<LeafEncoding> ChooseEncodings(const arrow::RecordBatch& first, const IntegerRules& integers);

}  // namespace headrace
