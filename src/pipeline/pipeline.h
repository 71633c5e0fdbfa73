// A pipeline's script: CREATE TABLE and INSERT INTO … SELECT statements, USE, and SET. Every INSERT is a stage; a stage may read what another one writes.
// How they run together: run_stages.h. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "pipeline/stage_plan.h"
#include "sql/statement.h"

namespace headrace::pipeline {

struct Script {
  std::vector<CreateTableText> tables;  // with their databases
  std::vector<InsertText> inserts;      // with their databases
  std::string database;                 // that USE named last; empty: none
  bool copies = false;                  // SET 'copies' = 'true': keyed_copies.h
};

// kUnsupported names a statement that is neither. `database`: what names without one are in at the start.
Result<Script> ParsePipeline(std::string_view text, const std::string& database);

// The job of the n-th stage of a pipeline: what its target keeps its position under.
std::string JobName(std::string_view pipeline, std::string_view target, int nth_of_target);

// kUnsupported when tables would go round in a ring, each fed by the next: they might never come to rest.
Status CheckNoRing(const std::vector<StagePlan>& plans);

}  // namespace headrace::pipeline
