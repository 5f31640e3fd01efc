// Free text and samples as text.
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/trial/trial.h"
#include "storage/sql/free_text.h"
#include "storage/sql/sample_text.h"

namespace attune::sql {
namespace {

using ::testing::HasSubstr;

TEST(FreeText, KeepsPrintableAsciiAndEscapesTheRest) {
  EXPECT_EQ(FreeText("a 'b' (c): 100%"), "a 'b' (c): 100%25");
  EXPECT_EQ(FreeText(std::string_view("\0\n\x7f\xff", 4)), "%00%0A%7F%FF");
}

TEST(FreeText, EveryByteComesBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);

  EXPECT_EQ(FromFreeText(FreeText(bytes)), bytes);
  EXPECT_EQ(FromFreeText(""), "");
}

TEST(FreeText, RefusesWhatItDoesNotWrite) {
  for (const char* text : {"%", "%4", "%zz", "%0a", "%41", "a\nb", "\xC3\xB6", "%2"}) {
    EXPECT_EQ(FromFreeText(text), std::nullopt) << text;
  }
}

constexpr Fingerprint kRow{0x0123456789abcdef, 0xfedcba9876543210};

// The text in a golden file, without the end of its line.
std::string GoldenSampleText(const std::string& name) {
  const std::string content = ReadFile(ATTUNE_TEST_DATA_DIR "/store/" + name).value();
  return content.substr(0, content.size() - 1);
}

const std::vector<double> kGoldenSamples = {
    0.0, 1.0, 1500.25, 0.1, 5e-324, std::numeric_limits<double>::max(), 123456789.125};

TEST(SampleText, IsThatOfTheGoldenFile) {
  const std::string golden = GoldenSampleText("samples_v2.txt");

  EXPECT_EQ(SampleText(kGoldenSamples, kRow), golden);
  EXPECT_EQ(ParseSampleText(golden, kRow).value(), kGoldenSamples);
}

TEST(SampleText, OfTheLastVersionIsRead) {
  const std::string golden = GoldenSampleText("samples_v1.txt");

  EXPECT_EQ(ParseUnboundSampleText(golden).value(), kGoldenSamples);
}

TEST(SampleText, FitsNoOtherRow) {
  const Fingerprint other{kRow.high + 1, kRow.low};
  for (const size_t count : {0, 1, 2, 3, 100}) {
    const std::string text = SampleText(std::vector<double>(count, 1.5), kRow);
    const Status status = ParseSampleText(text, other).status();

    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << count;
    EXPECT_THAT(status.message(), HasSubstr("in this row")) << count;
  }
}

TEST(SampleText, OneFormIsNotTheOther) {
  const std::string bound = SampleText(kGoldenSamples, kRow);
  const std::string unbound = GoldenSampleText("samples_v1.txt");

  EXPECT_EQ(ParseUnboundSampleText(bound).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseSampleText(unbound, kRow).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseSampleText(unbound, Fingerprint()).status().code(), StatusCode::kDataLoss);
}

TEST(SampleText, AnyNumberOfSamplesComesBackBitForBit) {
  Random random(1);
  for (size_t count = 0; count < 50; ++count) {
    std::vector<double> samples;
    for (size_t i = 0; i < count; ++i) samples.push_back(random.Uniform() * 1e6);
    EXPECT_EQ(ParseSampleText(SampleText(samples, kRow), kRow).value(), samples);
  }
}

TEST(SampleText, EveryChangedCharacterIsFound) {
  const std::string text = SampleText(std::vector<double>{1.5, 2.5, 3.25}, kRow);
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'A', '=', '0', ':', '\0'}) {
      std::string changed = text;
      changed[i] = c;
      if (changed == text) continue;
      EXPECT_EQ(ParseSampleText(changed, kRow).status().code(), StatusCode::kDataLoss) << changed;
    }
  }
}

TEST(SampleText, EveryCutIsFound) {
  const std::string text = SampleText(std::vector<double>{1.5, 2.5, 3.25}, kRow);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ParseSampleText(text.substr(0, size), kRow).status().code(), StatusCode::kDataLoss);
  }
}

TEST(SampleText, MoreSamplesThanAllowedAreRefused) {
  const std::vector<double> samples(Measurement::kMaxSamples + 1, 1.0);

  EXPECT_THAT(ParseSampleText(SampleText(samples, kRow), kRow).status().message(),
              HasSubstr("32776 bytes"));
}

}  // namespace
}  // namespace attune::sql
