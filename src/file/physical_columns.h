// The physical columns of data files, for writing and for reading.
//
// A key-value file holds, in this order: _KEY_<k> for each trimmed primary-key column (absent in thin mode), _SEQUENCE_NUMBER
// (int64), _VALUE_KIND (int8), then all table columns. A row file (append table) holds the table columns alone.
// Pure. Source: KeyValue.createKeyValueFields, SpecialFields, KeyValueThinDataFileWriterImpl.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "format/data_type.h"
#include "format/table_schema.h"

namespace headrace {

// With the reserved field ids.
std::vector<DataField> KeyFields(const TableSchema& schema);       // _KEY_… alone
std::vector<DataField> SequenceAndKindFields();                    // the two between keys and values
std::vector<DataField> KeyValueFields(const TableSchema& schema);  // keys, sequence, kind, values

// RowKind bytes as stored.
enum class RowKind : int8_t { kInsert = 0, kUpdateBefore = 1, kUpdateAfter = 2, kDelete = 3 };
inline bool IsRetract(int8_t kind) { return (kind & 1) != 0; }
std::string_view ShortName(RowKind kind);  // "+I" "-U" "+U" "-D"

}  // namespace headrace
