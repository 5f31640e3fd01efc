// A plug-in as another build would leave it: built with other headers, so that its classes have
// another layout.

#include <cstdlib>

#include "attune/solver/plugin.h"

namespace {

std::unique_ptr<const attune::Backend> MustNotBeCalled() { std::abort(); }

constexpr attune::PluginDescription kDescription = {
    .interface_hash = "0123456789abcdef", .name = "stale", .make_backend = MustNotBeCalled};

}  // namespace

const attune::PluginDescription* attune_plugin() { return &kDescription; }
