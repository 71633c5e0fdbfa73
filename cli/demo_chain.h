// `headrace demo --chain`: change events of customers and orders go through two statements of continuous SQL, a join and a sum.
//
// The events are made here, with the rows that they change kept beside them, so that neither Kafka nor PostgreSQL is needed. Everything printed but the
// events is read back from the tables. The output is the same each time: the README shows it, and a test compares.
#pragma once

#include <string>

#include "headrace/engine.h"
#include "headrace/error.h"

namespace headrace::cli {

// Plays in an empty folder; the engine's warehouse may be in it.
Status PlayChain(const std::string& folder, Engine* engine);

}  // namespace headrace::cli
