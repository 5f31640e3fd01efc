#include "extensions/miopen/databases/measured_db.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/status.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/formats/miopen/solver_catalogue.h"
#include "attune/ops/conv/conv.h"

namespace attune::miopen {
namespace {

// A result in MIOpen's words.
struct Translated {
  FindKey key;
  SolverChoice choice;
  const SolverFacts* solver = nullptr;
  double time_ms = 0;
  int64_t workspace_bytes = 0;
};

Result<Translated> Translate(const MeasuredResult& result) {
  const auto* const conv = result.problem.As<Conv>();
  if (conv == nullptr) return Unsupported("The problem is no convolution.");
  auto choice = SolverChoiceOf(result.candidate);
  if (!choice.has_value()) {
    return Unsupported(fmt::format("{} is no solver of MIOpen's.", result.candidate.solver.name));
  }
  const SolverFacts* const solver = FindSolver(choice->solver);
  if (solver == nullptr || solver->is_removed) {
    return Unsupported(fmt::format("MIOpen {} {} for convolutions.",
                                   solver == nullptr ? "has no solver" : "has no more",
                                   choice->solver));
  }
  if (!choice->params.empty() && !AreParameters(choice->params)) {
    return Unsupported(fmt::format("What {} has for parameters is none.", choice->solver));
  }
  if (!std::isfinite(result.median_ns) || result.median_ns <= 0 || result.workspace_bytes < 0) {
    return Unsupported("The time is impossible.");
  }
  ATTUNE_ASSIGN_OR_RETURN(FindKey key, FindKeyOf(*conv));
  return Translated{std::move(key), std::move(*choice), solver, result.median_ns / 1e6,
                    result.workspace_bytes};
}

// By the text of the key; the quickest result of each solver.
using ByKey = std::map<std::string, std::map<std::string, Translated>>;

ByKey TranslateAll(std::span<const MeasuredResult> results, LeftOut& left_out) {
  ByKey by_key;
  for (const MeasuredResult& result : results) {
    auto translated = Translate(result);
    if (!translated.ok()) {
      ++left_out[translated.error().message()];
      continue;
    }
    auto& solvers = by_key[Text(translated->key)];
    const auto found = solvers.find(translated->choice.solver);
    if (found != solvers.end() && found->second.time_ms <= translated->time_ms) continue;
    std::string solver = translated->choice.solver;
    solvers.insert_or_assign(std::move(solver), std::move(*translated));
  }
  return by_key;
}

FindItem ItemOf(const Translated& result) {
  FindItem item;
  item.solver = result.choice.solver;
  // The same number of digits as MIOpen's own times.
  item.time = fmt::format("{:.6g}", result.time_ms);
  item.time_ms = result.time_ms;
  item.workspace_bytes = result.workspace_bytes;
  item.algorithm = AlgorithmName(result.key.direction, result.solver->algorithm);
  return item;
}

// The record's present item for the solver of `item`; null if none.
const PerfItem* Standing(const PerfRecord& record, const PerfItem& item) {
  const auto found =
      std::find_if(record.items.begin(), record.items.end(),
                   [&item](const PerfItem& other) { return other.solver == item.solver; });
  return found == record.items.end() ? nullptr : &*found;
}

}  // namespace

FindDb FindDbOf(std::span<const MeasuredResult> results, LeftOut& left_out) {
  FindDb db;
  for (const auto& [key, solvers] : TranslateAll(results, left_out)) {
    FindRecord& record = db.records.emplace_back();
    record.key = key;
    for (const auto& [name, result] : solvers) record.items.push_back(ItemOf(result));
    std::stable_sort(record.items.begin(), record.items.end(),
                     [](const FindItem& a, const FindItem& b) { return a.time_ms < b.time_ms; });
  }
  return db;
}

PerfDb PerfDbOf(std::span<const MeasuredResult> results, LeftOut& left_out) {
  std::map<std::string, PerfRecord> records;
  for (const auto& [find_key, solvers] : TranslateAll(results, left_out)) {
    for (const auto& [name, result] : solvers) {
      if (result.choice.params.empty()) continue;
      PerfItem item{name, result.choice.params};
      const std::string key = Text(PerfKeyOf(result.key));
      PerfRecord& record = records[key];
      record.key = key;
      const PerfItem* const standing = Standing(record, item);
      if (standing == nullptr) {
        record.items.push_back(std::move(item));
      } else if (standing->params != item.params) {
        ++left_out[std::string(kOtherParameters)];
      }
    }
  }
  PerfDb db;
  for (auto& [key, record] : records) db.records.push_back(std::move(record));
  return db;
}

}  // namespace attune::miopen
