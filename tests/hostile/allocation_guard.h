// The largest piece of memory that operator new was asked for, by anyone in the process. For tests of damaged files: a length that is
// taken from damaged bytes must be checked before memory is asked for. Any thread.
#pragma once

#include <cstddef>

namespace headrace::hostile {

// Since the last call.
std::size_t TakeLargestAllocation();

}  // namespace headrace::hostile
