// Extensions: verbs in programs of their own, which core knows by a list alone. The program of a
// verb is libexec/attune/attune-VERB. The lists are the files share/attune/extensions/*.txt:
//
//   The first line says what the extension is for.
//   verb  Each other line has a verb, two blanks or more, and what it does.
//
// An installation has the extensions that it was built with; one that is added later needs a list
// and a program, and no change here.
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
  std::string name;         // Of its file: "fleet".
  std::string description;  // One line.
  std::vector<Verb> verbs;
  std::string fault;  // Why its list cannot be used. Then it has no verbs.
};

// Returns the installed extensions, sorted by name.
std::vector<Extension> InstalledExtensions();

// The verb of a command line without its first word; empty if --help or --version comes before it.
std::string VerbAmong(const std::vector<std::string>& words);

bool HasVerb(const std::vector<Extension>& extensions, const std::string& verb);

// The program of the extension that has the core verbs, too, and databases on servers.
inline constexpr const char* kFleetProgram = "attune-fleet";

// Becomes the internal program `name`, "attune-jobs" for the verb of an extension, with the same
// arguments. Returns why it cannot.
Status BecomeProgram(const std::string& name, char** argv);

}  // namespace attune
