// oneDNN's choices for one convolution: algorithm x implementation x memory layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/ops/conv/conv.h"
#include "backends/onednn/onednn_adapter.h"

namespace attune::onednn {

// One combination that exists. The texts are the values of the solver's parameters.
struct ConvChoice {
  std::string algorithm;       // "direct", "winograd", or "auto" for those that only "auto" offers.
  std::string implementation;  // The library's own name, "jit:avx512_core".
  std::string layout;          // "any", "nhwc", ...

  friend bool operator==(const ConvChoice&, const ConvChoice&) = default;
};

// The operands of `conv` exactly as the caller stores them.
struct PlainOperands {
  dnnl::memory::desc src, weights, dst, bias;
};
PlainOperands PlainOperandsOf(const Conv& conv);

// Ok, or the part of `conv` that oneDNN has no form for. Implementations may still be lacking.
Status CheckForm(const Conv& conv);

// The call of a choice; nothing if `layout` or `algorithm` is not a name from attune's lists.
// REQUIRES: CheckForm(conv) is ok.
std::optional<ConvCall> CallFor(const Conv& conv, const std::string& algorithm,
                                const std::string& layout);

// Every distinct choice, best guess first: [0] is the library's own pick, with algorithm and
// layouts left to it. Two choices that run the same code on the same memory formats are one. Empty
// if nothing is offered. Reference loops are left out beside anything else. Takes some ten
// milliseconds. Throws dnnl::error.
//
// An implementation that the library lists twice under one name for one algorithm and one layout
// counts once, with its first formats, because a config in another process can only distinguish
// names. oneDNN 2.6.3 lists no such duplicates (formats that differ): the layers of ResNet-50 and
// VGG-16 in f32, 5297 implementations listed.
std::vector<ConvChoice> EnumerateConvChoices(const Conv& conv, const dnnl::engine& engine);

// The first of EnumerateConvChoices in a tenth of its time; nothing where the library falls back to
// reference loops: then only the whole list shows the first one. Throws dnnl::error.
std::optional<ConvChoice> DefaultConvChoice(const Conv& conv, const dnnl::engine& engine);

}  // namespace attune::onednn
