#include "attune/formats/driver_command.h"

#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/conv/conv.h"

namespace attune {
namespace {

std::vector<std::string> Texts(std::string_view line) {
  const auto problems = ReadDriverCommand(line);
  std::vector<std::string> texts;
  if (!problems) return {problems.error().reason};
  for (const Problem& problem : *problems) {
    texts.push_back(Text(problem));
    EXPECT_EQ(*ParseProblem(texts.back()), problem);
  }
  return texts;
}

std::string OnlyText(std::string_view line) {
  const auto texts = Texts(line);
  EXPECT_EQ(texts.size(), 1u) << line;
  return texts.front();
}

TextError ErrorOf(std::string_view line) {
  const auto problems = ReadDriverCommand(line);
  EXPECT_FALSE(problems.has_value()) << line;
  return problems.has_value() ? TextError() : problems.error();
}

TEST(DriverCommandTest, DefaultsAreThoseOfTheDriver) {
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1"),
            "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3}");
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1 --spatial_dim 3"),
            "conv@1{dir=fwd,n=100,c=3,d=32,h=32,w=32,k=32,fd=3,fh=3,fw=3}");
}

TEST(DriverCommandTest, DirectionBitsCombineAndNoneMeansAll) {
  const std::string fwd = "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3}";
  const std::string data = "conv@1{dir=bwd_data,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3}";
  const std::string weights = "conv@1{dir=bwd_weights,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3}";
  using Expected = std::vector<std::string>;

  EXPECT_EQ(Texts("MIOpenDriver conv"), (Expected{fwd, data, weights}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 0"), (Expected{fwd, data, weights}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 1"), (Expected{fwd}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 2"), (Expected{data}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 3"), (Expected{fwd, data}));
  EXPECT_EQ(Texts("MIOpenDriver conv --forw 4"), (Expected{weights}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 5"), (Expected{fwd, weights}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 6"), (Expected{data, weights}));
  EXPECT_EQ(Texts("MIOpenDriver conv -F 7"), (Expected{fwd, data, weights}));
}

TEST(DriverCommandTest, ShortAndLongFlagsMeanTheSame) {
  EXPECT_EQ(
      OnlyText("MIOpenDriver convbfp16 -n 2 -c 8 -H 9 -W 10 -k 12 -y 5 -x 4 -p 1 -q 2 -u 2 -v 3 "
               "-l 1 -j 2 -g 4 -m conv -F 1 -t 1 -i 5 -V 0 -s 1 -w 1 -P 0 -S 12"),
      OnlyText("MIOpenDriver convbfp16 --batchsize 2 --in_channels 8 --in_h 9 --in_w 10 "
               "--out_channels 12 --fil_h 5 --fil_w 4 --pad_h 1 --pad_w 2 --conv_stride_h 2 "
               "--conv_stride_w 3 --dilation_h 1 --dilation_w 2 --group_count 4 --mode conv "
               "--forw 1 --time 1 --iter 5 --verify 0 --search 1 --wall 1 --printconv 0 "
               "--solution ConvDirectNaiveConvFwd"));
}

TEST(DriverCommandTest, PrefixesAndPathsAreAccepted) {
  const std::string expected = OnlyText("MIOpenDriver conv -F 1 -n 7");

  EXPECT_EQ(OnlyText("./bin/MIOpenDriver conv -F 1 -n 7"), expected);
  EXPECT_EQ(OnlyText("miopenConvolutionForward: ./bin/MIOpenDriver conv -F 1 -n 7"), expected);
  EXPECT_EQ(OnlyText("MIOpen(HIP): Command [LogCmd] /opt/rocm/bin/MIOpenDriver  conv\t-F 1 -n 7"),
            expected);
  EXPECT_TRUE(CallsMiopenDriver("x ./MIOpenDriver conv"));
  EXPECT_FALSE(CallsMiopenDriver("notMIOpenDriver conv"));
}

TEST(DriverCommandTest, ThreeDimensionsUseTheDepthFlags) {
  EXPECT_EQ(
      OnlyText("MIOpenDriver conv -_ 3 -! 4 -@ 2 -$ 1 -# 2 -^ 1 -F 1 -I ndhwc -f NDHWC -O NdHwC"),
      "conv@1{dir=fwd,n=100,c=3,d=4,h=32,w=32,k=32,fd=2,fh=3,fw=3,pd=1,sd=2,layout=ndhwc}");
  EXPECT_EQ(OnlyText("MIOpenDriver conv --in_d 4 --fil_d 2 --pad_d 1 -F 1"),
            OnlyText("MIOpenDriver conv -F 1"));
}

