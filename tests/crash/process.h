// Runs the real program as a child process, to its end or until it is killed.
//
// Output goes to files in a folder given, so that no pipe can fill up. One child at a time; only children started here are ever killed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::crash {

struct Ending {
  bool killed = false;  // by us; otherwise it ended by itself
  int status = -1;      // its exit status
  std::string out;
  std::string err;
};

// `arguments` without the program's own name. With `kill_after_us`, SIGKILL comes that many microseconds after the start.
Ending RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                  const std::string& scratch, std::optional<int64_t> kill_after_us = std::nullopt);

}  // namespace headrace::crash
