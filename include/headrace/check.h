// Checking a table: every file that a snapshot refers to is there and says what it should, level by level, row by row.
//
// A check changes nothing and stops at nothing: damage is a finding, not an error. It may run beside writers. See docs/check.md.
#pragma once

#include <span>
#include <string>

#include "headrace/check_terms.h"
#include "headrace/error.h"

namespace headrace {

class Engine;

// Checks a table by its name or folder, also one that OpenTable refuses because its schemas are damaged or its options not built here.
// kNotFound when there is no such table or no such snapshot.
Result<CheckReport> CheckTable(Engine* engine, const std::string& name, const CheckOptions& options);

// Every kind there is, in the order of docs/check.md.
std::span<const FindingKindInfo> FindingKinds();

}  // namespace headrace
