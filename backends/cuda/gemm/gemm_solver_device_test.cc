// Products by other products of cuBLASLt's, on a GPU and on shapes that hurt: label `gpu`. The
// conformance suite has small ones for every solver.
#include <string>
#include <vector>

#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/gemm/cublaslt_gemm.h"
#include "backends/cuda/gemm/folded_product_gemm.h"
#include "backends/cuda/gemm/padded_gemm.h"
#include "backends/cuda/gemm/split_gemm.h"
#include "backends/cuda/gemm/transposed_gemm.h"
#include "backends/cuda/solver_device_test.h"

namespace attune::cuda {
namespace {

constexpr const char* kFolded = "cuda.folded-cublaslt-gemm";
constexpr const char* kFoldedByAny = "cuda.folded-product-gemm";
constexpr const char* kPadded = "cuda.padded-cublaslt-gemm";
constexpr const char* kPlain = "cuda.cublaslt-gemm";
constexpr const char* kSplit = "cuda.split-cublaslt-gemm";
constexpr const char* kTransposed = "cuda.transposed-cublaslt-gemm";

const HostileCase kCases[] = {
    {kPadded, "gemm@1{m=333,n=259,k=401,type=bf16}"},
    {kPadded, "gemm@1{m=333,n=259,k=401,ta=t,tb=t,lda=405,ldb=263,ldc=335,type=f16,align=2}"},
    {kPadded, "gemm@1{m=65,n=33,k=129,batch=7,sa=0,beta=other,alpha=other,type=f64}"},
    {kPadded, "gemm@1{m=333,n=259,k=401,type=bf16,bias=row,act=relu,det=1}"},
    // Every storage order and type; odd leading dimensions, batches, gaps.
    {kTransposed, "gemm@1{m=333,n=259,k=401,type=bf16}"},
    {kTransposed, "gemm@1{m=333,n=259,k=401,ta=t,type=f16}"},
    {kTransposed, "gemm@1{m=333,n=259,k=401,tb=t,math=tf32}"},
    {kTransposed, "gemm@1{m=333,n=259,k=401,ta=t,tb=t}"},
    {kTransposed, "gemm@1{m=333,n=259,k=401,tb=t,lda=335,ldb=263,ldc=337,type=f64}"},
    {kTransposed, "gemm@1{m=512,n=384,k=640,type=bf16,ctype=f32}"},
    {kTransposed, "gemm@1{m=512,n=384,k=640,tb=t,type=f16,align=2}"},
    {kTransposed, "gemm@1{m=130,n=66,k=257,math=bf16,alpha=other,beta=other}"},
    {kTransposed, "gemm@1{m=65,n=33,k=129,batch=7,type=bf16}"},
    {kTransposed, "gemm@1{m=65,n=33,k=129,batch=7,sa=0,sb=5000,sc=2300,type=f16,beta=one}"},
    {kTransposed, "gemm@1{m=64,n=32,k=128,tb=t,ldb=224,batch=7,sb=32,type=bf16}"},
    {kTransposed, "gemm@1{m=333,n=259,k=401,tb=t,type=bf16,bias=row,act=relu}"},
    {kTransposed, "gemm@1{m=333,n=259,k=401,ta=t,tb=t,type=f16,det=1,beta=other}"},
    {kTransposed, "gemm@1{m=333,n=1,k=401,type=bf16}"},
    {kTransposed, "gemm@1{m=2,n=2,k=70001,type=bf16}"},
    // Short and long parts, with and without a rest, and every epilogue.
    {kSplit, "gemm@1{m=64,n=64,k=65536,type=bf16}"},
    {kSplit, "gemm@1{m=64,n=64,k=16411,ta=t,type=bf16}"},
    {kSplit, "gemm@1{m=333,n=259,k=4099,type=f16}"},
    {kSplit, "gemm@1{m=333,n=259,k=4099,ta=t,type=bf16,align=2}"},
    {kSplit, "gemm@1{m=333,n=259,k=4099,tb=t,lda=335,ldb=261,ldc=341,math=tf32,beta=other}"},
    {kSplit, "gemm@1{m=333,n=259,k=4099,ta=t,tb=t,beta=one}"},
    {kSplit, "gemm@1{m=67,n=35,k=1031,type=f64,alpha=other,beta=other,bias=column}"},
    {kSplit, "gemm@1{m=67,n=35,k=1031,math=bf16,bias=row,act=gelu}"},
    {kSplit, "gemm@1{m=67,n=35,k=1031,type=f16,ctype=f32,bias=column,act=tanh}"},
    {kSplit, "gemm@1{m=67,n=35,k=1031,type=bf16,bias=row,act=sigmoid,beta=other}"},
    {kSplit, "gemm@1{m=67,n=35,k=1031,type=bf16,bias=row,act=relu,det=1}"},
    {kSplit, "gemm@1{m=1,n=1,k=70001,type=f16}"},
    {kSplit, "gemm@1{m=1,n=4099,k=259,type=bf16}"},
    {kSplit, "gemm@1{m=4099,n=1,k=259,ta=t,type=bf16}"},
    {kSplit, "gemm@1{m=512,n=384,k=8192,ta=t,type=bf16}"},
    // Sequences of columns and of rows, packed, with gaps and interleaved.
    {kFolded, "gemm@1{m=65,n=33,k=129,batch=7,sa=0,type=bf16}"},
    {kFolded, "gemm@1{m=65,n=33,k=129,ta=t,lda=131,ldb=133,ldc=67,batch=7,sa=0,sb=4389,sc=2211}"},
    {kFolded, "gemm@1{m=65,n=33,k=129,tb=t,ldb=231,batch=7,sa=0,sb=33,type=f16,beta=other}"},
    {kFolded, "gemm@1{m=65,n=33,k=129,ldb=903,ldc=455,batch=7,sa=0,sb=129,sc=65,type=f64}"},
    {kFolded, "gemm@1{m=65,n=1,k=129,batch=70,sa=0,sb=131,sc=67,type=bf16,bias=row,act=relu}"},
    {kFolded, "gemm@1{m=65,n=33,k=129,lda=455,ldc=457,batch=7,sa=65,sb=0,sc=65,math=tf32}"},
    {kFolded, "gemm@1{m=65,n=33,k=129,ta=t,ldc=455,batch=7,sb=0,sc=65,type=bf16,beta=one}"},
    {kFolded, "gemm@1{m=65,n=1,k=129,ta=t,batch=7,sb=0,type=f16,det=1}"},
    // The same by padded, split and transposed products.
    {kFoldedByAny, "gemm@1{m=65,n=33,k=129,batch=7,sa=0,type=bf16}"},
    {kFoldedByAny, "gemm@1{m=65,n=33,k=1029,tb=t,ldb=231,batch=7,sa=0,sb=33,type=f16,beta=other}"},
    {kFoldedByAny, "gemm@1{m=65,n=33,k=129,lda=455,ldc=457,batch=7,sa=65,sb=0,sc=65,math=tf32}"},
};

// Shapes that tensor cores take for f8: Hopper in one storage order and in whole words of 16 bytes.
const HostileCase kCasesOfF8[] = {
    {kPlain, "gemm@1{m=64,n=48,k=128,ta=t,type=f8e4m3,ctype=bf16}"},
    {kPlain, "gemm@1{m=512,n=384,k=4096,ta=t,type=f8e4m3,ctype=f16,alpha=other,beta=other}"},
    {kPlain, "gemm@1{m=512,n=384,k=4096,ta=t,type=f8e4m3,ctype=f32,det=1}"},
    {kPlain, "gemm@1{m=64,n=48,k=128,ta=t,batch=3,type=f8e4m3,ctype=bf16,bias=row,act=relu}"},
    {kFolded, "gemm@1{m=64,n=32,k=128,ta=t,batch=7,sa=0,type=f8e4m3,ctype=bf16}"},
    {kPadded, "gemm@1{m=333,n=259,k=401,ta=t,type=f8e4m3,ctype=bf16}"},
    {kPadded, "gemm@1{m=333,n=259,k=401,ta=t,type=f8e4m3,ctype=f16,beta=one}"},
    {kTransposed, "gemm@1{m=512,n=384,k=640,type=f8e4m3,ctype=bf16}"},
    {kTransposed, "gemm@1{m=512,n=384,k=640,tb=t,lda=523,ldb=391,type=f8e4m3,ctype=f32}"},
    {kTransposed, "gemm@1{m=64,n=48,k=128,ta=t,tb=t,batch=3,type=f8e4m3,ctype=f16,beta=other}"},
    {kSplit, "gemm@1{m=64,n=48,k=16384,ta=t,type=f8e4m3,ctype=bf16}"},
    {kSplit, "gemm@1{m=64,n=48,k=1040,ta=t,type=f8e4m3,ctype=f32,bias=row,act=gelu,beta=other}"},
};

// Shapes in the storage order and the words of four that all tensor cores take for i8, and problems
// that solvers bring into them.
const HostileCase kCasesOfI8[] = {
    {kPlain, "gemm@1{m=64,n=48,k=128,ta=t,type=i8,ctype=i32}"},
    {kPlain, "gemm@1{m=512,n=384,k=4096,ta=t,type=i8,ctype=i32,alpha=other,beta=other}"},
    {kPlain, "gemm@1{m=36,n=20,k=44,ta=t,ldc=40,type=i8,ctype=i32,align=4,beta=one}"},
    {kPlain, "gemm@1{m=64,n=48,k=128,ta=t,batch=3,type=i8,ctype=i32,det=1}"},
    {kPlain, "gemm@1{m=64,n=64,k=65536,ta=t,type=i8,ctype=i32}"},
    {kFolded, "gemm@1{m=64,n=32,k=128,ta=t,batch=7,sa=0,type=i8,ctype=i32}"},
    {kPadded, "gemm@1{m=333,n=259,k=401,ta=t,type=i8,ctype=i32}"},
    {kPadded, "gemm@1{m=333,n=259,k=401,ta=t,type=i8,ctype=i32,beta=other,align=4}"},
    {kTransposed, "gemm@1{m=512,n=384,k=640,type=i8,ctype=i32}"},
    {kTransposed, "gemm@1{m=512,n=384,k=640,tb=t,lda=523,ldb=391,type=i8,ctype=i32}"},
    {kTransposed, "gemm@1{m=64,n=48,k=128,ta=t,tb=t,batch=3,type=i8,ctype=i32,beta=other}"},
};

class GemmSolverDeviceTest : public SolverDeviceTest {
 protected:
  void SetUp() override {
    SolverDeviceTest::SetUp();
    Keep(MakeCublasLtGemm(lt_));
    Keep(MakeFoldedGemm(lt_));
    Keep(MakePaddedGemm(lt_, nvrtc_));
    Keep(MakeSplitGemm(lt_, nvrtc_));
    Keep(MakeTransposedGemm(lt_, nvrtc_));
    std::vector<const Solver*> products;
    for (const char* name : {kPadded, kSplit, kTransposed}) {
      products.push_back(solvers_.at(name).get());
    }
    Keep(MakeFoldedProductGemm(products, nvrtc_));
  }

