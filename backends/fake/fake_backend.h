// A backend for tests: no hardware, invented time, faults on demand.
#pragma once

#include <memory>

#include "attune/solver/backend.h"
#include "backends/fake/fake_script.h"

namespace attune {

// One device, called "fake".
std::unique_ptr<const Backend> MakeFakeBackend(const FakeScript& script);

}  // namespace attune
