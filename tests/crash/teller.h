// Tells a story to a store as a program would: opens or creates the table, finds out how far it got before, writes the remaining steps.
//
// Each Teller is one life of the process: nothing is remembered from one to the next but what the store holds.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "catalog/table.h"
#include "io/store.h"
#include "tests/crash/story.h"
#include "write/session.h"

namespace headrace::crash {

inline constexpr char kWarehouse[] = "/warehouse";
inline constexpr char kTeller[] = "teller";

// What the process knew when its life ended.
struct Progress {
  bool created = false;  // the table's creation, or its being there, was reported
  int acknowledged = 0;  // steps whose commit was reported done
  int attempted = 0;     // the step that was being written when it ended
  Status error;          // why it ended early
};

enum class OnFailure {
  kEnd,    // the first failure ends the process
  kRetry,  // a commit that failed is tried again with the same prepared changes, a few times
};

// The rows of a step, into a session of a story's table.
Status WriteChanges(const Table& table, WriteSession* session, const std::vector<Change>& changes);

// `user` is the commit user: two tellers at once need two.
Progress Tell(const std::shared_ptr<Store>& store, const Story& story, OnFailure on_failure,
              const std::string& user = kTeller);

}  // namespace headrace::crash
