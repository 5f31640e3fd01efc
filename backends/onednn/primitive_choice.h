// Implementation x memory layout: the choices of the solvers that have no other parameter but
// threads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune::onednn {

// One combination that exists. The texts are the values of the solver's parameters.
struct PrimitiveChoice {
  std::string implementation;  // The library's own name, "jit:avx512_core".
  std::string layout;          // The solver's name.

  friend bool operator==(const PrimitiveChoice&, const PrimitiveChoice&) = default;
};

// True for the library's loops over single elements, a hundred times slower than the rest.
bool IsReference(const std::string& implementation);

// Collects the library's implementations. Those with the same name and the same formats are one
// choice, named by the first layout.
class PrimitiveChoices {
 public:
  using Formats = std::pair<dnnl::memory::desc, dnnl::memory::desc>;
  void Add(const PrimitiveChoice& choice, Formats formats);
  // In the order of Add(). References are left out, unless there are only references; then one
  // stays.
  std::vector<PrimitiveChoice> Take();

 private:
  std::vector<std::pair<std::string, Formats>> seen_;
  std::vector<PrimitiveChoice> fast_, slow_;
};

// Parameters impl, layout and threads.
Result<ConfigSpace> SpaceOf(std::vector<PrimitiveChoice> choices, int compute_units);
// A config of it, on all threads.
Config ConfigOf(const PrimitiveChoice& choice, int compute_units);

}  // namespace attune::onednn
