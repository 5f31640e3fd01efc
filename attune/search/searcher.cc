#include "attune/search/searcher.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/search/annealing_searcher.h"
#include "attune/search/evolution_searcher.h"
#include "attune/search/genetic_searcher.h"
#include "attune/search/list_searcher.h"
#include "attune/search/local_searcher.h"
#include "attune/search/surrogate_searcher.h"
#include "attune/search/swarm_searcher.h"

namespace attune {

namespace {

// Number of configs to try before a model of them is of any use.
constexpr uint64_t kSmallSpace = 24;

// A model chooses an order and waits for answers, which is useless if every config is tried.
std::string_view AdaptedTo(const ConfigSpace& space, const SearcherOptions& options) {
  return space.size() <= std::max(kSmallSpace, options.evaluations) ? "exhaustive" : "surrogate";
}

std::unique_ptr<Searcher> MakeIfThere(std::string_view name, const ConfigSpace& space,
                                      const SearcherOptions& options) {
  if (name == "adaptive") name = AdaptedTo(space, options);
  if (name == "exhaustive") return std::make_unique<ExhaustiveSearcher>(space, options);
  if (name == "random") return std::make_unique<RandomSearcher>(space, options);
  if (name == "local") return std::make_unique<LocalSearcher>(space, options);
  if (name == "annealing") return std::make_unique<AnnealingSearcher>(space, options);
  if (name == "genetic") return std::make_unique<GeneticSearcher>(space, options);
  if (name == "evolution") return std::make_unique<EvolutionSearcher>(space, options);
  if (name == "swarm") return std::make_unique<SwarmSearcher>(space, options);
  if (name == "surrogate") return std::make_unique<SurrogateSearcher>(space, options);
  return nullptr;
}

}  // namespace

std::vector<std::string_view> SearcherNames() {
  return {"adaptive", "exhaustive", "random", "local",    "annealing",
          "genetic",  "evolution",  "swarm",  "surrogate"};
}

Result<std::unique_ptr<Searcher>> MakeSearcher(std::string_view name, const ConfigSpace& space,
                                               const SearcherOptions& options) {
  std::unique_ptr<Searcher> searcher = MakeIfThere(name, space, options);
  if (searcher == nullptr) {
    return InvalidArgument(fmt::format("There is no searcher '{}'; choose one of {}.", name,
                                       fmt::join(SearcherNames(), ", ")));
  }
  return searcher;
}

}  // namespace attune
