#include "attune/session/solver_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/trial/match_policy.h"

namespace attune {
namespace {

constexpr std::string_view kLibrary = "library.";

}  // namespace

bool SolverEntry::SameAs(const SolverEntry& other) const {
  return solver == other.solver && operator_name == other.operator_name &&
         dynamic == other.dynamic && tunable == other.tunable && compiles == other.compiles &&
         code == other.code;
}

const SolverEntry* FindEntry(const SolverTable& table, std::string_view name) {
  const auto found =
      std::find_if(table.entries.begin(), table.entries.end(),
                   [&](const SolverEntry& entry) { return entry.solver.name == name; });
  return found == table.entries.end() ? nullptr : &*found;
}

Environment UnknownCode() { return {{"unknown", ""}}; }

std::string ReasonStale(const SolverEntry& then, const SolverEntry* now) {
  if (now == nullptr) return fmt::format("There is no solver {} any more.", then.solver.name);
  if (then.solver.version != now->solver.version) {
    return fmt::format("{} had version {} and has {} now.", then.solver.name, then.solver.version,
                       now->solver.version);
  }
  if (then.code == UnknownCode() || now->code == UnknownCode()) return "";
  for (const auto& [field, value] : then.code) {
    const auto found = now->code.find(field);
    if (found != now->code.end() && found->second == value) continue;
    return fmt::format("{} of {} was {} and is {} now.", field, then.solver.name, value,
                       found == now->code.end() ? "missing" : found->second);
  }
  for (const auto& [field, value] : now->code) {
    if (then.code.contains(field)) continue;
    return fmt::format("{} of {} was missing and is {} now.", field, then.solver.name, value);
  }
  return "";
}

std::string ReasonStale(const SolverTable& table, const SolverId& solver, Environment code) {
  if (table.generation == 0) return "";
  SolverEntry then;
  then.solver = solver;
  then.code = std::move(code);
  return ReasonStale(then, FindEntry(table, solver.name));
}

Environment CodeOf(std::string_view name, const Environment& environment) {
  Environment code;
  for (const auto& [field, value] : environment) {
    if (!field.starts_with(kLibrary)) continue;
    const std::string_view library = std::string_view(field).substr(kLibrary.size());
    if (RunsLibrary(name, library.substr(0, library.find('.')))) code.emplace(field, value);
  }
  return code;
}

}  // namespace attune