TEST(DriverCommandTest, EachLayoutFlagStandsForItself) {
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1 -I NHWC"),
            "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3,layout=nhwc,wlayout=nchw,"
            "ylayout=nchw}");
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -I NCDHW").reason,
            "Layout ncdhw does not fit --spatial_dim 2.");
}

TEST(DriverCommandTest, PadModeIsComputedAsTheDriverDoes) {
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1 -z same -p 7"),
            "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3,ph=1,pw=1}");
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1 -z same -u 2 -v 2 -H 31"),
            "conv@1{dir=fwd,n=100,c=3,h=31,w=32,k=32,fh=3,fw=3,ph=1,sh=2,sw=2}");
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1 -z valid -p 1 -q 1"),
            "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3}");
  EXPECT_EQ(OnlyText("MIOpenDriver conv -F 1 -z same -p 1 -l 2"),
            "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3,ph=1,dh=2}");
}

TEST(DriverCommandTest, BiasBelongsToTheForwardDirectionOnly) {
  const auto texts = Texts("MIOpenDriver conv -b 1 -F 3");

  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], "conv@1{dir=fwd,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3,bias=1}");
  EXPECT_EQ(texts[1], "conv@1{dir=bwd_data,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3}");
}

TEST(DriverCommandTest, TransposedModeTakesOutputPadding) {
  EXPECT_EQ(OnlyText("MIOpenDriver conv -m trans -u 2 -v 2 -Y 1 -X 1 -F 1"),
            "conv@1{dir=fwd,mode=trans,n=100,c=3,h=32,w=32,k=32,fh=3,fw=3,sh=2,sw=2,oph=1,opw=1}");
  EXPECT_EQ(OnlyText("MIOpenDriver conv -Y 1 -F 1"), OnlyText("MIOpenDriver conv -F 1"));
}

TEST(DriverCommandTest, TheLastOfARepeatedFlagCountsAndNoGroupIsOne) {
  EXPECT_EQ(OnlyText("MIOpenDriver conv -n 5 -F 1 --batchsize 6 -g 0"),
            "conv@1{dir=fwd,n=6,c=3,h=32,w=32,k=32,fh=3,fw=3}");
}

TEST(DriverCommandTest, TypesComeFromTheOperator) {
  EXPECT_NE(OnlyText("MIOpenDriver convfp16 -F 1").find("type=f16"), std::string::npos);
  EXPECT_NE(OnlyText("MIOpenDriver convint8 -F 1").find("type=i8"), std::string::npos);
  EXPECT_EQ(OnlyText("MIOpenDriver convfp32 -F 1"), OnlyText("MIOpenDriver conv -F 1"));
  EXPECT_EQ(OnlyText("MIOpenDriver convfp8 -F 2 -n 1"),
            "conv_variant@1{c=3,dir=bwd_data,fh=3,fw=3,h=32,k=32,layout=nchw,n=1,"
            "type=f8e4m3fnuz,vector=1,w=32,wcast=-1,wlayout=nchw,xcast=-1,ycast=-1,ylayout=nchw}");
}

TEST(DriverCommandTest, WhatAConvCannotExpressIsKeptAsAnotherOperator) {
  for (const char* flags : {"-I CHWN", "-Z 1 -L 4", "-U fp8", "--wei_cast_type bf8"}) {
    const auto problems = ReadDriverCommand(std::string("MIOpenDriver conv -F 1 ") + flags);
    ASSERT_TRUE(problems.has_value()) << flags;
    EXPECT_EQ(OperatorName(problems->front()), "conv_variant");
  }
}

TEST(DriverCommandTest, RowMajorProductsBecomeColumnMajorOnes) {
  EXPECT_EQ(OnlyText("MIOpenDriver gemm"), "gemm@1{m=256,n=256,k=256}");
  EXPECT_EQ(OnlyText("MIOpenDriver gemmfp16 -m 2 -n 3 -k 4 -u 1 -b 5 -A 0.5 -B 1"),
            "gemm@1{m=3,n=2,k=4,tb=t,batch=5,type=f16,alpha=other,beta=one}");
  EXPECT_EQ(OnlyText("MIOpenDriver gemm --a_h 2 --b_w 3 --a_w 4 --transA 1 --isColMajor 1"),
            "gemm@1{m=2,n=3,k=4,ta=t}");
}

