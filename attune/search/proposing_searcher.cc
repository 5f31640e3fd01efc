#include "attune/search/proposing_searcher.h"

namespace attune {
namespace {

// Attempts to propose something new before a random config takes its place.
constexpr int kAttempts = 6;

}  // namespace

ProposingSearcher::ProposingSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : space_(space),
      digits_(space),
      random_(options.seed),
      order_(space.size(), options.seed),
      start_(space, options) {}

std::vector<uint64_t> ProposingSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && !Done()) {
    if (start_.Done() ? out_.size() >= MostOut() : start_.Waits()) break;
    const uint64_t index = Next();
    WillAsk(index);
    asked_.insert(index);
    out_.insert(index);
    indices.push_back(index);
  }
  return indices;
}

void ProposingSearcher::Tell(uint64_t index, const Answer& answer) {
  out_.erase(index);
  start_.Tell(index, answer);
  Learn(index, answer);
}

uint64_t ProposingSearcher::Next() {
  if (!start_.Done()) return start_.Next();
  const std::optional<uint64_t> proposal = NewProposal();
  return proposal.has_value() ? *proposal : NextUnasked();
}

Digits ProposingSearcher::OneStepFrom(const Digits& from) {
  Digits to = from;
  const size_t i = random_.Below(to.size());
  to[i] =
      static_cast<uint32_t>((to[i] + 1 + random_.Below(digits_.radix(i) - 1)) % digits_.radix(i));
  return to;
}

std::optional<uint64_t> ProposingSearcher::NewProposal() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<uint64_t> index = Propose();
    if (index.has_value() && !WasAsked(*index)) return index;
  }
  return std::nullopt;
}

uint64_t ProposingSearcher::NextUnasked() {
  while (true) {
    const uint64_t index = order_.At(next_in_order_++);
    if (!WasAsked(index)) return index;
  }
}

}  // namespace attune
