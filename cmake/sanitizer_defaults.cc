// Linked into every program of a sanitizing tree, so that a program behaves the same under ctest, by hand and as a child of
// a test. The environment still has the last word.
//
// Arrow's own pool (mimalloc) hides its buffers from the address sanitizer: the system pool is asked for before Arrow looks.
// Memory handled inside the libraries of Arrow, DuckDB, Kafka and cpp-httplib, which are not built with the thread sanitizer, is reported falsely as a race; races
// between our own threads are still found. (called_from_lib: would add false reports.)
//
// For the time of the tests: eight frames of where memory was allocated and freed, not thirty (a fifth of the time of what allocates much); no
// second of waiting for reports at the end of every process, since the first report ends it.

#include <cstdlib>

namespace {

[[gnu::constructor]] void AskForTheSystemPool() {
  setenv("ARROW_DEFAULT_MEMORY_POOL", "system", /*overwrite=*/0);
}

}  // namespace

extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:malloc_context_size=8";
}
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0"; }
const char* __tsan_default_suppressions() {
  return "race:libarrow.so\n"
         "race:libparquet.so\n"
         "race:libarrow_compute.so\n"
         "race:libduckdb.so\n"
         "race:libcpp-httplib.so\n";
}

}  // extern "C"
