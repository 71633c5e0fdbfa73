// The handler. A signal handler can only reach an object of static lifetime: this flag is the program's one exception.
#include "cli/stop_signal.h"

#include <csignal>

namespace headrace::cli {
namespace {

std::atomic<bool> stop{false};

void OnSignal(int signal) {
  if (stop.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

const std::atomic<bool>& StopRequested() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = OnSignal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return true;
  }();
  static_cast<void>(installed);
  return stop;
}

void ForgetStop() { stop = false; }

}  // namespace headrace::cli
