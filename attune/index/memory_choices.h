// Choices in memory: what an index is written from, and what lies over an index until the next one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/choice_source.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"

namespace attune {

// Thread-safe.
class MemoryChoices final : public ChoiceSource {
 public:
  MemoryChoices();
  ~MemoryChoices() override;

  // Adds a choice of `problem`, or replaces the one of the same target and environment if this one
  // is newer.
  void Add(const Problem& problem, IndexedChoice choice);

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  int64_t problem_count() const override;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

// Several sources as one, upper ones first: choices of all, sorted by `revision` within a layer and
// never across layers, so that what the user tuned hides what a package brought. Borrows nothing.
class LayeredChoices final : public ChoiceSource {
 public:
  explicit LayeredChoices(std::vector<std::shared_ptr<const ChoiceSource>> layers);

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  int64_t problem_count() const override;

 private:
  std::vector<std::shared_ptr<const ChoiceSource>> layers_;
};

// What `set` chose, whatever its environment; nothing if it is not finished or timed nothing. The
// ranking holds the final's candidates, then those of the screening that the final left out.
std::optional<IndexedChoice> ChoiceOf(const RecordedSet& set, const SelectOptions& options);

}  // namespace attune
