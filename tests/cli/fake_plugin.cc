// The fake backend as a plug-in, so that the programs can be tested without linking it: loaded
// because ATTUNE_PLUGINS names it, scripted by ATTUNE_FAKE_SCRIPT.

#include <cstdio>

#include "attune/solver/plugin.h"
#include "backends/fake/fake_backend.h"

namespace attune {
namespace {

std::unique_ptr<const Backend> MakeScripted() {
  auto script = FakeScriptFromEnvironment();
  if (!script.ok()) {
    std::fprintf(stderr, "fake plug-in: %s\n", script.error().message().c_str());
    return MakeFakeBackend(FakeScript());
  }
  return MakeFakeBackend(*script);
}

}  // namespace
}  // namespace attune

const attune::PluginDescription* attune_plugin() {
  static constexpr attune::PluginDescription kDescription = {.name = "fake",
                                                             .make_backend = attune::MakeScripted};
  return &kDescription;
}
