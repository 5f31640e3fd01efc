#include "runtime/variable_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "attune/tunable/settings.h"

namespace attune {
namespace {

constexpr std::string_view kPrefix = "ATTUNE_";

// What is read anywhere: a variable for one part of attune is no typo in another.
constexpr std::array<std::string_view, 40> kNames = {
    "BLAS",         "BLAS_PROCESS", "BLAS_REAL",      "BLAS_RUNTIME",   "BLAS_STATS",
    "BLIS",         "CUBLAS",       "CUBLAS_PROCESS", "CUBLAS_REAL",    "CUBLAS_RUNTIME",
    "CUBLAS_STATS", "DB",           "DETERMINISTIC",  "DEVICE",         "EVALUATOR",
    "FAKE_SCRIPT",  "FORCE",        "HIPCC",          "OPENBLAS",       "KERNEL_PATH",
    "LOCK_FOLDER",  "PACKAGES",     "PLUGINS",        "PLUGIN_PATH",    "POLICY",
    "PRESET",       "RECORD_TAG",   "SUMMARY",        "TUNER",          "TOOLS",
    "FIN",          "FIN_TARGET",   "FIN_DEVICES",    "FIN_DEADLINE_S", "POWERCAP",
    "TIME_MODELS",  "GRAPH_REPLAY", "RECORD_RUN",     "REPORTED",       "IEEE_SPECIAL_VALUES"};

}  // namespace

std::vector<std::string> NotesOnUnknownVariables(const ProcessVariables& variables) {
  std::vector<std::string> notes;
  for (const auto& [name, value] : variables) {
    if (!name.starts_with(kPrefix) || name.starts_with(kTunablePrefix)) continue;
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    if (std::find(kNames.begin(), kNames.end(), rest) != kNames.end()) continue;
    notes.push_back(fmt::format(
        "The variable {} is ignored: attune reads none of that name; docs/serving.md lists them.",
        name));
  }
  return notes;
}

}  // namespace attune
