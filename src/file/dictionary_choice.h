// Which leaf columns of a Parquet file are worth a dictionary, told from a first batch of rows.
//
// A dictionary halves the cost of a column of few strings and triples the cost of a column of many. Numbers are cheap to
// compress plain, so only strings, bytes and wide decimals are looked at. Pure; bounded work whatever the batch.
#pragma once

#include <vector>

#include <arrow/type_fwd.h>

namespace headrace {

// One answer a leaf, in Parquet's leaf order (depth first).
std::vector<bool> ChooseDictionaries(const arrow::RecordBatch& first);

}  // namespace headrace
