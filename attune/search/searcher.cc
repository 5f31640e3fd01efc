#include "attune/search/searcher.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/search/list_searcher.h"
#include "attune/search/local_searcher.h"

namespace attune {

std::vector<std::string_view> SearcherNames() { return {"exhaustive", "random", "local"}; }

Result<std::unique_ptr<Searcher>> MakeSearcher(std::string_view name, const ConfigSpace& space,
                                               const SearcherOptions& options) {
  std::unique_ptr<Searcher> searcher;
  if (name == "exhaustive") searcher = std::make_unique<ExhaustiveSearcher>(space.size());
  if (name == "random")
    searcher = std::make_unique<RandomSearcher>(space.size(), options.seed, options.head);
  if (name == "local")
    searcher = std::make_unique<LocalSearcher>(space, options.seed, options.head);
  if (searcher == nullptr) {
    return InvalidArgument(fmt::format("There is no searcher '{}'; choose one of {}.", name,
                                       fmt::join(SearcherNames(), ", ")));
  }
  return searcher;
}

}  // namespace attune
