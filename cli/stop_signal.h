// SIGINT and SIGTERM as a flag: long commands finish what is whole and say where to go on. A second signal ends the program at once.
#pragma once

#include <atomic>

namespace headrace::cli {

// Installs the handlers at the first call; the flag is set once a signal came.
const std::atomic<bool>& StopRequested();

// Forgets a signal that a prompt has answered.
void ForgetStop();

}  // namespace headrace::cli
