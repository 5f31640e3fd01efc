// Checks that the candidates are all that oneDNN has: the library's own list of implementations,
// walked here without the code that makes the candidates.
#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "attune/solver/plugin.h"
#include "backends/host/conv/candidate_check.h"
#include "backends/host/conv/conv_cases.h"

namespace attune {
namespace {

using dnnl::memory;
using Names = std::set<std::string>;

constexpr dnnl::algorithm kAlgorithms[] = {dnnl::algorithm::convolution_direct,
                                           dnnl::algorithm::convolution_winograd,
                                           dnnl::algorithm::convolution_auto};

// The memory formats inside of the primitive: plain, or chosen by the library.
enum class Formats { kPlain, kAny };

struct Descs {
  memory::desc src, weights, dst;
  memory::dims strides, dilates, pads;
};

memory::desc DescOf(const TensorDesc& tensor, int64_t groups, Formats formats) {
  memory::dims extents = tensor.extents;
  memory::dims strides = tensor.strides;
  if (groups > 1) {
    extents[0] /= groups;
    extents.insert(extents.begin(), groups);
    strides.insert(strides.begin(), extents[1] * strides[0]);
  }
  if (formats == Formats::kAny) {
    return memory::desc(extents, memory::data_type::f32, memory::format_tag::any);
  }
  return memory::desc(extents, memory::data_type::f32, strides);
}

Descs DescsOf(const Conv& conv, Formats formats) {
  Descs descs;
  for (const Operand& operand : Operands(conv)) {
    const bool is_weights = operand.name == "w" || operand.name == "dw";
    auto& desc = is_weights ? descs.weights : operand.name.ends_with("x") ? descs.src : descs.dst;
    desc = DescOf(operand.tensor, is_weights ? conv.groups : 1, formats);
  }
  for (size_t i = 3 - static_cast<size_t>(conv.spatial_rank); i < 3; ++i) {
    descs.strides.push_back(conv.stride[i]);
    descs.dilates.push_back(conv.dilation[i] - 1);
    descs.pads.push_back(conv.pad[i]);
  }
  return descs;
}

template <class PrimitiveDesc>
void Walk(PrimitiveDesc list, Names& names) {
  if (!list) return;
  do {
    std::string name = list.impl_info_str();
    // Characters that a parameter value cannot hold become underscores.
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
          std::string_view("_.:+-").find(c) == std::string_view::npos) {
        c = '_';
      }
    }
    names.insert(name);
  } while (list.next_impl());
}

// Walks while the description of the operation lives: oneDNN 2 reads it again at each step.
#if DNNL_VERSION_MAJOR >= 3
dnnl::convolution_forward::primitive_desc WalkForward(const dnnl::engine& engine,
                                                      dnnl::prop_kind kind,
                                                      dnnl::algorithm algorithm, const Descs& descs,
                                                      Names& names) {
  const dnnl::convolution_forward::primitive_desc list(
      engine, kind, algorithm, descs.src, descs.weights, descs.dst, descs.strides, descs.dilates,
      descs.pads, descs.pads, {}, true);
  Walk(list, names);
  return list;
}

template <class Operation>
void WalkBackward(const dnnl::engine& engine, dnnl::algorithm algorithm, const Descs& descs,
                  const dnnl::convolution_forward::primitive_desc& hint, Names& names) {
  Walk(typename Operation::primitive_desc(engine, algorithm, descs.src, descs.weights, descs.dst,
                                          descs.strides, descs.dilates, descs.pads, descs.pads,
                                          hint, {}, true),
       names);
}
#else
dnnl::convolution_forward::primitive_desc WalkForward(const dnnl::engine& engine,
                                                      dnnl::prop_kind kind,
                                                      dnnl::algorithm algorithm, const Descs& descs,
                                                      Names& names) {
  const dnnl::convolution_forward::desc operation(kind, algorithm, descs.src, descs.weights,
                                                  descs.dst, descs.strides, descs.dilates,
                                                  descs.pads, descs.pads);
  Walk(dnnl::convolution_forward::primitive_desc(operation, engine, true), names);
  return {operation, engine, true};
}

