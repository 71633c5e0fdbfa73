#include "api/held_sources.h"

#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/tags.h"
#include "ingest/position.h"

namespace headrace {

bool IsStageOf(const std::string& job, const std::string& table) {
  const size_t at = job.rfind("." + table);
  if (at == std::string::npos || at == 0) return false;
  const std::string rest = job.substr(at + 1 + table.size());
  return rest.empty() ||
         (rest.size() > 1 && rest[0] == '.' &&
          std::all_of(rest.begin() + 1, rest.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

Result<bool> ReleaseHeldSources(const Table& target, const std::string& job) {
  const std::string database = target.path.substr(0, target.path.rfind('/'));
  const Catalog catalog(target.store, target.clock, database.substr(0, database.rfind('/')));
  const std::string consumer = ingest::CommitUserOf(job);
  bool held = false;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> databases, catalog.ListDatabases());
  for (const std::string& in : databases) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> tables, catalog.ListTables(in));
    for (const std::string& name : tables) {
      const auto table = catalog.OpenTable({in, name}, Access::kRead);
      const Status opened = table.status();
      if (IsKind(opened, ErrorKind::kNotFound) || IsKind(opened, ErrorKind::kCorruption) ||
          IsKind(opened, ErrorKind::kUnsupported))
        continue;  // one that cannot be read is another's matter
      HEADRACE_RETURN_NOT_OK(opened);
      if (table->path == target.path) continue;
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<Consumer> consumers, ListConsumers(*table));
      const bool is_held = std::any_of(consumers.begin(), consumers.end(),
                                       [&](const Consumer& one) { return one.id == consumer; });
      if (is_held) HEADRACE_RETURN_NOT_OK(ingest::ReleaseSnapshot(*table, job));
      held |= is_held;
    }
  }
  return held;
}

}  // namespace headrace
