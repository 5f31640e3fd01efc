#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/problem/other_op.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

std::string Canonical(std::string_view text) {
  const auto problem = ParseProblem(text);
  return problem.ok() ? Text(*problem) : problem.status().message();
}

TextError ErrorOf(std::string_view text) {
  const auto problem = ReadProblem(text);
  EXPECT_FALSE(problem.has_value()) << text;
  return problem.has_value() ? TextError() : problem.error();
}

TEST(ProblemTextTest, DefaultsAreLeftOutAndKeysHaveOneOrder) {
  EXPECT_EQ(Canonical("gemm@1{k=512,n=512,m=512}"), "gemm@1{m=512,n=512,k=512}");
  EXPECT_EQ(Canonical("gemm@1{m=4,n=5,k=6,ta=n,lda=4,ldb=0,batch=1,type=f32,ctype=f32,alpha=one,"
                      "beta=zero,bias=none,act=none,align=64,det=0,math=strict,sa=7}"),
            "gemm@1{m=4,n=5,k=6}");
  EXPECT_EQ(Canonical("conv@1{fw=3,fh=3,k=8,w=9,h=9,c=4,n=2,dir=fwd,sh=1,ph=0,layout=nchw}"),
            "conv@1{dir=fwd,n=2,c=4,h=9,w=9,k=8,fh=3,fw=3}");
}

TEST(ProblemTextTest, EveryPropertyThatCanChangeTheAnswerChangesTheKey) {
  std::set<Fingerprint> keys;
  size_t count = 0;
  for (const char* change : {"",          "ta=t",       "tb=t",        "lda=33",      "ldb=9",
                             "ldc=33",    "sa=0",       "sb=0",        "sc=1000",     "type=bf16",
                             "ctype=f64", "math=tf32",  "math=bf16",   "alpha=other", "alpha=zero",
                             "beta=one",  "beta=other", "bias=row",    "bias=column", "act=relu",
                             "act=gelu",  "act=tanh",   "act=sigmoid", "align=16",    "det=1"}) {
    const auto problem = ParseProblem(std::string("gemm@1{m=32,n=16,k=8,batch=4") +
                                      (*change == 0 ? "" : ",") + change + "}");
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    EXPECT_NE(Text(*problem).find(change), std::string::npos);
    EXPECT_EQ(*ParseProblem(Text(*problem)), *problem);
    keys.insert(KeyOf(*problem));
    ++count;
  }
  EXPECT_EQ(keys.size(), count);
}

TEST(ProblemTextTest, EveryPropertyOfAConvolutionChangesTheKey) {
  const std::string conv = "conv@1{dir=fwd,n=2,c=4,d=6,h=7,w=8,k=8,fd=1,fh=2,fw=3";
  for (const char* change :
       {"", ",g=2", ",pd=1", ",ph=1", ",pw=1", ",sd=2", ",sh=2", ",sw=2", ",dd=2", ",dh=2", ",dw=2",
        ",layout=ndhwc", ",wlayout=ndhwc", ",ylayout=ndhwc", ",type=f16", ",math=tf32", ",bias=1",
        ",align=32", ",det=1"}) {
    const std::string text = conv + change + "}";
    EXPECT_EQ(Canonical(text), text);
  }
  const std::string transposed =
      "conv@1{dir=bwd_weights,mode=trans,n=2,c=4,h=7,w=8,k=8,fh=2,fw=3,sh=2,sw=3,oph=1,opw=2}";
  EXPECT_EQ(Canonical(transposed), transposed);
}

TEST(ProblemTextTest, LayoutsOfWeightsAndOutputFollowTheInput) {
  EXPECT_EQ(Canonical("conv@1{dir=fwd,n=2,c=4,h=9,w=9,k=8,fh=3,fw=3,wlayout=nhwc,layout=nhwc}"),
            "conv@1{dir=fwd,n=2,c=4,h=9,w=9,k=8,fh=3,fw=3,layout=nhwc}");
  EXPECT_EQ(Canonical("conv@1{dir=fwd,n=2,c=4,h=9,w=9,k=8,fh=3,fw=3,layout=nhwc,wlayout=nchw}"),
            "conv@1{dir=fwd,n=2,c=4,h=9,w=9,k=8,fh=3,fw=3,layout=nhwc,wlayout=nchw}");
}

TEST(ProblemTextTest, OtherOperatorsKeepAnyTextEscaped) {
  OtherOp pool{"pool", {{"mode", "max,{x}=%\n\xff"}, {"in_h", "32"}, {"empty", ""}}};

  const std::string text = Text(Problem(pool));

  EXPECT_EQ(text, "pool@1{empty=,in_h=32,mode=max%2C%7Bx%7D%3D%25%0A%FF}");
  EXPECT_EQ(*ParseProblem(text), Problem(pool));
}

