// A plug-in as another build would have left it: of other headers, so that whoever calls it meets
// classes of another layout.

#include <cstdlib>

#include "attune/solver/plugin.h"

namespace {

std::unique_ptr<const attune::Backend> MustNotBeCalled() { std::abort(); }

constexpr attune::PluginDescription kDescription = {
    .interface_hash = "0123456789abcdef", .name = "stale", .make_backend = MustNotBeCalled};

}  // namespace

const attune::PluginDescription* attune_plugin() { return &kDescription; }