template <class Operation>
void WalkBackward(const dnnl::engine& engine, dnnl::algorithm algorithm, const Descs& descs,
                  const dnnl::convolution_forward::primitive_desc& hint, Names& names) {
  const typename Operation::desc operation(algorithm, descs.src, descs.weights, descs.dst,
                                           descs.strides, descs.dilates, descs.pads, descs.pads);
  Walk(typename Operation::primitive_desc(operation, engine, hint, true), names);
}
#endif

// Everything that the library offers for `conv` by the iterators of all algorithms.
Names OfferedFor(const Conv& conv, Formats formats) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Descs descs = DescsOf(conv, formats);
  Names unused;
  const auto hint =
      WalkForward(engine, dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
                  DescsOf(conv, Formats::kAny), unused);
  Names names;
  for (const dnnl::algorithm algorithm : kAlgorithms) {
    switch (conv.direction) {
      case ConvDirection::kForward:
        WalkForward(engine, dnnl::prop_kind::forward_inference, algorithm, descs, names);
        break;
      case ConvDirection::kBackwardData:
        WalkBackward<dnnl::convolution_backward_data>(engine, algorithm, descs, hint, names);
        break;
      case ConvDirection::kBackwardWeights:
        WalkBackward<dnnl::convolution_backward_weights>(engine, algorithm, descs, hint, names);
        break;
    }
  }
  return names;
}

bool IsReference(const std::string& name) { return name.starts_with("ref"); }

// The small cases of every property, and two layers of the sizes that kernels are written for.
std::vector<host::ConvCase> WalkedCases() {
  std::vector<host::ConvCase> cases = host::ConvCases();
  Conv layer;
  layer.batch = 2;
  layer.in_channels = layer.out_channels = 64;
  layer.in = {1, 56, 56};
  layer.filter = {1, 3, 3};
  layer.pad = {0, 1, 1};
  cases.push_back({"layer3x3", layer});
  layer.filter = {1, 1, 1};
  layer.pad = {0, 0, 0};
  cases.push_back({"layer1x1", layer});
  return cases;
}

// Reference loops are left out by design where anything else is offered, and are one candidate
// where nothing is.
TEST(OneDnnWalk, EveryImplementationThatTheLibraryOffersIsACandidate) {
  const auto plugin = LoadPlugin("onednn");
  ASSERT_TRUE(plugin.ok()) << plugin.status().ToString();
  const SolverList solvers = (*plugin)->make_solvers();
  const Solver* solver = FindSolver(solvers, {"host.onednn-conv", 1});
  ASSERT_NE(solver, nullptr);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Names all_seen;
  for (const host::ConvCase& test : WalkedCases()) {
    for (const ConvDirection direction :
         {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
      Conv conv = test.conv;
      conv.direction = direction;
      const auto space = solver->Space(conv, host::TestTarget(cores));
      ASSERT_TRUE(space.ok()) << space.status().ToString();
      Names candidates;
      for (uint64_t i = 0; i < space->size(); ++i) {
        candidates.insert(StringAt(space->At(i), "impl"));
      }
      const bool has_reference = std::any_of(candidates.begin(), candidates.end(), IsReference);

      Names offered = OfferedFor(conv, Formats::kPlain);
      offered.merge(OfferedFor(conv, Formats::kAny));

      ASSERT_FALSE(offered.empty()) << test.name;
      const bool only_references = std::all_of(offered.begin(), offered.end(), IsReference);
      EXPECT_EQ(has_reference, only_references) << test.name << " " << Name(direction);
      for (const std::string& name : offered) {
        EXPECT_TRUE(IsReference(name) || candidates.contains(name))
            << name << " of " << test.name << " " << Name(direction);
      }
      all_seen.merge(offered);
    }
  }
  // The walk saw more than the reference loops of every problem.
  EXPECT_GT(std::count_if(all_seen.begin(), all_seen.end(),
                          [](const std::string& name) { return !IsReference(name); }),
            5)
      << ::testing::PrintToString(all_seen);
}

}  // namespace
}  // namespace attune
