// Becoming a program with one of our preload libraries in front of what it would compute with: what
// `attune blas` and `attune cublas` share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/attune/verbs.h"

namespace attune {

// One of the libraries lib/attune/libattune_NAME.so, switched by ATTUNE_NAME.
struct Interposer {
  std::string_view name;         // "blas", also that of the verb.
  std::string_view description;  // Of the verb.
  std::string_view examples;     // Command lines, for the help.
  std::string_view missing;      // What to do where the library is not there.
};

// The path of libattune_NAME.so, beside this program in a build tree and in an install prefix
// alike. `missing` is what to do where it is not there.
Result<std::string> FindPreloadLibrary(std::string_view name, std::string_view missing);

// The variables that preload `library` into a program. LD_PRELOAD has it in front of the present
// names, in forms that do not depend on the current folder. ASAN_OPTIONS lets it come before the
// sanitizer's runtime. Fails if a relative path of LD_PRELOAD has no such form.
Result<std::map<std::string, std::string>> PreloadVariables(const std::string& library);

// Of a program that could not be started, as shells have it: 127 if there is none.
int ExitStatusOfNoStart(int reason);

// Adds the verb of `interposer`: it sets the environment and becomes the program that stands after
// '--'.
void AddPreloadVerb(CLI::App& program, Invocation& invocation, const Interposer& interposer);

}  // namespace attune
