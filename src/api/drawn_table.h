// A table drawn with lines for a terminal.
//
// Widths are settled by the first rows, which are held back; later rows that are wider are cut when the terminal's width is
// given, and stand out otherwise. Numbers stand to the right.
#pragma once

#include <memory>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "headrace/rows.h"

namespace headrace {

Result<std::unique_ptr<RowSink>> OpenDrawnTable(std::shared_ptr<arrow::Schema> schema,
                                                std::shared_ptr<arrow::io::OutputStream> output, int width);

}  // namespace headrace
