#include "attune/search/swarm_searcher.h"

namespace attune {
namespace {

constexpr size_t kParticles = 16;
constexpr double kOwnBest = 0.3;
constexpr double kBestOfAll = 0.4;
constexpr double kChange = 0.1;

}  // namespace

SwarmSearcher::SwarmSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : ProposingSearcher(space, options) {}

uint32_t SwarmSearcher::NextDigit(const Particle& particle, size_t parameter) {
  double draw = random().Uniform();
  if ((draw -= kOwnBest) < 0) return particle.best[parameter];
  if ((draw -= kBestOfAll) < 0) return particles_[*fastest_].best[parameter];
  if ((draw -= kChange) < 0) {
    return static_cast<uint32_t>(random().Below(digits().radix(parameter)));
  }
  return particle.at[parameter];
}

std::optional<uint64_t> SwarmSearcher::Propose() {
  moving_.reset();
  if (particles_.size() < kParticles || !fastest_.has_value()) return std::nullopt;
  const size_t moving = next_particle_++ % particles_.size();
  const Particle& particle = particles_[moving];
  Digits to = particle.at;
  for (size_t i = 0; i < to.size(); ++i) to[i] = NextDigit(particle, i);
  if (to == particle.at || to == particle.best) to = OneStepFrom(to);
  moving_ = moving;
  return digits().IndexOf(to);
}

void SwarmSearcher::WillAsk(uint64_t index) {
  if (moving_.has_value()) particle_of_.emplace(index, *moving_);
  moving_.reset();
}

void SwarmSearcher::Learn(uint64_t index, const Answer& answer) {
  const auto found = particle_of_.find(index);
  if (found == particle_of_.end() && particles_.size() == kParticles) return;
  size_t who = particles_.size();
  if (found == particle_of_.end()) {
    if (!answer.time_ns.has_value()) return;
    particles_.push_back({digits().At(index), digits().At(index), *answer.time_ns});
  } else {
    who = found->second;
    particle_of_.erase(found);
    if (!answer.time_ns.has_value()) return;
    Particle& particle = particles_[who];
    particle.at = digits().At(index);
    if (*answer.time_ns < particle.best_ns) {
      particle.best = particle.at;
      particle.best_ns = *answer.time_ns;
    }
  }
  if (!fastest_.has_value() || particles_[who].best_ns < particles_[*fastest_].best_ns) {
    fastest_ = who;
  }
}

}  // namespace attune
