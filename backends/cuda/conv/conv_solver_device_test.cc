// Convolutions as products, and in another layout, on a GPU and on shapes that hurt: label `gpu`.
// The conformance suite has small ones for every solver.
#include "attune/kernel/kernel_library.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/cudnn_conv.h"
#include "backends/cuda/conv/cudnn_graph_conv.h"
#include "backends/cuda/conv/cudnn_instant_conv.h"
#include "backends/cuda/conv/cudnn_layout_conv.h"
#include "backends/cuda/conv/cudnn_split_conv.h"
#include "backends/cuda/conv/pointwise_conv.h"
#include "backends/cuda/conv/unfolded_conv.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/gemm/cublaslt_gemm.h"
#include "backends/cuda/gemm/padded_gemm.h"
#include "backends/cuda/gemm/split_gemm.h"
#include "backends/cuda/gemm/transposed_gemm.h"
#include "backends/cuda/kernel/kernel_solver.h"
#include "backends/cuda/solver_device_test.h"

namespace attune::cuda {
namespace {

constexpr const char* kPointwise = "cuda.cublaslt-pointwise-conv";
constexpr const char* kPointwiseWeights = "cuda.cublaslt-pointwise-weights-conv";
constexpr const char* kIm2col = "cuda.cublaslt-im2col-conv";
constexpr const char* kPointwiseByAny = "cuda.pointwise-product-conv";
constexpr const char* kPointwiseWeightsByAny = "cuda.pointwise-weights-product-conv";
constexpr const char* kUnfoldedByAny = "cuda.unfolded-product-conv";
constexpr const char* kGraph = "cuda.cudnn-graph-conv";
constexpr const char* kLegacy = "cuda.cudnn-conv";
constexpr const char* kInstant = "cuda.cudnn-instant-conv";
constexpr const char* kLayout = "cuda.cudnn-layout-conv";
constexpr const char* kSplit = "cuda.cudnn-split-conv";

const HostileCase kCases[] = {
    // Maps of 7 x 7 and odd channels: no column of a channels-first matrix is aligned.
    {kPointwise, "conv@1{dir=fwd,n=5,c=67,h=7,w=7,k=45,fh=1,fw=1,type=f16,align=2}"},
    {kPointwise, "conv@1{dir=bwd_data,n=5,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16,align=2}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=64,h=28,w=28,k=96,fh=1,fw=1,math=tf32}"},
    {kPointwise, "conv@1{dir=bwd_weights,n=5,c=64,h=28,w=28,k=96,fh=1,fw=1,layout=nhwc,type=bf16}"},
    {kPointwise, "conv@1{dir=bwd_weights,n=5,c=67,h=7,w=9,k=45,fh=1,fw=1,layout=nhwc,align=4}"},
    {kPointwise, "conv@1{dir=bwd_data,n=5,c=64,h=7,w=9,k=96,fh=1,fw=1,layout=nhwc,type=f64}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=64,h=9,w=9,k=48,fh=1,fw=1,layout=nhwc,bias=1,type=f16}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3}"},
    {kPointwise, "conv@1{dir=bwd_data,n=2,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3,type=f16}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=96,h=9,w=9,k=48,fh=1,fw=1,g=3,layout=nhwc,type=bf16}"},
    {kPointwise, "conv@1{dir=bwd_weights,n=5,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3,layout=nhwc}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=40,h=9,w=9,k=48,fh=1,fw=1,layout=nhwc,ylayout=nchw}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=40,h=9,w=9,k=48,fh=1,fw=1,ylayout=nhwc,bias=1}"},
    {kPointwise, "conv@1{dir=fwd,mode=trans,n=5,c=40,h=9,w=9,k=48,fh=1,fw=1}"},
    {kPointwise, "conv@1{dir=fwd,n=3,c=40,d=4,h=9,w=9,k=48,fd=1,fh=1,fw=1}"},
    {kPointwiseWeights,
     "conv@1{dir=bwd_weights,n=37,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16,align=2}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=37,c=64,h=28,w=28,k=96,fh=1,fw=1,type=f16}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=64,h=14,w=14,k=96,fh=1,fw=1,math=tf32}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=33,h=9,w=9,k=36,fh=1,fw=1,ylayout=nhwc}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=33,h=9,w=9,k=36,fh=1,fw=1,type=f64}"},
    // A first layer, in every direction.
    {kIm2col, "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kIm2col,
     "conv@1{dir=bwd_data,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kIm2col,
     "conv@1{dir=bwd_weights,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kIm2col,
     "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,layout=nhwc,type=f16}"},
    {kIm2col,
     "conv@1{dir=fwd,n=3,c=32,h=29,w=31,k=47,fh=3,fw=3,ph=2,pw=2,dh=2,dw=2,layout=nhwc,type=f16}"},
    {kIm2col,
     "conv@1{dir=bwd_data,n=3,c=32,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16,align="
     "2}"},
    {kIm2col,
     "conv@1{dir=bwd_weights,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}"},
    {kIm2col, "conv@1{dir=bwd_weights,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,math=tf32}"},
    {kIm2col, "conv@1{dir=fwd,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,type=f64}"},
    {kIm2col, "conv@1{dir=bwd_data,n=3,c=33,h=29,w=31,k=47,fh=1,fw=1,sh=2,sw=2,type=f64}"},
    {kIm2col, "conv@1{dir=fwd,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,layout=nhwc,wlayout=nchw,bias=1}"},
    {kIm2col,
     "conv@1{dir=fwd,mode=trans,n=2,c=24,h=9,w=8,k=20,fh=4,fw=3,sh=2,sw=3,ph=1,bias=1,type=f16}"},
    {kIm2col,
     "conv@1{dir=bwd_data,n=2,c=12,d=7,h=9,w=8,k=20,fd=3,fh=3,fw=3,sd=2,sh=2,sw=2,pd=1,type=bf16}"},
    {kIm2col, "conv@1{dir=bwd_weights,n=9,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16}"},
    // The product inside by other solvers: padded, split, on tensor cores, batched.
    {kPointwiseByAny, "conv@1{dir=fwd,n=5,c=67,h=7,w=7,k=45,fh=1,fw=1,type=f16,align=2}"},
    {kPointwiseByAny, "conv@1{dir=fwd,n=5,c=64,h=28,w=28,k=96,fh=1,fw=1,math=tf32}"},
    {kPointwiseByAny,
     "conv@1{dir=fwd,n=5,c=64,h=9,w=9,k=48,fh=1,fw=1,layout=nhwc,bias=1,type=f16}"},
    {kPointwiseByAny, "conv@1{dir=fwd,n=5,c=96,h=9,w=9,k=48,fh=1,fw=1,g=3,layout=nhwc,type=bf16}"},
    {kPointwiseWeightsByAny,
     "conv@1{dir=bwd_weights,n=37,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16,align=2}"},
    {kUnfoldedByAny,
     "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kUnfoldedByAny,
     "conv@1{dir=bwd_data,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kUnfoldedByAny,
     "conv@1{dir=bwd_weights,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kUnfoldedByAny,
     "conv@1{dir=fwd,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,layout=nhwc,wlayout=nchw,bias=1}"},
    {kUnfoldedByAny,
     "conv@1{dir=bwd_data,n=2,c=12,d=7,h=9,w=8,k=20,fd=3,fh=3,fw=3,sd=2,sh=2,sw=2,pd=1,type=bf16}"},
    // In rounds, as below.
    {kUnfoldedByAny, "conv@1{dir=fwd,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=f16}"},
    // Rounds: four of 12 images of 48 MiB at a time.
    {kIm2col, "conv@1{dir=fwd,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=f32}"},
    {kIm2col, "conv@1{dir=bwd_weights,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=bf16}"},
    {kIm2col, "conv@1{dir=bwd_data,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=f16}"},
    // Narrow types in three dimensions, in groups, depthwise, and with channels last.
    {kGraph, "conv@1{dir=fwd,n=2,c=16,d=7,h=9,w=8,k=24,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1,type=f16}"},
    {kGraph, "conv@1{dir=bwd_data,n=2,c=16,d=7,h=9,w=8,k=24,fd=3,fh=3,fw=3,pd=1,type=bf16}"},
    {kGraph, "conv@1{dir=fwd,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,ph=1,pw=1,type=f16,g=4}"},
    {kGraph, "conv@1{dir=fwd,n=3,c=40,h=27,w=25,k=40,fh=3,fw=3,ph=1,pw=1,type=f16,g=40}"},
    {kGraph, "conv@1{dir=fwd,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,layout=nhwc,type=f16,align=2}"},
    {kGraph, "conv@1{dir=bwd_data,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,layout=nhwc,type=bf16,g=4}"},
    {kGraph, "conv@1{dir=bwd_weights,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,layout=nhwc,type=f16}"},
    {kLegacy, "conv@1{dir=fwd,n=2,c=16,d=7,h=9,w=8,k=24,fd=3,fh=3,fw=3,pd=1,type=f16}"},
    {kLegacy, "conv@1{dir=fwd,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,ph=1,pw=1,type=f16,g=4}"},
    {kLegacy, "conv@1{dir=bwd_data,n=3,c=40,h=27,w=25,k=40,fh=3,fw=3,type=f16,g=40}"},
    {kLegacy, "conv@1{dir=fwd,n=3,c=40,h=29,w=31,k=48,fh=3,fw=3,layout=nhwc,type=f16}"},
    {kInstant, "conv@1{dir=fwd,n=2,c=16,d=7,h=9,w=8,k=24,fd=3,fh=3,fw=3,pd=1,type=f16}"},
    {kInstant, "conv@1{dir=fwd,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,ph=1,pw=1,type=f16,g=4}"},
    {kInstant, "conv@1{dir=fwd,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,layout=nhwc,type=f16}"},
    {kInstant, "conv@1{dir=bwd_data,n=3,c=40,h=27,w=25,k=40,fh=3,fw=3,type=bf16,g=40}"},
    // Depthwise. cuDNN's own first choice is partly wrong for gradients of f16.
    {kInstant, "conv@1{dir=fwd,n=3,c=40,h=27,w=25,k=80,fh=3,fw=3,pw=1,sh=2,sw=2,type=f16,g=40}"},
    {kInstant, "conv@1{dir=fwd,n=8,c=96,h=28,w=28,k=96,fh=5,fw=5,layout=nhwc,type=f16,g=96}"},
    {kInstant, "conv@1{dir=bwd_weights,n=8,c=96,h=56,w=56,k=96,fh=3,fw=3,ph=1,type=f16,g=96}"},
    {kInstant, "conv@1{dir=bwd_weights,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=f16,g=512}"},
    {kInstant,
     "conv@1{dir=bwd_weights,n=9,c=96,h=28,w=28,k=96,fh=5,fw=5,layout=nhwc,type=f16,g=96}"},
    {kLegacy, "conv@1{dir=bwd_weights,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=f16,g=512}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kLayout, "conv@1{dir=bwd_data,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,ph=1,pw=1,type=f16,align=2}"},
    {kLayout, "conv@1{dir=bwd_weights,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,ph=1,pw=1,type=f16}"},
    {kLayout, "conv@1{dir=bwd_weights,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1,type=bf16}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,ph=1,pw=1,type=f16,g=4}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1,math=tf32}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,layout=nhwc,type=f16}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=12,d=7,h=9,w=8,k=20,fd=3,fh=3,fw=3,type=bf16}"},
    {kSplit, "conv@1{dir=fwd,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1}"},
    {kSplit, "conv@1{dir=bwd_data,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1}"},
    {kSplit, "conv@1{dir=bwd_weights,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1}"},
    // Channels that are filled up, and rows that begin anywhere.
    {kSplit, "conv@1{dir=fwd,n=3,c=67,h=27,w=25,k=45,fh=3,fw=3,ph=1,pw=1,align=4}"},
    {kSplit, "conv@1{dir=bwd_data,n=3,c=67,h=27,w=25,k=75,fh=3,fw=3,ph=1,pw=1,align=4}"},
    {kSplit, "conv@1{dir=bwd_weights,n=3,c=67,h=27,w=25,k=75,fh=3,fw=3,ph=1,pw=1,align=4}"},
    {kSplit, "conv@1{dir=fwd,n=3,c=128,h=29,w=31,k=192,fh=3,fw=3,ph=1,pw=1,sh=2,sw=2,g=2}"},
    {kSplit, "conv@1{dir=bwd_data,n=3,c=128,h=29,w=31,k=128,fh=3,fw=3,ph=1,pw=1,g=2}"},
    {kSplit, "conv@1{dir=bwd_weights,n=3,c=128,h=29,w=31,k=128,fh=3,fw=3,ph=1,pw=1,g=2}"},
    {kSplit, "conv@1{dir=fwd,n=3,c=72,h=27,w=25,k=96,fh=3,fw=3,ph=2,pw=2,dh=2,dw=2,layout=nhwc}"},
    {kSplit, "conv@1{dir=bwd_data,n=3,c=72,h=27,w=25,k=96,fh=3,fw=3,sh=2,sw=2,layout=nhwc}"},
    {kSplit, "conv@1{dir=bwd_weights,n=3,c=72,h=27,w=25,k=96,fh=3,fw=3,layout=nhwc}"},
    {kSplit, "conv@1{dir=fwd,n=3,c=128,h=14,w=14,k=128,fh=3,fw=3,layout=nhwc,g=2}"},
    {kSplit, "conv@1{dir=fwd,n=3,c=256,h=28,w=28,k=256,fh=1,fw=1}"},
    {kSplit, "conv@1{dir=fwd,n=2,c=24,d=7,h=9,w=8,k=40,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1}"},
    // Two rounds, of three images and more than 45 MiB each.
    {kSplit, "conv@1{dir=fwd,n=6,c=16,h=500,w=500,k=17,fh=3,fw=3,ph=1,pw=1}"},
    {kSplit, "conv@1{dir=bwd_data,n=6,c=17,h=500,w=500,k=16,fh=3,fw=3,ph=1,pw=1}"},
};

bool IsByAnyProduct(const HostileCase& each) {
  return std::string_view(each.solver).ends_with("-product-conv");
}

// True for solvers that compute on their operands in place.
bool IsOfCudnn(const HostileCase& each) {
  const std::string_view solver = each.solver;
  return solver == kGraph || solver == kLegacy || solver == kInstant;
}

class ConvSolverDeviceTest : public SolverDeviceTest {
 protected:
  void SetUp() override {
    SolverDeviceTest::SetUp();
    Keep(MakePointwiseConv(lt_, nvrtc_));
    Keep(MakePointwiseWeightsConv(lt_, nvrtc_));
    Keep(MakeUnfoldedConv(lt_, nvrtc_));
    kernel::KernelLibrary library =
        kernel::LoadKernelLibrary(kernel::KernelFolders(), kernel::KernelLanguage::kCuda);
    products_.push_back(MakeSplitGemm(lt_, nvrtc_));
    products_.push_back(MakeFoldedGemm(lt_));
    products_.push_back(MakePaddedGemm(lt_, nvrtc_));
    products_.push_back(MakeTransposedGemm(lt_, nvrtc_));
    for (kernel::KernelFile& file : library.files) {
      if (file.operator_name != "gemm") continue;
      products_.push_back(std::make_unique<KernelSolver>(nvrtc_, std::move(file)));
    }
    std::vector<const Solver*> products;
    for (const auto& product : products_) products.push_back(product.get());
    Keep(MakePointwiseProductConv(products, nvrtc_));
    Keep(MakePointwiseWeightsProductConv(products, nvrtc_));
    Keep(MakeUnfoldedProductConv(products, nvrtc_));
    Keep(MakeCudnnGraphConv(cudnn_));
    Keep(MakeCudnnConv(cudnn_));
    Keep(MakeCudnnInstantConv(cudnn_));
    Keep(MakeCudnnLayoutConv(cudnn_, nvrtc_));
    Keep(MakeCudnnSplitConv(cudnn_, nvrtc_));
  }

 private:
  // Some of cuDNN's engines that split a gradient of weights along its sum (47 with a split by 2,
  // of 9.14) round the parts to the narrow type without reporting it.
  static bool RoundsParts(const Conv& conv) {
    return SizeBytes(conv.type) < sizeof(float) &&
           conv.direction == ConvDirection::kBackwardWeights;
  }

  // Some of cuDNN's engines for tf32 round their results to it, which parts do not survive, and
  // those that add the three parts tap by tap cut long sums off.
  bool MayBeWrong(const Solver& solver, const Problem& problem) const override {
    const Conv& conv = problem.Get<Conv>();
    const std::string& name = solver.id().name;
    return ((name == kLayout || name == kGraph) && RoundsParts(conv)) || name == kSplit;
  }

  const Lazy<CublasLt> lt_;
  const Lazy<Cudnn> cudnn_;
  std::vector<std::unique_ptr<const Solver>> products_;
};

TEST_F(ConvSolverDeviceTest, ResultsOfHostileShapesAreRight) {
  for (const HostileCase& each : kCases) {
    const std::string_view solver = each.solver;
    if (solver != kSplit && !IsByAnyProduct(each) && !IsOfCudnn(each)) ExpectRight(each);
  }
}

TEST_F(ConvSolverDeviceTest, ResultsOfCudnnAreRightWhateverTheShape) {
  for (const HostileCase& each : kCases) {
    if (IsOfCudnn(each)) ExpectRight(each);
  }
}

TEST_F(ConvSolverDeviceTest, ResultsByOtherProductsInsideAreRight) {
  for (const HostileCase& each : kCases) {
    if (IsByAnyProduct(each)) ExpectRight(each);
  }
}

TEST_F(ConvSolverDeviceTest, ResultsOfSplitOperandsAreRight) {
  for (const HostileCase& each : kCases) {
    if (each.solver == std::string_view(kSplit)) ExpectRight(each);
  }
}

}  // namespace
}  // namespace attune::cuda