TEST(DriverCommandTest, PoolAndBatchNormAreImportedWithTheirDefaults) {
  EXPECT_EQ(
      OnlyText("./bin/MIOpenDriver pool -n 128 -c 64 -H 112 -W 112 -y 3 -x 3 -p 0 -q 0 -u 2 -v 2 "
               "-m max -t 1"),
      OnlyText("MIOpenDriver pool --batchsize 128 -c 64 -H 112 -W 112 -u 2 -v 2"));
  EXPECT_EQ(OnlyText("MIOpenDriver pool -W 8x3x9x9,NHWC -m avg"),
            "pool@1{forw=0,index_position=0,index_type=miopenIndexUint8,input=8x3x9x9%2CNHWC,"
            "mode=avg,pad_d=0,pad_h=0,pad_mode=default,pad_w=0,pool_stride_d=1,pool_stride_h=1,"
            "pool_stride_w=1,win_d=3,win_h=3,win_w=3}");
  EXPECT_EQ(OnlyText("MIOpenDriver bnormfp16 -n 8 -F 1 -A 1"),
            OnlyText("MIOpenDriver bnormfp16 --forw 1 --batchsize 8 --alpha 1.0 -V 0"));
  EXPECT_EQ(ErrorOf("MIOpenDriver pool -g 1").column, 19u);
  EXPECT_EQ(ErrorOf("MIOpenDriver bnorm -n x").column, 23u);
}

TEST(DriverCommandTest, ADefaultThatIsGivenMakesNoSecondBatchNorm) {
  const std::string usual = OnlyText("MIOpenDriver bnorm");
  for (const char* flags :
       {"-L NCHW", "-L nchw", "--layout NCHW", "-F 1", "-F 1 -b 1", "-b 0", "-D 0", "-n 32 -c 3",
        "-H 32 -W 32", "-A 1.0 -B 0.", "-m 0 -s 0 -r 0", "-f 0 -x 1 -y 1.0", "-I 0", "-t 1 -i 5"}) {
    EXPECT_EQ(OnlyText(std::string("MIOpenDriver bnorm ") + flags), usual) << flags;
  }
  EXPECT_EQ(OnlyText("MIOpenDriver bnorm -D 8"), OnlyText("MIOpenDriver bnorm -D 8 -L NCDHW"));
  EXPECT_EQ(OnlyText("MIOpenDriver bnorm -D 1 -L NCDHW"), usual);
  // It describes inference alone.
  EXPECT_EQ(OnlyText("MIOpenDriver bnorm -I 1"), usual);
  for (const char* flags : {"-L NHWC", "-F 2", "-b 1", "-D 2", "-m 1", "-s 1", "-r 1"}) {
    EXPECT_NE(OnlyText(std::string("MIOpenDriver bnorm ") + flags), usual) << flags;
  }
}

TEST(DriverCommandTest, SaveInferenceAndLayoutOfABatchNormAreKept) {
  std::set<std::string> texts;
  for (const char* save : {"0", "1"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      for (const char* direction : {"-F 1", "-F 2", "-b 1"}) {
        const std::string text =
            OnlyText(fmt::format("MIOpenDriver bnorm -s {} -L {} {}", save, layout, direction));
        const bool is_saved = save[0] == '1' && direction[3] != '2';
        EXPECT_EQ(text.find("saved=1") != text.npos, is_saved) << text;
        EXPECT_EQ(text.find("layout=nhwc") != text.npos, layout[1] == 'h') << text;
        EXPECT_EQ(text.find("dir=bwd") != text.npos, direction[1] == 'b') << text;
        EXPECT_EQ(text.find("dir=infer") != text.npos, direction[3] == '2') << text;
        texts.insert(text);
      }
    }
  }
  EXPECT_EQ(texts.size(), 10u);  // Inference saves nothing.
}

TEST(DriverCommandTest, ACommandOfABatchNormInMitunasTableIsRead) {
  EXPECT_EQ(
      OnlyText("./bin/MIOpenDriver bnormfp16 --batchsize 4 --alpha 1 --beta 0 --forw 1 --back 0 "
               "--mode 1 --run 1 --in_d 1 --in_h 5 --in_w 6 --in_channels 8 --save 0"),
      "batch_norm@1{n=4,c=8,h=5,w=6,running=1,type=f16}");
}

