#include "attune/formats/miopen/solver_catalogue.h"

#include <algorithm>
#include <iterator>

namespace attune::miopen {
namespace {

constexpr bool kTunable = true;
constexpr bool kRemoved = true;

// From MIOpen 3.3 (2d1fd997a, 2024-10), sorted by name.
constexpr SolverFacts kSolvers[] = {
    {"ConvAsm1x1U", 2, Algorithm::kDirect, kTunable},
    {"ConvAsm1x1UV2", 3, Algorithm::kDirect, kTunable},
    {"ConvAsm3x3U", 1, Algorithm::kDirect, kTunable},
    {"ConvAsm5x10u2v2b1", 6, Algorithm::kDirect},
    {"ConvAsm5x10u2v2f1", 5, Algorithm::kDirect},
    {"ConvAsm7x7c3h224w224k64u2v2p3q3f1", 7, Algorithm::kDirect},
    {"ConvAsmBwdWrW1x1", 17, Algorithm::kDirect, kTunable},
    {"ConvAsmBwdWrW3x3", 16, Algorithm::kDirect, kTunable},
    {"ConvAsmImplicitGemmGTCDynamicBwdXdlops", 82, Algorithm::kImplicitGemm},
    {"ConvAsmImplicitGemmGTCDynamicBwdXdlopsNHWC", 108, Algorithm::kImplicitGemm, kTunable},
    {"ConvAsmImplicitGemmGTCDynamicFwdDlopsNCHWC", 127, Algorithm::kImplicitGemm, kTunable},
    {"ConvAsmImplicitGemmGTCDynamicFwdXdlops", 74, Algorithm::kImplicitGemm},
    {"ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", 107, Algorithm::kImplicitGemm, kTunable},
    {"ConvAsmImplicitGemmGTCDynamicWrwXdlops", 72, Algorithm::kImplicitGemm},
    {"ConvAsmImplicitGemmGTCDynamicWrwXdlopsNHWC", 110, Algorithm::kImplicitGemm, kTunable},
    {"ConvAsmImplicitGemmV4R1DynamicBwd", 65, Algorithm::kImplicitGemm},
    {"ConvAsmImplicitGemmV4R1DynamicFwd", 62, Algorithm::kImplicitGemm},
    {"ConvAsmImplicitGemmV4R1DynamicFwd_1x1", 63, Algorithm::kImplicitGemm},
    {"ConvAsmImplicitGemmV4R1DynamicWrw", 66, Algorithm::kImplicitGemm},
    {"ConvBinWinograd3x3U", 14, Algorithm::kWinograd},
    {"ConvBinWinogradRxS", 15, Algorithm::kWinograd},
    {"ConvBinWinogradRxSf2x3", 53, Algorithm::kWinograd, kTunable},
    {"ConvBinWinogradRxSf2x3g1", 84, Algorithm::kWinograd},
    {"ConvBinWinogradRxSf3x2", 37, Algorithm::kWinograd, kTunable},
    {"ConvCkIgemmFwdV6r1DlopsNchw", 114, Algorithm::kImplicitGemm, kTunable},
    {"ConvDirectNaiveConvBwd", 86, Algorithm::kDirect},
    {"ConvDirectNaiveConvFwd", 85, Algorithm::kDirect},
    {"ConvDirectNaiveConvWrw", 87, Algorithm::kDirect},
    {"ConvHipImplicitGemm3DGroupBwdXdlops", 141, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemm3DGroupFwdXdlops", 138, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemm3DGroupWrwXdlops", 140, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmBwdDataV1R1", 55, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmBwdDataV1R1Xdlops", 57, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmBwdDataV4R1", 56, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmBwdDataV4R1Xdlops", 60, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmBwdXdlops", 129, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmF16F8F16BwdXdlops", 150, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmF16F8F16FwdXdlops", 149, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmF16F8F16WrwXdlops", 151, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmForwardV4R4Xdlops", 64, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmForwardV4R4Xdlops_Padded_Gemm", 81, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmForwardV4R5Xdlops", 80, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmFwdXdlops", 128, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmGroupBwdXdlops", 155, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmGroupFwdXdlops", 137, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmGroupWrwXdlops", 156, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmMlirCppBwd", 93, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmMlirCppFwd", 92, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmMlirCppWrW", 94, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4Fwd", 27, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R1Fwd", 26, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmV4R1WrW", 31, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmV4R4Fwd", 54, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmV4R4FwdXdlops", 29, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R4GenFwdXdlops", 51, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R4GenWrWXdlops", 52, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R4GenXdlopsFwdFp32", 58, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R4GenXdlopsWrWFp32", 59, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R4WrW", 61, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmV4R4WrWXdlops", 50, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4R4Xdlops_1x1", 30, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4WrW", 32, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmV4_1x1", 28, Algorithm::kImplicitGemm, !kTunable, kRemoved},
    {"ConvHipImplicitGemmWrwV4R4Xdlops", 73, Algorithm::kImplicitGemm, kTunable},
    {"ConvHipImplicitGemmWrwV4R4Xdlops_Padded_Gemm", 83, Algorithm::kImplicitGemm, kTunable},
    {"ConvMPBidirectWinograd<2-3>", 67, Algorithm::kWinograd},
    {"ConvMPBidirectWinograd<3-3>", 68, Algorithm::kWinograd},
    {"ConvMPBidirectWinograd<4-3>", 69, Algorithm::kWinograd},
    {"ConvMPBidirectWinograd<5-3>", 70, Algorithm::kWinograd},
    {"ConvMPBidirectWinograd<6-3>", 71, Algorithm::kWinograd},
    {"ConvMPBidirectWinograd_xdlops<2-3>", 75, Algorithm::kWinograd, kTunable},
    {"ConvMPBidirectWinograd_xdlops<3-3>", 76, Algorithm::kWinograd, kTunable},
    {"ConvMPBidirectWinograd_xdlops<4-3>", 77, Algorithm::kWinograd, kTunable},
    {"ConvMPBidirectWinograd_xdlops<5-3>", 78, Algorithm::kWinograd, kTunable},
    {"ConvMPBidirectWinograd_xdlops<6-3>", 79, Algorithm::kWinograd, kTunable},
    {"ConvMlirIgemmBwd", 99, Algorithm::kImplicitGemm, kTunable},
    {"ConvMlirIgemmBwdXdlops", 104, Algorithm::kImplicitGemm, kTunable},
    {"ConvMlirIgemmFwd", 98, Algorithm::kImplicitGemm, kTunable},
    {"ConvMlirIgemmFwdXdlops", 103, Algorithm::kImplicitGemm, kTunable},
    {"ConvMlirIgemmWrW", 100, Algorithm::kImplicitGemm, kTunable},
    {"ConvMlirIgemmWrWXdlops", 105, Algorithm::kImplicitGemm, kTunable},
    {"ConvOclBwdWrW1x1", 25, Algorithm::kDirect},
    {"ConvOclBwdWrW2<16>", 22, Algorithm::kDirect, kTunable},
    {"ConvOclBwdWrW2<1>", 18, Algorithm::kDirect, kTunable},
    {"ConvOclBwdWrW2<2>", 19, Algorithm::kDirect, kTunable},
    {"ConvOclBwdWrW2<4>", 20, Algorithm::kDirect, kTunable},
    {"ConvOclBwdWrW2<8>", 21, Algorithm::kDirect, kTunable},
    {"ConvOclBwdWrW2NonTunable", 23, Algorithm::kDirect},
    {"ConvOclBwdWrW53", 24, Algorithm::kDirect},
    {"ConvOclDirectFwd", 11, Algorithm::kDirect, kTunable},
    {"ConvOclDirectFwd11x11", 8, Algorithm::kDirect},
    {"ConvOclDirectFwd1x1", 13, Algorithm::kDirect, kTunable},
    {"ConvOclDirectFwd3x3", 10, Algorithm::kDirect, !kTunable, kRemoved},
    {"ConvOclDirectFwdGen", 9, Algorithm::kDirect},
    {"ConvSCGemmFGemm", 36, Algorithm::kGemm, !kTunable, kRemoved},
    {"ConvWinoFuryRxS<2-3>", 139, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<1-1-7-2>", 46, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<1-1-7-3>", 47, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<3-2>", 40, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<3-3>", 41, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<3-4>", 35, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<3-5>", 38, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<3-6>", 39, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<5-3>", 48, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<5-4>", 49, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<7-2-1-1>", 44, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<7-2>", 42, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<7-3-1-1>", 45, Algorithm::kWinograd},
    {"ConvWinograd3x3MultipassWrW<7-3>", 43, Algorithm::kWinograd},
    {"GemmBwd1x1_stride1", 96, Algorithm::kGemm},
    {"GemmBwd1x1_stride2", 95, Algorithm::kGemm},
    {"GemmBwdRest", 97, Algorithm::kGemm},
    {"GemmFwd1x1_0_1", 88, Algorithm::kGemm},
    {"GemmFwd1x1_0_1_int8", 89, Algorithm::kGemm},
    {"GemmFwd1x1_0_2", 90, Algorithm::kGemm},
    {"GemmFwdRest", 91, Algorithm::kGemm},
    {"GemmWrw1x1_stride1", 101, Algorithm::kGemm},
    {"GemmWrwUniversal", 102, Algorithm::kGemm},
    {"fft", 34, Algorithm::kFft},
    {"gemm", 33, Algorithm::kGemm, !kTunable, kRemoved},
};

constexpr std::string_view kAlgorithms[] = {"Direct", "Winograd", "ImplicitGEMM", "GEMM", "FFT"};
constexpr std::string_view kDirections[] = {"Fwd", "BwdData", "BwdWeights"};
// In find-dbs of 2018.
constexpr std::string_view kHistoricName = "miopenTransposeBwdDataAlgoGEMM";

}  // namespace

std::span<const SolverFacts> KnownSolvers() { return kSolvers; }

const SolverFacts* FindSolver(std::string_view name) {
  const auto* const found = std::lower_bound(
      std::begin(kSolvers), std::end(kSolvers), name,
      [](const SolverFacts& solver, std::string_view wanted) { return solver.name < wanted; });
  return found != std::end(kSolvers) && found->name == name ? found : nullptr;
}

std::string AlgorithmName(Direction direction, Algorithm algorithm) {
  std::string name("miopenConvolution");
  name += kDirections[static_cast<size_t>(direction)];
  name += "Algo";
  name += kAlgorithms[static_cast<size_t>(algorithm)];
  return name;
}

std::optional<DirectedAlgorithm> ParseAlgorithm(std::string_view name) {
  constexpr std::string_view kStart = "miopenConvolution";
  if (name == kHistoricName) return DirectedAlgorithm{Direction::kBackwardData, Algorithm::kGemm};
  if (!name.starts_with(kStart)) return std::nullopt;
  name.remove_prefix(kStart.size());
  for (size_t i = 0; i < std::size(kDirections); ++i) {
    if (!name.starts_with(kDirections[i])) continue;
    const std::string_view rest = name.substr(kDirections[i].size());
    if (!rest.starts_with("Algo")) continue;
    const auto* const found =
        std::find(std::begin(kAlgorithms), std::end(kAlgorithms), rest.substr(4));
    if (found == std::end(kAlgorithms)) return std::nullopt;
    const DirectedAlgorithm parsed{static_cast<Direction>(i),
                                   static_cast<Algorithm>(found - std::begin(kAlgorithms))};
    // No FFT computes weights.
    const bool exists =
        parsed.direction != Direction::kBackwardWeights || parsed.algorithm != Algorithm::kFft;
    return exists ? std::optional(parsed) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace attune::miopen
