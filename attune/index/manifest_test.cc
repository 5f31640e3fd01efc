#include "attune/index/manifest.h"

#include <string>

#include <gtest/gtest.h>

namespace attune {
namespace {

Manifest Sample() {
  Manifest manifest{"0.1.0", "2026-11-21T06:25:07Z", "cpu:x", {}, {}, {}};
  manifest.files["index"] = {3, Sha256Hex("abc")};
  return manifest;
}

TEST(Manifest, TheHashIsTheOneOfTheStandard) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Manifest, WhatIsWrittenIsRead) {
  const auto read = ParseManifest(ManifestText(Sample()));

  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, Sample());
}

TEST(Manifest, TheGoldenVersionAndTheCachesAreToldWhereTheyAreKnown) {
  EXPECT_EQ(ManifestText(Sample()).find("golden"), std::string::npos);
  EXPECT_EQ(ManifestText(Sample()).find("caches"), std::string::npos);
  Manifest manifest = Sample();
  manifest.golden = PackagedGolden{"may", true};
  manifest.caches = {"cold", "warm"};

  const auto read = ParseManifest(ManifestText(manifest));

  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, manifest);
  // Informational: unreadable values here make no package unreadable.
  std::string odd = ManifestText(manifest);
  odd.replace(odd.find("\"approved\": true"), 16, "\"approved\": 7");
  EXPECT_FALSE(ParseManifest(odd)->golden->is_approved);
}

TEST(Manifest, APathThatLeavesThePackageIsRefused) {
  for (const char* path : {"../index", "/etc/passwd", "kernels/../../x", ""}) {
    Manifest manifest = Sample();
    manifest.files[path] = {1, Sha256Hex("a")};
    EXPECT_EQ(ParseManifest(ManifestText(manifest)).status().code(), StatusCode::kDataLoss) << path;
  }
}

TEST(Manifest, WhatIsNoManifestIsRefused) {
  for (const char* text : {"", "{}", "[]", "null", "{\"format\":\"attune-package\"}", "\xff"}) {
    EXPECT_EQ(ParseManifest(text).status().code(), StatusCode::kDataLoss) << text;
  }
  std::string later = ManifestText(Sample());
  later.replace(later.find("\"version\": 1"), 12, "\"version\": 2");
  EXPECT_EQ(ParseManifest(later).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune
