// Becoming a program with one of our preload libraries in front of what it would compute with: what
// `attune blas` and `attune cublas` share.
#pragma once

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

// Adds the verb of `face`: it sets the environment and becomes the program that stands after '--'.
void AddPreloadVerb(CLI::App& program, Invocation& invocation, const PreloadFace& face);

}  // namespace attune
