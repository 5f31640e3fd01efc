#include "attune/tuner/own_kernel/tuned_size.h"

#include <algorithm>

#include "attune/problem/own_kernel.h"
#include "attune/problem/size_distance.h"
#include "attune/tuner/own_kernel/constrained_solver.h"

namespace attune {

std::vector<const TunedSize*> NearestFirst(const std::vector<TunedSize>& tuned,
                                           const kernel::OwnSizes& sizes) {
  std::vector<const TunedSize*> sorted;
  for (const TunedSize& size : tuned) sorted.push_back(&size);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const TunedSize* a, const TunedSize* b) {
    return SizeDistance(a->sizes, sizes) < SizeDistance(b->sizes, sizes);
  });
  return sorted;
}

Result<std::vector<TunedSize>> TunedSizesOf(RecordStore& store, const kernel::KernelFile& file,
                                            const Target& here, const Environment& now) {
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, store.Problems(""));
  // Its reference may be tuned, too, if the user names it: that is no config of the kernel.
  SelectOptions options;
  options.known_solvers = {{file.solver_name(), file.version}};
  options.allows = AllowedBy(file, here);
  std::vector<TunedSize> tuned;
  for (const TaggedProblem& tagged : problems) {
    if (!IsOwnKernel(tagged.problem)) continue;
    const auto own = OwnKernelOf(tagged.problem);
    if (!own.ok() || own->name != file.own->name || own->content != file.own->content) continue;
    RecordQuery query;
    query.problem = tagged.problem;
    query.backend = here.backend;
    std::vector<RecordedSet> sets;
    ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& set) {
      sets.push_back(set);
      return Status::Ok();
    }));
    const auto choice = SelectBest(sets, here, now, options, nullptr);
    if (!choice.has_value()) continue;
    tuned.push_back({own->sizes, choice->candidate.config, choice->measurement.median_ns,
                     choice->default_measurement.median_ns});
  }
  return tuned;
}

}  // namespace attune
