// Tables of an engine as relations for SQL: a state, the changes, or what is told of a table ("t$snapshots").
//
// A relation keeps the snapshot it was opened at. Files that an expiry takes away meanwhile are an error of the query.
#pragma once

#include "api/engine_state.h"
#include "sql/relation.h"

namespace headrace {

class EngineRelations final : public Relations {
 public:
  explicit EngineRelations(EngineInternals* engine) : engine_(engine) {}
  Result<std::shared_ptr<Relation>> Open(const RelationName& name) override;

 private:
  EngineInternals* engine_;
};

}  // namespace headrace
