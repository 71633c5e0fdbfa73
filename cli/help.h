// How the program talks about its own usage: help pages wrapped for a terminal, and what is said when the
// arguments mean nothing.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

#include "cli/session.h"

namespace headrace::cli {

// Call it before commands are added: they take it over.
void UseHelp(CLI::App* app);

// `headrace help read` is `headrace read --help`.
void AddHelp(CLI::App* app, Chosen* chosen);

// Tells what is wrong with the arguments: no command lists the commands, an unknown one names the nearest.
void TellMistake(const CLI::App& app, const CLI::ParseError& error);

// Lets whole numbers from `least` to `most` pass.
CLI::Validator WholeNumber(int64_t least, int64_t most = INT64_MAX);

}  // namespace headrace::cli
