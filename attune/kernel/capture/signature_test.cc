#include "attune/kernel/capture/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::capture {
namespace {

std::string TextOf(const KernelParameter& parameter) {
  static const char* const kAddresses[] = {"?", "global", "constant", "local", "private"};
  return std::string(kAddresses[static_cast<int>(parameter.address)]) +
         (parameter.is_const ? " const " : " ") + parameter.type +
         (parameter.is_pointer ? "* " : " ") + parameter.name;
}

std::vector<std::string> Parse(std::string_view source, std::string_view function,
                               const Macros& macros = {}) {
  const auto parameters = ParseSignature(source, function, macros);
  if (!parameters) return {"none"};
  std::vector<std::string> texts;
  for (const KernelParameter& parameter : *parameters) texts.push_back(TextOf(parameter));
  return texts;
}

using ::testing::ElementsAre;

TEST(SignatureTest, QualifiersAndNamesAreToldApart) {
  EXPECT_THAT(Parse("__kernel void f(__global const float4 *restrict x, constant int* y,\n"
                    "  __local double* z, const uint n, unsigned long) {}",
                    "f"),
              ElementsAre("global const float4* x", "constant int* y", "local double* z",
                          "private const uint n", "private unsigned long "));
  EXPECT_THAT(
      Parse("extern \"C\" __global__ void f(const float* __restrict__ a, float *const b)", "f"),
      ElementsAre("private const float* a", "private float* b"));
  EXPECT_TRUE(ParseSignature("kernel void f(void) {}", "f", {})->empty());
}

TEST(SignatureTest, CallsCommentsAndOtherNamesAreNoKernels) {
  EXPECT_THAT(Parse("void g() { f(1); } // kernel void f(int a)\n/* kernel void f(int b) */\n"
                    "kernel void ff(int c); kernel void f /* here */ (int d) {}",
                    "f"),
              ElementsAre("private int d"));
  EXPECT_THAT(Parse("kernel void g(int a) { f(a); } kernel void f(int d) {}", "f"),
              ElementsAre("private int d"));
  EXPECT_THAT(Parse("void f(int a) {}", "f"), ElementsAre("none"));
  EXPECT_THAT(Parse("__kernel void f(int a", "f"), ElementsAre("private int a"));
  EXPECT_THAT(Parse("", "f"), ElementsAre("none"));
}

TEST(SignatureTest, OtherNamesOfTypesAreFollowed) {
  const char* const source =
      "#define GLOBAL __global\n#define KERNEL __kernel\ntypedef double wide;\n"
      "KERNEL void f(GLOBAL REAL* x, wide a) {}";
  EXPECT_THAT(Parse(source, "f", {{"REAL", "half"}}),
              ElementsAre("global half* x", "private double a"));
  // One that names itself ends all the same.
  EXPECT_THAT(Parse("#define a b\n#define b a\nkernel void f(a x)", "f").size(), 1u);
}

TEST(SignatureTest, ParametersOfATemplateStandForItsArguments) {
  const char* const source =
      "template <int N> struct row { float x[N]; };\nnamespace n {\n"
      "template <typename T, int kTile = 4, class U = row<2>>\n"
      "__global__ void f(const T* x, U y, int n) { if (n < kTile) return; }\n}";
  EXPECT_THAT(Parse(source, "f<unsigned int, 16>"),
              ElementsAre("private const unsigned int* x", "private U y", "private int n"));
  EXPECT_THAT(Parse(source, "f<std::pair<int, int>, 16, float>"),
              ElementsAre(testing::_, "private float y", "private int n"));
  // Any damage to a source is tolerated.
  for (const char* damaged :
       {"template <typename T __global__ void f(T x)", "template __global__ void f(int x)",
        "template <> __global__ void f(int x)", "template <<<< __global__ void f(int x)"}) {
    EXPECT_EQ(Parse(damaged, "f<>").size(), 1u);
    EXPECT_EQ(Parse(damaged, "f<").size(), 1u);
  }
}

TEST(SignatureTest, VectorsAreMadeOfTheirElements) {
  EXPECT_EQ(ElementOf("float"), DataType::kF32);
  EXPECT_EQ(ElementOf("double16"), DataType::kF64);
  EXPECT_EQ(ElementOf("uint3"), DataType::kI32);
  EXPECT_EQ(ElementOf("uint32_t"), DataType::kI32);
  EXPECT_EQ(ElementOf("uchar4"), DataType::kI8);
  EXPECT_EQ(ElementOf("long"), std::nullopt);
  EXPECT_EQ(ElementOf("particle"), std::nullopt);
  EXPECT_EQ(ElementOf(""), std::nullopt);
}

}  // namespace
}  // namespace attune::capture
