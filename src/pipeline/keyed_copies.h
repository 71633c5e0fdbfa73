// The copies that a pipeline asks for by SET 'copies' = 'true': what they are, and the statements that make and keep them.
//
// A copy is a table like any other, kept by a statement as somebody would write it: row by row, of all columns of its source. It belongs to no pipeline:
// all that read it keep it under one job. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "catalog/table.h"
#include "pipeline/keyed_copy.h"
#include "sql/statement.h"

namespace headrace::pipeline {

// The pipeline's part of the job's name.
inline constexpr char kCopiesJob[] = "copies";

// Nothing where none can be: of a table without primary key, by a column whose values are no keys to go by, or with a name that no table can have.
std::optional<KeyedCopy> MakeKeyedCopy(const Table& source, const std::string& column);

// What makes the copy's table.
CreateTableText TableOfCopy(const KeyedCopy& copy, const Table& source);

// The copy with its columns, by the table that there is. kInvalid where that is no copy, or where the source's columns have other types by now.
Result<KeyedCopy> WithColumns(KeyedCopy copy, const Table& source, const Table& made);
// What keeps it.
InsertText InsertOfCopy(const KeyedCopy& copy, const Table& made);

}  // namespace headrace::pipeline
