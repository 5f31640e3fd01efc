#include "attune/formats/miopen/file_name.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::miopen {
namespace {

// "find-db text gfx906_60", with '-' for empty values.
std::string Facts(const std::string& path) {
  const auto name = ParseFileName(path);
  if (!name.ok()) return std::string(StatusCodeName(name.status().code()));
  return std::string(Name(name->kind)) + (name->storage == Storage::kText ? " text" : " sqlite") +
         " " + (name->target.empty() ? "-" : name->target);
}

TEST(FileNameTest, EveryNameThatMIOpenGivesIsKnown) {
  EXPECT_EQ(Facts("/opt/rocm/share/miopen/db/gfx906_60.HIP.fdb.txt"), "find-db text gfx906_60");
  EXPECT_EQ(Facts("gfx803_36.OpenCL.fdb.txt"), "find-db text gfx803_36");
  EXPECT_EQ(Facts("gfx906_60.HIP.2_11_0_993628deb.ufdb.txt"), "find-db text gfx906_60");
  EXPECT_EQ(Facts("gfx90a68.db.txt"), "perf-db text gfx90a68");
  EXPECT_EQ(Facts("gfx90a68.HIP.3_3_0_abc.udb.txt"), "perf-db text gfx90a68");
  EXPECT_EQ(Facts("gfx900_64.cd.pdb.txt"), "perf-db text gfx900_64");
  EXPECT_EQ(Facts("gfx900_64.cd.updb.txt"), "perf-db text gfx900_64");
  EXPECT_EQ(Facts("gfx942130.db"), "perf-db sqlite gfx942130");
  EXPECT_EQ(Facts("gfx906_60_1.1.0.udb"), "perf-db sqlite gfx906_60");
  EXPECT_EQ(Facts("gfx906_60_1.0.0.udb"), "perf-db sqlite gfx906_60");
  EXPECT_EQ(Facts("miopen.db"), "perf-db sqlite -");
  EXPECT_EQ(Facts("miopen_1.0.0.udb"), "perf-db sqlite -");
  EXPECT_EQ(Facts("gfx1030_36.kdb"), "kernel-db sqlite gfx1030_36");
  EXPECT_EQ(Facts("gfx1030.kdb"), "kernel-db sqlite gfx1030");
  EXPECT_EQ(Facts("gfx906_60.HIP.fdb.txt.bz2"), "find-db text gfx906_60");
  EXPECT_EQ(Facts("gfx906.kdb.bz2"), "kernel-db sqlite gfx906");
  EXPECT_EQ(Facts("gfx906_60.ukdb"), "kernel-db sqlite gfx906_60");
}

TEST(FileNameTest, TheOldestTextsOfPerfDbsHaveTheKeysOfAFindDb) {
  EXPECT_TRUE(ParseFileName("gfx900_64.cd.pdb.txt")->has_find_keys);
  EXPECT_TRUE(ParseFileName("gfx900_64.cd.updb.txt")->has_find_keys);
  EXPECT_FALSE(ParseFileName("gfx900_64.db.txt")->has_find_keys);
  EXPECT_FALSE(ParseFileName("gfx900_64.db")->has_find_keys);
}

TEST(FileNameTest, OfAFindDbTheNameTellsTheBackend) {
  const auto backend = [](const char* path) { return ParseFileName(path)->backend; };

  EXPECT_EQ(backend("gfx906_60.HIP.fdb.txt"), "HIP");
  EXPECT_EQ(backend("gfx803_36.OpenCL.fdb.txt.bz2"), "OpenCL");
  EXPECT_EQ(backend("gfx906_60.HIP.2_11_0_993628deb.ufdb.txt"), "HIP");
  EXPECT_EQ(backend("mine.OpenCL.fdb.txt"), "OpenCL");
  EXPECT_EQ(backend("gfx906_60.new.HIP.fdb.txt"), "HIP");
  EXPECT_EQ(backend("gfx906_60.2.1..OpenCL.fdb.txt"), "OpenCL");
  EXPECT_EQ(backend("gfx906_60.new.fdb.txt"), "");
  EXPECT_EQ(backend("gfx906_60.hip.fdb.txt"), "");
  EXPECT_EQ(backend("gfx906_60.fdb.txt"), "");
  EXPECT_EQ(backend("HIP.fdb.txt"), "");
  // Parameters and kernels exist for both.
  EXPECT_EQ(backend("gfx90a68.HIP.3_3_0_abc.udb.txt"), "");
  EXPECT_EQ(backend("gfx906_60.HIP.kdb"), "");
}

TEST(FileNameTest, WhatBeginsAsAGpuClaimsToBeOne) {
  const auto claimed = [](const char* path) { return ParseFileName(path)->claimed_gpu; };

  EXPECT_EQ(claimed("gfx906_60.HIP.fdb.txt"), "gfx906_60");
  EXPECT_EQ(claimed("gfx906_6O.HIP.fdb.txt"), "gfx906_6O");
  EXPECT_EQ(claimed("old/GFX1030_36.new.fdb.txt"), "GFX1030_36");
  EXPECT_EQ(claimed("gfx1030_36_xnack.db"), "gfx1030_36_xnack");
  EXPECT_EQ(claimed("gfx906_60_1.0.0.udb"), "gfx906_60");
  EXPECT_EQ(claimed("gFx.kdb"), "gFx");
  EXPECT_EQ(claimed("gfx906_60/all.HIP.fdb.txt"), "");
  EXPECT_EQ(claimed("gf.db"), "");
  EXPECT_EQ(claimed("miopen.db"), "");
}

TEST(FileNameTest, OtherNamesAreRefusedWithThoseThatThereAre) {
  for (const char* path : {"", "/", "gfx906_60.HIP.fdb", "gfx906_60.txt", "fdb.txt", "results.csv",
                           "gfx906_60.HIP.fdb.txt.gz", "gfx906_60.HIP.FDB.TXT", "a\xff.csv"}) {
    const auto name = ParseFileName(path);
    EXPECT_EQ(name.status().code(), StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(name.status().message(), testing::HasSubstr("*.ufdb.txt, *.fdb.txt"));
  }
}

TEST(FileNameTest, PerfDbsOfBatchNormsAreTexts) {
  EXPECT_EQ(Facts("/opt/rocm/share/miopen/db/batchnorm_gfx942130.db.txt"),
            "batch-norm-db text gfx942130");
  EXPECT_EQ(Facts("batchnorm_gfx906_60.db.txt.bz2"), "batch-norm-db text gfx906_60");
  EXPECT_EQ(Facts("batchnorm_gfx1151_20.HIP.3_5_2_cd957402.udb.txt"),
            "batch-norm-db text gfx1151_20");
  EXPECT_EQ(Facts("batchnorm_all.db.txt"), "batch-norm-db text -");
  EXPECT_EQ(ParseFileName("batchnorm_gfx906_6O.db.txt")->claimed_gpu, "gfx906_6O");
  for (const char* path : {"batchnorm_gfx906_60.db", "batchnorm_gfx1201_32_1.1.0.udb",
                           "batchnorm_gfx906_60.HIP.fdb.txt", "batchnorm_gfx906_60.kdb",
                           "batchnorm_gfx906_60.cd.pdb.txt"}) {
    const auto name = ParseFileName(path);
    EXPECT_EQ(name.status().code(), StatusCode::kUnsupported) << path;
    EXPECT_THAT(name.status().message(), testing::HasSubstr("batchnorm_*.db.txt"));
  }
}

TEST(FileNameTest, DatabasesOfFusionsAreUnsupported) {
  for (const char* path : {"gfx906_60.HIP.fusion.fdb.txt", "batchnorm_gfx906_60.fusion.db.txt",
                           "gfx906_60.HIP.3_3_0_abc.fusion.ufdb.txt"}) {
    EXPECT_EQ(Facts(path), "unsupported") << path;
  }
}

TEST(TargetNameTest, UpTo64UnitsAreDecimalAndMoreAreHexadecimal) {
  EXPECT_EQ(ParseTargetName("gfx906_60").value(), (GpuName{"gfx906", "", 60}));
  EXPECT_EQ(ParseTargetName("gfx1030_36").value(), (GpuName{"gfx1030", "", 36}));
  EXPECT_EQ(ParseTargetName("gfx90a68").value(), (GpuName{"gfx90a", "", 104}));
  EXPECT_EQ(ParseTargetName("gfx90a6e").value(), (GpuName{"gfx90a", "", 110}));
  EXPECT_EQ(ParseTargetName("gfx90878").value(), (GpuName{"gfx908", "", 120}));
  EXPECT_EQ(ParseTargetName("gfx942130").value(), (GpuName{"gfx942", "", 304}));
  EXPECT_EQ(ParseTargetName("gfx950100").value(), (GpuName{"gfx950", "", 256}));
  EXPECT_EQ(ParseTargetName("gfx906_nosramecc_60").value(), (GpuName{"gfx906", "_nosramecc", 60}));
  EXPECT_EQ(ParseTargetName("gfx90a_sramecc_xnack68").value(),
            (GpuName{"gfx90a", "_sramecc_xnack", 104}));
}

TEST(TargetNameTest, EveryGpuComesBackFromItsName) {
  for (const char* arch : {"gfx803", "gfx90a", "gfx942", "gfx1030", "gfx1201"}) {
    for (const char* features : {"", "_sramecc", "_nosramecc", "_xnack"}) {
      for (int units = 1; units <= 400; ++units) {
        const GpuName gpu{arch, features, units};
        ASSERT_EQ(ParseTargetName(TargetName(gpu)).value(), gpu) << TargetName(gpu);
      }
    }
  }
}

TEST(TargetNameTest, WhatMIOpenWouldNotWriteIsNoTarget) {
  for (const char* target :
       {"", "gfx", "gfx906", "gfx906_", "gfx906_0", "gfx906_060", "gfx906_65", "gfx906_-1",
        "gfx9063c", "gfx90640", "gfx90g68", "gfx1030", "gfx103036", "sm_90", "GFX906_60",
        "gfx906_60 ", "gfx906_60.HIP", "gfx906_99999999999", "gfx906ffffffffff"}) {
    EXPECT_EQ(ParseTargetName(target).status().code(), StatusCode::kInvalidArgument) << target;
  }
}

TEST(TargetNameTest, OnlyKernelsAreOfAWholeArchitecture) {
  EXPECT_EQ(CheckTarget("gfx906", DatabaseKind::kKernelDb), Status::Ok());
  EXPECT_EQ(CheckTarget("gfx906_60", DatabaseKind::kKernelDb), Status::Ok());
  EXPECT_EQ(CheckTarget("gfx906_60", DatabaseKind::kFindDb), Status::Ok());
  EXPECT_EQ(CheckTarget("gfx906", DatabaseKind::kBatchNormDb).code(), StatusCode::kInvalidArgument);
  for (const char* target : {"gfx906", "foo", "", "gfx906_6O"}) {
    EXPECT_EQ(CheckTarget(target, DatabaseKind::kPerfDb).code(), StatusCode::kInvalidArgument);
  }
  const Status of_kernels = CheckTarget("foo", DatabaseKind::kKernelDb);
  EXPECT_EQ(of_kernels.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(of_kernels.message(), ::testing::HasSubstr("whole architecture: gfx906."));
}

}  // namespace
}  // namespace attune::miopen