TEST(DriverCommandTest, ABatchNormThatOnlyMiopenComputesIsKeptAsAttributes) {
  EXPECT_EQ(OnlyText("MIOpenDriver bnormfp16 -n 8 -c 4 -H 5 -W 6 -m 1 -F 1 -r 1 -s 1"),
            "batch_norm@1{n=8,c=4,h=5,w=6,running=1,saved=1,type=f16}");
  EXPECT_EQ(OnlyText("MIOpenDriver bnormbfp16 -n 8 -c 4 -D 2 -H 5 -W 6 -b 1 -f 3"),
            "batch_norm@1{dir=bwd,mode=act,n=8,c=4,d=2,h=5,w=6,fuse=relu,type=bf16}");
  // MIOpen's names of 16-bit data with statistics in f32.
  for (const char* type : {"fp16", "bfp16"}) {
    EXPECT_EQ(OnlyText(fmt::format("MIOpenDriver bnorm{}fp32 -m 1", type)),
              OnlyText(fmt::format("MIOpenDriver bnorm{} -m 1", type)));
  }
  for (const char* flags : {"-A 0.5", "-B 1", "-f 7", "-F 2 -I 1"}) {
    EXPECT_THAT(OnlyText(std::string("MIOpenDriver bnorm ") + flags),
                testing::StartsWith("bnorm@1{"))
        << flags;
  }
  EXPECT_THAT(ErrorOf("MIOpenDriver bnorm -n 1").reason, testing::HasSubstr("one value"));
}

TEST(DriverCommandTest, ADefaultThatIsGivenMakesNoSecondPool) {
  const std::string with_sizes = OnlyText("MIOpenDriver pool -n 8");
  for (const char* flags : {"-c 3 -H 32 -W 32", "-y 3 -x 3", "-u 1 -v 1", "-p 0 -q 0", "-m max",
                            "-z default", "-F 0", "-I miopenIndexUint8 -M 0", "-r 5 -t 1 -P 0"}) {
    EXPECT_EQ(OnlyText(std::string("MIOpenDriver pool -n 8 ") + flags), with_sizes) << flags;
  }
  EXPECT_EQ(OnlyText("MIOpenDriver pool -F 1"), OnlyText("MIOpenDriver pool -F 2"));
  EXPECT_NE(OnlyText("MIOpenDriver pool -F 1"), OnlyText("MIOpenDriver pool -F 0"));

  const std::string with_tensor = OnlyText("MIOpenDriver pool -W 8x3x32x32,NCHW");
  for (const char* flags :
       {"-W 8x3x32x32", "-W 8x3x32x32,nchw", "-W 8x3x32x32,3072x1024x32x1",
        "-W 8x3x32x32 --dinput 8x3x32x32", "-W 8x3x32x32 -O 8x3x30x30,NCHW",
        "-W 8x3x32x32 --output 8x3x30x30 -H 8x3x30x30", "-W 8x3x32x32 -Z 2 -s 4 -o 1"}) {
    EXPECT_EQ(OnlyText(std::string("MIOpenDriver pool ") + flags), with_tensor) << flags;
  }
  EXPECT_NE(OnlyText("MIOpenDriver pool -W 8x3x32x32,NHWC"), with_tensor);
  EXPECT_NE(OnlyText("MIOpenDriver pool -W 8x3x32x32 -O 8x3x30x30,NHWC"), with_tensor);
  EXPECT_NE(OnlyText("MIOpenDriver pool -W 8x3x4x32x32 -Z 2"),
            OnlyText("MIOpenDriver pool -W 8x3x4x32x32 -Z 3"));
  EXPECT_EQ(OnlyText("MIOpenDriver pool -W 8x3x4x32x32 -M 1"),
            OnlyText("MIOpenDriver pool -W 8x3x4x32x32,NCDHW -O 8x3x2x30x30"));
}

