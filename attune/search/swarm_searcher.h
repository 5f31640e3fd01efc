// Particle swarm optimisation.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "attune/search/proposing_searcher.h"

namespace attune {

// Particles (Kennedy and Eberhart 1995) in a space of positions in value lists, where a velocity
// means little: each parameter of a particle goes to its own best value, to that of the swarm,
// stays or changes at random (the discrete form of Kennedy's bare-bones swarm).
class SwarmSearcher final : public ProposingSearcher {
 public:
  SwarmSearcher(const ConfigSpace& space, const SearcherOptions& options);

 protected:
  std::optional<uint64_t> Propose() override;
  void Learn(uint64_t index, const Answer& answer) override;
  void WillAsk(uint64_t index) override;

 private:
  struct Particle {
    Digits at;
    Digits best;
    double best_ns = 0;
  };

  uint32_t NextDigit(const Particle& particle, size_t parameter);

  std::vector<Particle> particles_;
  size_t next_particle_ = 0;
  std::optional<size_t> fastest_;                     // The particle with the best of all.
  std::optional<size_t> moving_;                      // Particle of the last proposal.
  std::unordered_map<uint64_t, size_t> particle_of_;  // Particle of each config without an answer.
};

}  // namespace attune
