#include "attune/formats/miopen/kernel_db.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/formats/miopen/test_findings.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Compresses to a fraction of its size.
std::string Code(size_t bytes) {
  std::string code;
  for (size_t i = 0; code.size() < bytes; ++i) code += "s_load_dword " + std::to_string(i * i);
  code.resize(bytes);
  return code;
}

std::string Noise(size_t bytes) {
  Random random(11);
  std::string noise;
  for (size_t i = 0; i < bytes; ++i) noise += static_cast<char>(random.Below(256));
  return noise;
}

KernelRow Row(std::string_view code) {
  return RowFor("conv1x1u.s.o", " -mcpu=gfx906", code).value();
}

std::vector<std::string> PlacesOfCheck(const KernelRow& row) {
  Findings findings;
  CheckKernel(row, findings);
  return PlacesOf(findings);
}

TEST(KernelDbTest, TheHashIsMd5InLowerCase) {
  EXPECT_EQ(HashOf(""), "d41d8cd98f00b204e9800998ecf8427e");  // RFC 1321.
  EXPECT_EQ(HashOf("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(KernelDbTest, CodeIsCompressedAndComesBack) {
  for (const size_t bytes : {100u, 5000u, 2'000'000u}) {
    const std::string code = Code(bytes);

    const KernelRow row = Row(code);

    EXPECT_EQ(row.code_bytes, static_cast<int64_t>(bytes));
    EXPECT_LT(row.blob.size(), bytes);
    EXPECT_THAT(row.blob, testing::StartsWith("BZh9"));
    EXPECT_EQ(row.hash, HashOf(code));
    EXPECT_EQ(CodeOf(row).value(), code);
    EXPECT_THAT(PlacesOfCheck(row), IsEmpty());
  }
}

TEST(KernelDbTest, CodeThatDoesNotGetSmallerIsStoredAsItIs) {
  for (const size_t bytes : {1u, 40u, 100'000u}) {
    const std::string code = Noise(bytes);

    const KernelRow row = Row(code);

    EXPECT_EQ(row.code_bytes, 0);
    EXPECT_EQ(row.blob, code);
    EXPECT_EQ(CodeOf(row).value(), code);
  }
}

TEST(KernelDbTest, CodeOfNothingIsNoKernel) {
  EXPECT_EQ(RowFor("a.o", "", "").status().code(), StatusCode::kInvalidArgument);
}

TEST(KernelDbTest, ABlobThatWasCutOrChangedIsFound) {
  const KernelRow sound = Row(Code(5000));
  for (size_t at = 0; at < sound.blob.size(); ++at) {
    KernelRow cut = sound;
    cut.blob.resize(at);
    EXPECT_EQ(CodeOf(cut).status().code(), StatusCode::kDataLoss) << at;
    KernelRow changed = sound;
    changed.blob[at] = static_cast<char>(changed.blob[at] ^ 0x10);
    EXPECT_FALSE(CodeOf(changed).ok() && *CodeOf(changed) != Code(5000)) << at;
  }
  KernelRow cut = sound;
  cut.blob.resize(cut.blob.size() / 2);
  cut.id = 7;
  EXPECT_THAT(PlacesOfCheck(cut), ElementsAre("7 bad_kernel"));
}

TEST(KernelDbTest, TheNumberOfBytesMustBeThatOfTheCode) {
  for (const int64_t bytes : {int64_t{1}, int64_t{4999}, int64_t{5001}, int64_t{-1}, kMaxCodeBytes,
                              kMaxCodeBytes + 1, INT64_MAX, INT64_MIN}) {
    KernelRow row = Row(Code(5000));
    row.code_bytes = bytes;

    EXPECT_EQ(CodeOf(row).status().code(), StatusCode::kDataLoss) << bytes;
    EXPECT_THAT(PlacesOfCheck(row), ElementsAre("0 bad_kernel"));
  }
}

TEST(KernelDbTest, CompressedCodeThatSaysThatItIsNotIsNotItsHash) {
  KernelRow row = Row(Code(5000));
  row.code_bytes = 0;

  EXPECT_THAT(PlacesOfCheck(row), ElementsAre("0 hash_mismatch"));
}

TEST(KernelDbTest, CodeOfAnotherHashIsFound) {
  KernelRow row = Row(Code(5000));
  row.hash = HashOf("another");
  row.id = 3;

  EXPECT_EQ(CodeOf(row).status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(CodeOf(row).status().message(), HasSubstr(HashOf(Code(5000))));
  EXPECT_THAT(PlacesOfCheck(row), ElementsAre("3 hash_mismatch"));
}

}  // namespace
}  // namespace attune::miopen
