#include "attune/dispatch/forced_choice.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

Status Wrong(std::string_view entry, std::string_view why) {
  return InvalidArgument(
      fmt::format("The forced choice '{}' cannot be honoured: {} Write 'SOLVER', 'CANDIDATE' or "
                  "'PROBLEM -> CANDIDATE'; 'attune solvers' lists the solvers.",
                  entry, why));
}

const Solver* FindByName(const SolverList& solvers, std::string_view name) {
  const auto found = std::find_if(solvers.begin(), solvers.end(),
                                  [&](const auto& solver) { return solver->id().name == name; });
  return found == solvers.end() ? nullptr : found->get();
}

bool AreEqualButForAlignment(const Problem& a, const Problem& b) {
  const ProblemField* const alignment = FindField(a.op().fields(), kAlignmentField);
  if (alignment == nullptr || a.op().name() != b.op().name()) return a == b;
  return a == a.op().With(b, *alignment, alignment->get(a.value()));
}

// Solver and config of the right side of `entry`.
Status ReadCandidate(std::string_view entry, std::string_view text, const SolverList& solvers,
                     ForcedChoices::Entry& read) {
  if (text.find('@') == std::string_view::npos) {
    read.solver = FindByName(solvers, text);
    if (read.solver == nullptr) {
      return Wrong(entry, fmt::format("there is no solver '{}' here.", text));
    }
    return Status::Ok();
  }
  const Result<Candidate> candidate = ParseCandidate(text);
  if (!candidate.ok()) return Wrong(entry, candidate.error().message());
  read.solver = FindSolver(solvers, candidate->solver);
  if (read.solver == nullptr) {
    return Wrong(entry, fmt::format("there is no solver '{}' of that version here.",
                                    Text(candidate->solver)));
  }
  read.config = candidate->config;
  return Status::Ok();
}

Status ReadProblem(std::string_view entry, std::string_view text, ForcedChoices::Entry& read) {
  if (text.find('@') != std::string_view::npos) {
    const Result<Problem> problem = ParseProblem(text);
    if (!problem.ok()) return Wrong(entry, problem.error().message());
    read.problem = *problem;
    text = OperatorName(*problem);
  }
  if (text != read.operator_name) {
    return Wrong(entry, fmt::format("{} computes '{}', not '{}'.", read.solver->id().name,
                                    read.operator_name, text));
  }
  return Status::Ok();
}

}  // namespace

Result<ForcedChoices> ForcedChoices::Parse(std::string_view text, const SolverList& solvers) {
  ForcedChoices choices;
  const std::string_view whole = text;
  while (!text.empty()) {
    const size_t end = text.find(';');
    const std::string_view entry = Trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (entry.empty()) continue;
    const size_t arrow = entry.find("->");
    const bool has_problem = arrow != std::string_view::npos;
    Entry read;
    ATTUNE_RETURN_IF_ERROR(ReadCandidate(
        entry, Trimmed(has_problem ? entry.substr(arrow + 2) : entry), solvers, read));
    read.operator_name = read.solver->traits().operator_name;
    if (has_problem) {
      ATTUNE_RETURN_IF_ERROR(ReadProblem(entry, Trimmed(entry.substr(0, arrow)), read));
    }
    choices.entries_.push_back(std::move(read));
  }
  if (choices.empty() && !whole.empty()) return Wrong(whole, "there is no choice in it.");
  return choices;
}

const ForcedChoices::Entry* ForcedChoices::Find(const Problem& problem) const {
  const Entry* general = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.problem.has_value()) {
      if (AreEqualButForAlignment(*entry.problem, problem)) return &entry;
    } else if (general == nullptr && entry.operator_name == OperatorName(problem)) {
      general = &entry;
    }
  }
  return general;
}

}  // namespace attune