TEST(ProblemTextTest, ErrorsHaveTheColumnOfTheirCause) {
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2,k=3,x=4}").column, 20u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2,k=3,m=1}").column, 20u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2x,k=3}").column, 14u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=-2,k=3}").column, 14u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=99999999999,k=3}").column, 14u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=,k=3}").column, 14u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2,k=3").column, 19u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2,k=3}}").column, 20u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2,k=3,}").column, 19u);
  EXPECT_EQ(ErrorOf("gemm@1{m=1,,k=3}").column, 12u);
  EXPECT_EQ(ErrorOf("gemm@2{m=1,n=2,k=3}").column, 6u);
  EXPECT_EQ(ErrorOf("gemm@{m=1,n=2,k=3}").column, 6u);
  EXPECT_EQ(ErrorOf("conv@1{dir=fwd,n=1,c=1,h=3,w=3,k=1,fh=1,fw=1,pd=1}").column, 46u);
  EXPECT_EQ(ErrorOf("pool@1{a=x/y}").column, 10u);
  EXPECT_EQ(ErrorOf("").column, 1u);
}

TEST(ProblemTextTest, MissingKeysAndImpossibleValuesAreNamed) {
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2}").reason, "gemm@1 needs the key k.");
  EXPECT_EQ(ErrorOf("gemm@1{m=1,n=2,k=3,ta=x}").reason,
            "Key ta has the value 'x'; it takes n or t.");
  EXPECT_NE(ParseProblem("gemm@1{m=1}").status().message().find("Column 1:"), std::string::npos);
}

// A number of a text that lies outside of its limits, and the limits that its message must state.
struct LimitCase {
  const char* key;
  const char* refused;
  const char* expected;
};

void ExpectLimits(const std::string& before, const std::vector<LimitCase>& cases) {
  for (const LimitCase& each : cases) {
    const std::string key = each.key;
    const std::string text = before + key + "=" + each.refused + "}";
    const TextError error = ErrorOf(text);
    EXPECT_EQ(error.reason, "Key " + key + " has the value '" + each.refused + "'; it takes " +
                                each.expected + ".");
    EXPECT_EQ(error.column, before.size() + key.size() + 2) << text;
  }
}

TEST(ProblemTextTest, NumbersOfAGemmOutsideOfTheirLimitsAreToldThem) {
  const char* const extent = "an integer in [1, 2147483647]";
  const char* const leading =
      "an integer from its stored rows to 2147483647, or 0 for the stored rows";
  const char* const stride = "an integer in [0, 1099511627775]";
  const char* const stride_of_c =
      "an integer in [1, 1099511627775], or 0 for matrices one after the other";
  const char* const alignment = "a power of two from the size of an element to 4096";
  ExpectLimits("gemm@1{", {{"m", "0", extent},
                           {"m", "2147483648", extent},
                           {"n", "0", extent},
                           {"k", "0", extent},
                           {"k", "-1", extent}});
  ExpectLimits("gemm@1{m=4,n=4,k=4,batch=2,", {{"lda", "-1", leading},
                                               {"ldb", "2147483648", leading},
                                               {"ldc", "2147483648", leading},
                                               {"sa", "-1", stride},
                                               {"sb", "1099511627776", stride},
                                               {"sc", "1099511627776", stride_of_c},
                                               {"align", "0", alignment},
                                               {"align", "8192", alignment}});
  ExpectLimits("gemm@1{m=4,n=4,k=4,", {{"batch", "0", extent}, {"batch", "2147483648", extent}});
}

TEST(ProblemTextTest, NumbersOfAConvOutsideOfTheirLimitsAreToldThem) {
  const char* const extent = "an integer in [1, 2147483647]";
  const char* const pad = "an integer in [0, 2147483647]";
  const char* const output_pad =
      "an integer from 0 to one less than the stride, and only 0 without mode=trans";
  const char* const groups = "an integer in [1, 2147483647] that divides c and k";
  for (const char* key : {"n", "c", "d", "h", "w", "k", "fd", "fh", "fw"}) {
    std::string before = "conv@1{dir=fwd,";
    for (const char* other : {"n", "c", "d", "h", "w", "k", "fd", "fh", "fw"}) {
      if (std::string_view(other) != key) before += std::string(other) + "=4,";
    }
    ExpectLimits(before, {{key, "0", extent}, {key, "2147483648", extent}});
  }
  const std::string before = "conv@1{dir=fwd,n=1,c=4,d=9,h=9,w=9,k=4,fd=3,fh=3,fw=3,";
  for (const char* key : {"sd", "sh", "sw", "dd", "dh", "dw"}) {
    ExpectLimits(before, {{key, "0", extent}, {key, "2147483648", extent}});
  }
  for (const char* key : {"pd", "ph", "pw"}) {
    ExpectLimits(before, {{key, "-1", pad}, {key, "2147483648", pad}});
  }
  for (const char* key : {"opd", "oph", "opw"}) ExpectLimits(before, {{key, "-1", output_pad}});
  ExpectLimits(before, {{"g", "0", groups},
                        {"align", "0", "a power of two from the size of an element to 4096"}});
}

