#include "attune/formats/miopen/bzip2.h"

#include <bzlib.h>

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune::miopen {
namespace {

using testing::HasSubstr;

constexpr size_t kPlenty = size_t{1} << 24;

std::string Packed(std::string bytes) {
  std::string packed(bytes.size() + bytes.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned int>(packed.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(packed.data(), &size, bytes.data(),
                                     static_cast<unsigned int>(bytes.size()), 9, 0, 0),
            BZ_OK);
  packed.resize(size);
  return packed;
}

std::string Lines() {
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += std::to_string(i * 7919 % 100'003) + '\n';
  return lines;
}

TEST(Bzip2Test, WhatWasPackedComesBackWhateverItsSize) {
  for (const std::string& bytes : {std::string(), std::string("a"), Lines()}) {
    EXPECT_EQ(Unpacked(Packed(bytes), kPlenty).value(), bytes);
  }
}

TEST(Bzip2Test, StreamsOneAfterTheOtherAreOneFile) {
  EXPECT_EQ(Unpacked(Packed("a") + Packed("") + Packed("b"), kPlenty).value(), "ab");
}

TEST(Bzip2Test, WhatIsTooLargeIsRefusedBeforeItIsThere) {
  const std::string bomb = Packed(std::string(kPlenty, '\0'));
  ASSERT_LT(bomb.size(), 1000u);

  EXPECT_EQ(Unpacked(bomb, kPlenty).value().size(), kPlenty);
  EXPECT_EQ(Unpacked(bomb, kPlenty - 1).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Unpacked(bomb, 0).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Unpacked(Packed(""), 0).value(), "");
}

TEST(Bzip2Test, AMessageSaysWhereItStops) {
  const std::string packed = Packed(Lines());
  const auto message = [](const std::string& bytes) {
    const Status status = Unpacked(bytes, kPlenty).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    return status.message();
  };

  EXPECT_EQ(message(""), "It ends too early at byte 0 of 0.");
  EXPECT_EQ(message("64-56-56"), "It is no bzip2 at byte 1 of 8.");
  EXPECT_EQ(message(packed.substr(0, 1000)), "It ends too early at byte 1000 of 1000.");
  EXPECT_THAT(message(packed + "\n"), HasSubstr("It is no bzip2 at byte"));
}

TEST(Bzip2Test, EachCutAndEachFlippedBitIsSeen) {
  const std::string bytes = "64-56-56-3x3=ConvAsm3x3U:0.25,0,miopenConvolutionFwdAlgoDirect\n";
  const std::string packed = Packed(bytes);
  for (size_t i = 0; i < packed.size(); ++i) {
    EXPECT_FALSE(Unpacked(packed.substr(0, i), kPlenty).ok()) << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = packed;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      const auto unpacked = Unpacked(flipped, kPlenty);
      // The size of blocks and the padding at the end do not affect the content.
      EXPECT_EQ(unpacked.value_or(bytes), bytes) << i << ", bit " << bit;
    }
  }
}

TEST(Bzip2Test, AFileIsUnpackedIfItsNameSaysSo) {
  const std::filesystem::path folder = testing::TempDir();
  ASSERT_EQ(WriteFileAtomically(folder / "attune_a.db.txt.bz2", Packed("a")), Status::Ok());
  ASSERT_EQ(WriteFileAtomically(folder / "attune_a.db.txt", Packed("a")), Status::Ok());

  EXPECT_EQ(ReadUnpacked(folder / "attune_a.db.txt.bz2", kPlenty).value(), "a");
  EXPECT_EQ(ReadUnpacked(folder / "attune_a.db.txt", kPlenty).value(), Packed("a"));
  ASSERT_EQ(WriteFileAtomically(folder / "attune_a.db.txt.bz2", "b"), Status::Ok());
  EXPECT_THAT(ReadUnpacked(folder / "attune_a.db.txt.bz2", kPlenty).status().message(),
              HasSubstr("attune_a.db.txt.bz2'. It "));
}

}  // namespace
}  // namespace attune::miopen
