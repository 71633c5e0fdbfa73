// The words of the connectors' settings as the ingest room takes them. kInvalid names a word that is not known.
#pragma once

#include "base/error.h"
#include "headrace/ingest.h"
#include "ingest/event.h"

namespace headrace {

Result<ingest::ValueModes> ModesOf(const ValueWords& words);

}  // namespace headrace
