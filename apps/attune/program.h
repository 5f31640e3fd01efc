// The command line of `attune` and of its extensions: their main() calls RunProgram().
#pragma once

#include <vector>

#include "apps/attune/verbs.h"

namespace attune {

// Adds one verb to the command line.
using VerbAdder = void (*)(CLI::App& program, Invocation& invocation);

// The verbs of `attune` itself, in the order of --help.
std::vector<VerbAdder> CoreVerbs();

// Parses the command line, runs one of `verbs` and returns the exit status. `attune` itself
// (kCore) becomes the program of an extension if the verb or the database belongs to one.
enum class ProgramKind { kCore, kExtension };
int RunProgram(int argc, char** argv, ProgramKind kind, const std::vector<VerbAdder>& verbs);

}  // namespace attune