TEST(DriverCommandTest, ImpossibleBatchNormsAndPoolsAreRefused) {
  for (const char* flags : {"-n 0",          "-n -5",   "-c 0",
                            "-H 0",          "-W -1",   "-D -1",
                            "-n 2147483648", "-F 3",    "-F -1",
                            "-b 2",          "-m 2",    "-s 2",
                            "-r -1",         "-L NCWH", "-L NCDHW",
                            "-D 4 -L NCHW",  "-A x",    "-A nan",
                            "-B inf",        "-f -1",   "-n 2147483647 -c 2147483647",
                            "-f 11"}) {
    ErrorOf(std::string("MIOpenDriver bnorm ") + flags);
  }
  for (const char* flags : {"-n 0",
                            "-n -5",
                            "-c 0",
                            "-H 0",
                            "-W 0",
                            "-y 0",
                            "-x -1",
                            "-u 0",
                            "-v 0",
                            "-p -1",
                            "-q -1",
                            "-m most",
                            "-z full",
                            "-I int",
                            "-M 2",
                            "-F x",
                            "-H 2 -y 3",
                            "-H 2 -y 5 -p 1",
                            "-H 2 -y 3 -p 1 -z valid",
                            "-n 2147483647 -c 2147483647"}) {
    ErrorOf(std::string("MIOpenDriver pool ") + flags);
  }
  OnlyText("MIOpenDriver pool -H 7 -W 7 -y 7 -x 7");
  OnlyText("MIOpenDriver pool -H 2 -W 2 -z same");
  for (const char* tensor :
       {"8x3x32", "8x3x0x9", "8x3x-1x9", "8x3x9x9x9x9", "8x3x9x9,", "8x3x9x9,NCDHW", "8x3x9x9,1x2",
        "8xx9x9", "8x3x9x9x", "2147483647x2147483647x1x1", "8x3x2x9"}) {
    ErrorOf(std::string("MIOpenDriver pool -W ") + tensor);
  }
  EXPECT_EQ(ErrorOf("MIOpenDriver pool -t 1 -W 8x3x0x9").column, 27u);
  EXPECT_EQ(ErrorOf("MIOpenDriver pool -H 2 -y 3").reason,
            "--win_h 3 is more than the input of 2 with its padding of 0 on both sides.");
  EXPECT_EQ(ErrorOf("MIOpenDriver bnorm -n 0").reason,
            "Flag -n has the value '0'; it takes an integer in [1, 2147483647].");
}

TEST(DriverCommandTest, OperatorsWithUnknownFlagsKeepThemAll) {
  EXPECT_EQ(OnlyText("MIOpenDriver softmaxbfp16 -n 3 -W 4 --alpha 0.5"),
            "softmax@1{capital_w=4,flag_alpha=0.5,letter_n=3,type=bf16}");
  EXPECT_EQ(OnlyText("MIOpenDriver CBAInfer -n 3"), "cbainfer@1{letter_n=3}");
}

TEST(DriverCommandTest, ErrorsHaveTheColumnOfTheirCause) {
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -n 12 -c abc").column, 28u);
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -n 12 -K 3").column, 25u);
  EXPECT_EQ(ErrorOf("MIOpenDriver conv --batch 12").column, 19u);
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -n").column, 19u);
  EXPECT_EQ(ErrorOf("MIOpenDriver conv 12").column, 19u);
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -in_h 12").column, 19u);
  EXPECT_EQ(ErrorOf("MIOpenDriver conv --in_h=12 -n 3").column, 19u);
  EXPECT_EQ(ErrorOf("MIOpenDriver convolution -n 1").column, 14u);
  EXPECT_EQ(ErrorOf("./bin/MIOpenDriver").column, 1u);
  EXPECT_EQ(ErrorOf("x ./bin/MIOpenDriver conv -y 64 -F 1").column, 22u);
}

TEST(DriverCommandTest, ValuesOutsideOfTheirRangeAreRefused) {
  for (const char* flags : {"-n 0",           "-n -5",   "-n 2147483648", "-n 2147483648.0",
                            "-F 8",           "-F 8.",   "-F -1",         "-_ 1",
                            "-_ 4",           "-p -1",   "-u 0",          "-g -1",
                            "-m convolution", "-z full", "-I NCWH",       "-L 3",
                            "-Z 1",           "-i 0",    "-V x",          "-U fp64",
                            "-h 1",           "-? 1",    "--help 1",      "-g 2",
                            "-k 5 -g 3",      "-M 2"}) {
    ErrorOf(std::string("MIOpenDriver conv ") + flags);
  }
}

TEST(DriverCommandTest, AnIntegerMayHaveAPlusAndAPointWithZeros) {
  const std::string plain = OnlyText("MIOpenDriver conv -n 5 -p 0 -F 1");
  for (const char* flags : {"-n 5. -p 0. -F 1.", "-n 5.0 -p 0.000 -F 1.00", "-n +5 -p -0 -F +1.",
                            "-n 05 -p +0.0 -F 01.", "-n 5 -p 0 -F 1 -t 1. -i 10.0"}) {
    EXPECT_EQ(OnlyText(std::string("MIOpenDriver conv ") + flags), plain) << flags;
  }
  EXPECT_EQ(OnlyText("MIOpenDriver gemm -m 5. -u 1.0 -A +1. -B +0"),
            OnlyText("MIOpenDriver gemm -m 5 -u 1 -A 1 -B 0"));
  EXPECT_EQ(OnlyText("MIOpenDriver pool -n +5."), OnlyText("MIOpenDriver pool -n 5"));
}

