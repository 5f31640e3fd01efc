// Extensions: verbs in programs of their own, which core knows by a list alone. The program of a
// verb is libexec/attune/attune-VERB. The lists are the files share/attune/extensions/*.txt:
//
//   The first line describes the extension.
//   verb  Each other line has a verb, two blanks or more, and a description.
//
// An extension that is added to an installation needs a list and a program, and no change here.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

struct Extension {
  struct Verb {
    std::string name;
    std::string description;
  };
  std::string name;         // Stem of its file: "fleet".
  std::string description;  // One line.
  std::vector<Verb> verbs;
  std::string fault;  // Why its list cannot be used. Then it has no verbs.
};

// Returns the installed extensions, sorted by name. An extension "*" with a fault stands for all of
// them if the folder cannot be read.
std::vector<Extension> InstalledExtensions();

// The verb of a command line without its first word; empty if --help or --version comes before it.
std::string VerbAmong(const std::vector<std::string>& words);

bool HasVerb(const std::vector<Extension>& extensions, const std::string& verb);

// An extension that has the core verbs, too, and opens databases on servers.
inline constexpr const char* kFleetProgram = "attune-fleet";

// Replaces this process by the internal program `name`, such as "attune-jobs", with the same
// arguments. Returns only if that fails.
Status BecomeProgram(const std::string& name, char** argv);

}  // namespace attune
