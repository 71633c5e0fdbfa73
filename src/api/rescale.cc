// The public rescale over the maintain room.
#include <utility>

#include "api/open_table.h"
#include "base/uuid.h"
#include "maintain/rescale.h"

namespace headrace {

Result<RescaledTable> RescaleTable(SharedState* state, const Table& table, const RescaleOptions& options) {
  const SessionOptions session{.commit_user = "headrace-rescale-" + NewUuid(),
                               .budget = &state->budget,
                               .compactors = &state->tasks,
                               .lookup_cache = &state->lookup_cache,
                               .scratch = state->scratch.get(),
                               .pool = nullptr};
  HEADRACE_ASSIGN_OR_RETURN(const RescaleResult done,
                            Rescale(table, options.buckets, options.partition, session));
  RescaledTable result;
  for (const Snapshot& snapshot : done.snapshots) result.snapshots.push_back(snapshot.id.value);
  result.partitions = done.partitions;
  result.rows = done.rows;
  result.files_before = done.files_before;
  result.files_after = done.files_after;
  result.bytes_written = done.bytes_written;
  result.option_changed = done.option_changed;
  return result;
}

}  // namespace headrace