TEST(DriverCommandTest, AnIntegerWithoutOneMeaningIsRefused) {
  for (const char* value :
       {"1.5", "1.05", "1e3", "1.e0", "1.0e3", "0x10", "1,",   "1.0.", "1..", ".",
        ".0",  "+",    "-",   "+-1",  "-+1",   "++1",  "1.0x", "5x",   "abc", "nan"}) {
    const std::string reason = ErrorOf(std::string("MIOpenDriver conv -n ") + value).reason;
    EXPECT_EQ(reason, "Flag -n has the value '" + std::string(value) +
                          "'; it takes an integer in [1, 2147483647].");
    ErrorOf(std::string("MIOpenDriver conv -t ") + value);
  }
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -n 12 -F 1.5").column, 28u);
  ErrorOf("MIOpenDriver gemm -A +-1");
  ErrorOf("MIOpenDriver gemm -A +");
}

TEST(DriverCommandTest, MessagesSayWhatIsExpected) {
  EXPECT_EQ(ErrorOf("MIOpenDriver conv -c abc").reason,
            "Flag -c has the value 'abc'; it takes an integer in [1, 2147483647].");
  EXPECT_EQ(ErrorOf("MIOpenDriver conv --foo 1").reason, "MIOpenDriver conv has no flag '--foo'.");
  EXPECT_EQ(
      ErrorOf("MIOpenDriver conv -y 64 -x 2").reason,
      "The output of the conv has height -31, outside of [1, 2147483647]: input 32, filter 64, "
      "pad 0, stride 1, dilation 1.");
}

Conv RandomConv(Random& random) {
  const auto extent = [&random](uint64_t bound) {
    return static_cast<int64_t>(1 + random.Below(bound));
  };
  Conv conv;
  conv.direction = static_cast<ConvDirection>(random.Below(3));
  conv.mode = static_cast<ConvMode>(random.Below(2));
  conv.spatial_rank = random.Below(2) == 0 ? 2 : 3;
  conv.groups = extent(3);
  conv.batch = extent(64);
  conv.in_channels = conv.groups * extent(8);
  conv.out_channels = conv.groups * extent(8);
  for (size_t axis = conv.spatial_rank == 3 ? 0 : 1; axis < 3; ++axis) {
    conv.in[axis] = extent(40);
    conv.filter[axis] = extent(5);
    conv.pad[axis] = extent(3) - 1;
    conv.stride[axis] = extent(3);
    conv.dilation[axis] = extent(2);
    if (conv.mode == ConvMode::kTransposed) {
      conv.output_pad[axis] =
          static_cast<int64_t>(random.Below(static_cast<uint64_t>(conv.stride[axis])));
    }
  }
  const auto layout = [&] {
    return static_cast<Layout>(random.Below(2) + (conv.spatial_rank == 3 ? 2 : 0));
  };
  conv.in_layout = layout();
  conv.weights_layout = layout();
  conv.out_layout = layout();
  conv.type = random.Below(2) == 0 ? DataType::kF32 : DataType::kBf16;
  conv.bias = conv.direction == ConvDirection::kForward && random.Below(2) == 0;
  return conv;
}

TEST(DriverCommandTest, EveryExpressibleConvReadsBackAsItself) {
  Random random(43);
  int written = 0;
  for (int i = 0; i < 3000; ++i) {
    const Conv conv = RandomConv(random);
    if (!Validate(conv).ok()) continue;
    const auto command = DriverCommandOf(conv);
    ASSERT_TRUE(command.ok()) << command.status().message();

    const auto problems = ReadDriverCommand(*command);

    ASSERT_TRUE(problems.has_value()) << *command << ": " << problems.error().reason;
    EXPECT_EQ(*problems, std::vector<Problem>{conv}) << *command;
    ++written;
  }
  EXPECT_GT(written, 1500);
}

TEST(DriverCommandTest, WhatTheDriverCannotExpressIsRefused) {
  Conv conv;
  conv.type = DataType::kF64;
  EXPECT_EQ(DriverCommandOf(conv).status().code(), StatusCode::kUnsupported);
  conv = Conv();
  conv.deterministic = true;
  EXPECT_EQ(DriverCommandOf(conv).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune
