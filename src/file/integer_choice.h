// How a column of whole numbers is encoded: packed differences, a dictionary, or plain values under the codec.
//
// The size of each is estimated on a run of the column's first values: differences exactly as DELTA_BINARY_PACKED lays them out
// (blocks of 128, miniblocks of 32), plain values by compressing them. Differences win unless another is clearly smaller.
#pragma once

#include <cstdint>
#include <span>

#include <arrow/type_fwd.h>

#include "file/encoding_choice.h"

namespace headrace {

// Whether Parquet files hold the type as INT32 or INT64.
bool IsWholeNumber(const arrow::DataType& type);

// Of an array of such a type.
LeafEncoding ChooseIntegerEncoding(const arrow::Array& array, const IntegerRules& rules);

// The bits that DELTA_BINARY_PACKED takes for these values of `width` (32 or 64) bits, the last miniblock not filled up: what the
// first rows of a file cost there says nothing of the rest.
int64_t PackedBits(std::span<const int64_t> values, int width);

}  // namespace headrace
