#include "attune/search/genetic_searcher.h"

namespace attune {
namespace {

constexpr size_t kPopulation = 20;
// Number of random configs at the start.
constexpr size_t kFounders = 8;
constexpr double kMutation = 0.4;

}  // namespace

GeneticSearcher::GeneticSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : ProposingSearcher(space, options), population_(kPopulation) {}

std::optional<uint64_t> GeneticSearcher::Propose() {
  if (population_.size() < kFounders) return std::nullopt;
  const Individual& mother = population_.Tournament(random());
  const Individual& father = population_.Tournament(random());
  Digits child = mother.digits;
  bool differs = false;
  for (size_t i = 0; i < child.size(); ++i) {
    if (random().Below(2) == 0) child[i] = father.digits[i];
    differs = differs || child[i] != mother.digits[i];
  }
  if (!differs || random().Uniform() < kMutation) child = OneStepFrom(child);
  return digits().IndexOf(child);
}

void GeneticSearcher::Learn(uint64_t index, const Answer& answer) {
  if (!answer.time_ns.has_value()) return;
  population_.Consider({digits().At(index), *answer.time_ns});
}

}  // namespace attune