TEST(ProblemTextTest, LimitsThatOtherKeysSetAreNamedWithThem) {
  EXPECT_EQ(ErrorOf("gemm@1{m=4,n=4,k=4,ldc=3}").reason,
            "Leading dimension 3 of C in the gemm is outside of [4 (its stored rows), "
            "2147483647].");
  const std::string conv = "conv@1{n=1,c=4,h=9,w=9,k=4,fh=3,fw=3,sh=2,dir=fwd,";
  EXPECT_EQ(ErrorOf(conv + "oph=1}").reason,
            "output_pad (height) of the conv is 1, outside of [0, 0].");
  EXPECT_EQ(ErrorOf(conv + "mode=trans,oph=2}").reason,
            "output_pad (height) of the conv is 2, outside of [0, 1].");
  EXPECT_EQ(ErrorOf(conv + "g=3}").reason,
            "3 groups of the conv do not divide 4 input and 4 output channels.");
  EXPECT_EQ(ErrorOf("gemm@1{m=4,n=4,k=4,align=2}").reason,
            "The alignment of the gemm is 2 bytes; it must be a power of two from 4 (one f32 "
            "element) to 4096.");
}

TEST(ProblemTextTest, BothEndsOfEveryLimitAreTaken) {
  for (const char* text :
       {"gemm@1{m=2147483647,n=1,k=1}", "gemm@1{m=1,n=1,k=1,batch=2147483647}",
        "gemm@1{m=4,n=4,k=4,lda=0,ldb=4,ldc=2147483647}",
        "gemm@1{m=4,n=4,k=4,batch=2,sa=0,sb=1099511627000,sc=0}", "gemm@1{m=4,n=4,k=4,align=4}",
        "gemm@1{m=4,n=4,k=4,align=4096}",
        "conv@1{dir=fwd,n=1,c=1,h=2147483647,w=1,k=1,fh=1,fw=1,pw=0}",
        "conv@1{dir=fwd,n=1,c=1,h=1,w=1,k=1,fh=1,fw=1,sh=2147483647,dw=2147483647,g=1}",
        "conv@1{dir=fwd,mode=trans,n=1,c=1,h=9,w=9,k=1,fh=3,fw=3,sh=2,oph=1,opw=0}"}) {
    EXPECT_TRUE(ReadProblem(text).has_value()) << text;
  }
}

TEST(ProblemTextTest, HostileBytesAreEscapedInMessages) {
  const std::string message = ParseProblem(std::string("gemm\0\x1b@1{\xff", 9)).status().message();

  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(ProblemTextTest, ForeignKeysOfOtherOperatorsAreQuotedAtTheirColumn) {
  const TextError error = ErrorOf("pool@1{n=1,a\tb=2}");

  EXPECT_EQ(error.column, 12u);
  EXPECT_EQ(error.reason, "Key 'a\\x09b' is not a word of [a-z][a-z0-9_]*.");
}

TEST(ProblemTextTest, AnyOneByteChangeIsAnErrorOrAnotherValidProblem) {
  const std::string original =
      "conv@1{dir=fwd,n=2,c=4,h=9,w=9,k=8,fh=3,fw=3,g=2,ph=1,pw=1,layout=nhwc,type=bf16,bias=1}";
  Random random(17);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = original;
    text[random.Below(text.size())] = static_cast<char>(random.Below(256));
    const auto problem = ReadProblem(text);
    if (!problem.has_value()) {
      EXPECT_LE(problem.error().column, text.size() + 1);
      continue;
    }
    ++accepted;
    EXPECT_EQ(*ParseProblem(Text(*problem)), *problem) << text;
  }
  EXPECT_GT(accepted, 30);
}

TEST(ProblemTextTest, KeysAreStableAcrossReleases) {
  EXPECT_EQ(KeyOf(*ParseProblem("gemm@1{m=512,n=512,k=512}")),
            FingerprintOf("gemm@1{m=512,n=512,k=512}"));
}

}  // namespace
}  // namespace attune
