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
struct PreloadFace {
  std::string_view name;         // "blas", also that of the verb.
  std::string_view description;  // Of the verb.
  std::string_view examples;     // Command lines, for the help.
  std::string_view missing;      // What to do where the library is not there.
};

// The path of libattune_NAME.so, beside this program in a build tree and in an install prefix
// alike. `missing` is what to do where it is not there.
Result<std::string> FindPreloadLibrary(std::string_view name, std::string_view missing);

// What has to be in the environment of a program for `library` to be preloaded: LD_PRELOAD with it
// in front of what that has, all independent of the folder of a process, and ASAN_OPTIONS that let
// it stand before the sanitizer's runtime. Fails if a relative path has no form that does not
// depend on a folder.
Result<std::map<std::string, std::string>> PreloadVariables(const std::string& library);

// Of a program that could not be started, as shells have it: 127 if there is none.
int ExitStatusOfNoStart(int reason);

// Adds the verb of `face`: it sets the environment and becomes the program that stands after '--'.
void AddPreloadVerb(CLI::App& program, Invocation& invocation, const PreloadFace& face);

}  // namespace attune
