// The two outcomes of looking for a library.
#pragma once

#include <string>
#include <utility>

#include "attune/solver/backend.h"

namespace attune::host {

inline LibraryReport MissingLibrary(std::string name, std::string why) {
  LibraryReport report;
  report.name = std::move(name);
  report.missing = std::move(why);
  return report;
}

inline LibraryReport FoundLibrary(std::string name, std::string version, std::string build_id,
                                  std::string path) {
  LibraryReport report;
  report.name = std::move(name);
  report.available = true;
  report.version = std::move(version);
  report.build_id = std::move(build_id);
  report.path = std::move(path);
  return report;
}

}  // namespace attune::host
