// posix_spawn, waitpid and kill.
#include "tests/crash/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;

namespace headrace::crash {
namespace {

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

pid_t Start(const std::string& program, const std::vector<std::string>& arguments, const std::string& out,
            const std::string& err) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = -1;
  if (posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

}  // namespace

Ending RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                  const std::string& scratch, std::optional<int64_t> kill_after_us) {
  const std::string out = scratch + "/stdout";
  const std::string err = scratch + "/stderr";
  Ending ending;
  const pid_t child = Start(program, arguments, out, err);
  if (child <= 0) {
    ending.err = "cannot start " + program;
    return ending;
  }
  int status = 0;
  bool ended = false;
  if (kill_after_us.has_value()) {
    const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(*kill_after_us);
    while (!ended && std::chrono::steady_clock::now() < moment) {
      const auto rest = moment - std::chrono::steady_clock::now();
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(rest, std::chrono::milliseconds(1)));
      ended = waitpid(child, &status, WNOHANG) == child;
    }
    if (!ended) kill(child, SIGKILL);  // not waited for yet, so the number is still the child's
  }
  if (!ended) waitpid(child, &status, 0);
  ending.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  ending.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ending.out = ReadFile(out);
  ending.err = ReadFile(err);
  return ending;
}

}  // namespace headrace::crash