 private:
  const Lazy<CublasLt> lt_;
};

TEST_F(GemmSolverDeviceTest, ResultsOfHostileShapesAreRight) {
  for (const HostileCase& each : kCases) ExpectRight(each);
}

TEST_F(GemmSolverDeviceTest, ProductsOfF8AreRight) {
  const std::string& arch = device_->target().arch;
  ASSERT_TRUE(arch.starts_with("sm_")) << arch;
  if (std::stoi(arch.substr(3)) < 89) GTEST_SKIP() << arch << " has no tensor cores for f8.";
  for (const HostileCase& each : kCasesOfF8) ExpectRight(each);
}

TEST_F(GemmSolverDeviceTest, ProductsOfI8AreExact) {
  for (const HostileCase& each : kCasesOfI8) ExpectRight(each);
}

// Operands with exactly the alignment of the problem.
TEST_F(GemmSolverDeviceTest, NothingOfBetterAlignedOperandsRunsOnOthers) {
  const Solver& plain = *solvers_.at(kPlain);
  const Problem aligned = *ParseProblem("gemm@1{m=256,n=192,k=320,type=bf16}");
  const Problem anywhere = *ParseProblem("gemm@1{m=256,n=192,k=320,type=bf16,align=2}");
  const auto listed = plain.ListOn(*device_, aligned);
  ASSERT_TRUE(listed.ok()) << listed.status().ToString();
  const auto data = ProblemData::Create(anywhere, 1);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  auto operands = BoundOperands::Create(*device_, anywhere, *data);
  ASSERT_TRUE(operands.ok()) << operands.status().ToString();

  size_t refused = 0;
  for (size_t i = 0; i < listed->size(); i += 1 + listed->size() / 500) {
    const auto executable = plain.Load({}, anywhere, (*listed)[i], *device_);
    if (!executable.ok()) {
      EXPECT_EQ(executable.status().code(), StatusCode::kUnsupported) << Text((*listed)[i]);
      ++refused;
      continue;
    }
    const Verdict verdict = Verify(**executable, *device_, *operands, *data, anywhere);
    ASSERT_FALSE(verdict.failure.has_value())
        << Text((*listed)[i]) << ": " << verdict.failure->message;
  }
  EXPECT_GT(refused, 0u);
  const auto own = plain.ListOn(*device_, anywhere);
  ASSERT_TRUE(own.ok()) << own.status().ToString();
  EXPECT_FALSE(own->empty());
  for (const Config& config : *own) {
    ASSERT_TRUE(plain.Load({}, anywhere, config, *device_).ok()) << Text(config);
  }
}

}  // namespace
}  // namespace attune::cuda
