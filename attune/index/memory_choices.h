// Choices in memory: those newer than an index; and several sources as one.
#pragma once

#include <memory>
#include <vector>

#include "attune/base/status.h"
#include "attune/trial/choice_source.h"

namespace attune {

// Thread-safe.
class MemoryChoices final : public ChoiceSource {
 public:
  MemoryChoices();
  ~MemoryChoices() override;

  // Adds a choice of `problem`, or replaces the one of the same target, environment and cache state
  // if this one is newer.
  void Add(const Problem& problem, IndexedChoice choice);

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  // Looks at every problem of the family: meant for thousands, not for hundreds of thousands.
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  int64_t problem_count() const override;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

// Several sources as one, upper ones first: choices of all, sorted by `revision` within a layer and
// never across layers, so that the user's tuning hides that of a package. A failing layer is passed
// over if another one has a choice; else its failure is the result.
class LayeredChoices final : public ChoiceSource {
 public:
  // Shared, because a caller that refreshes one layer keeps using the others.
  explicit LayeredChoices(std::vector<std::shared_ptr<const ChoiceSource>> layers);

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  std::vector<std::string> Unusable(const Problem& problem) const override;
  // The sum over the layers: a problem in several layers counts several times.
  int64_t problem_count() const override;

 private:
  std::vector<std::shared_ptr<const ChoiceSource>> layers_;
};

}  // namespace attune
