// Rows of a scenario to Arrow and back, and how lists of rows are compared.
//
// A cell's text is what JSON lines show of a value, without quotes. Types without such a text (arrays, maps, rows) are kUnsupported.
// Pure functions but for the readers they empty.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "format/value.h"
#include "tests/scenarios/scenario.h"

namespace headrace::scenario {

// kInvalid names the row that has too many or too few cells, or a cell that is not of its column's type.
Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<DataField>& fields,
                                                    const std::vector<Row>& rows);
std::shared_ptr<arrow::Array> KindsOf(const std::vector<Row>& rows);
Result<std::vector<Value>> ValuesOf(const std::vector<DataField>& fields, const std::vector<Cell>& cells);

// Appends the rows of a batch with these fields; with a column more, the last, it holds the kinds.
Status AppendRows(const arrow::RecordBatch& batch, const std::vector<DataField>& fields,
                  std::vector<Row>* rows);
Result<std::vector<Row>> ReadAll(arrow::RecordBatchReader* reader, const std::vector<DataField>& fields);

// The rows with every cell as a reader would show it: "01" of an INT is "1".
Result<std::vector<Row>> Normalised(const std::vector<DataField>& fields, const std::vector<Row>& rows);

// Sorted, so that rows in no order can be compared.
std::vector<Row> Sorted(std::vector<Row> rows);
// Rows of one key stay in their order, keys are sorted. `key` are places of columns.
std::vector<Row> SortedByKey(std::vector<Row> rows, const std::vector<size_t>& key);

// What is expected and not there, and what is there and not expected; nothing when the lists are equal.
std::optional<std::string> Difference(const std::vector<Row>& expected, const std::vector<Row>& found,
                                      bool with_kind);

}  // namespace headrace::scenario
