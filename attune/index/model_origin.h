// The origin of models that are fitted to records, and their paths.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/model/model_file.h"
#include "attune/problem/target.h"

namespace attune {

// The origin of a model of records that are measured there now.
ModelOrigin OriginOf(const Target& target, const Environment& environment);

// "openblas 0.3.21, xsmm 1.17": the libraries of an environment; "none" without any.
std::string LibrariesOf(const Environment& environment);

// The path of the model for an operator, a kind of device and its libraries: a file in a folder
// beside the database, DATABASE.models. `database` is as for IndexPathOf(), and not on a server.
std::filesystem::path ModelPathOf(std::string_view database, const ModelOrigin& origin,
                                  std::string_view operator_name);

}  // namespace attune
