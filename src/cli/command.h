// The commands of the program: one file each, one table.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <span>
#include <string_view>

#include "src/base/result.h"

namespace jobscope {

// What a command needs of the process's start.
struct Invocation {
  std::span<const char* const> argv;  // of the whole program
};

struct Command {
  const char* name;
  const char* help;
  // Exit code for errors of the command itself, bad options included.
  int failure;
  // Declares options on `app`; returns what runs once they are parsed. Its result is the exit code.
  std::function<Result<int>()> (*declare)(CLI::App& app, const Invocation& invocation);
};

extern const Command run_command, attach_command, trace_command, io_latency_command, report_command,
    programs_command, check_command;

// Writes to standard error. What cannot be written there is lost: nobody is left to be told, and
// the job goes on.
void to_stderr(std::string_view text);
// Whether it would take some now, without a wait: a pipe may be full, a terminal stopped (Ctrl-S).
bool stderr_takes_text();

// "jobscope: what; hint" to standard error: one line, but for a hint of several.
void print_error(const Error& error);

}  // namespace jobscope
