// Choices in memory: what lies over an index until the next one; and several sources as one.
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
// never across layers, so that what the user tuned hides what a package brought. A layer that fails
// is passed over if another one knows something; else its failure is the answer.
class LayeredChoices final : public ChoiceSource {
 public:
  // Shared, because whoever refreshes one layer goes on using the others.
  explicit LayeredChoices(std::vector<std::shared_ptr<const ChoiceSource>> layers);

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  std::vector<std::string> Unusable(const Problem& problem) const override;
  // The sum over the layers: a problem that several know counts several times.
  int64_t problem_count() const override;

 private:
  std::vector<std::shared_ptr<const ChoiceSource>> layers_;
};

}  // namespace attune
