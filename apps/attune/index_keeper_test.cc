// Tests when a run refreshes the index of its database, and its messages if it cannot.
#include "apps/attune/index_keeper.h"

#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/choice_index.h"
#include "attune/index/sample_choices.h"
#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

class IndexKeeperTest : public ::testing::Test {
 protected:
  // Tunes another problem and reports it.
  void TuneOne(IndexKeeper& keeper) {
    Tune(store_, PackedGemm(8 + ++tuned_, 8, 8), 0, 1);
    keeper.NoteTuned();
  }
  // Problems in the index; 0 if there is none.
  int64_t Indexed() const {
    const auto index = ChoiceIndex::Open(path_);
    return index.ok() ? (*index)->problem_count() : 0;
  }
  std::string Printed() {
    err_.Flush();
    std::rewind(stream_.get());
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), stream_.get()));
    return text;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "attune.db.index";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_{std::tmpfile(), &std::fclose};
  Output err_{stream_.get()};
  MemoryStore store_;
  FakeClock clock_;
  int64_t tuned_ = 0;
};

TEST_F(IndexKeeperTest, ARunRefreshesAtItsEndAndOnTheWayAtMostEveryHalfMinute) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  IndexKeeper keeper(store_, path_, clock_, err_);

  TuneOne(keeper);
  EXPECT_EQ(Indexed(), 0);
  clock_.Advance(31 * kSecondNs);
  TuneOne(keeper);
  EXPECT_EQ(Indexed(), 2);
  clock_.Advance(29 * kSecondNs);
  TuneOne(keeper);
  EXPECT_EQ(Indexed(), 2);
  keeper.Finish();
  EXPECT_EQ(Indexed(), 3);
  EXPECT_EQ(Printed(), "");
}

TEST_F(IndexKeeperTest, ARunThatTunedNothingMakesNoIndex) {
  IndexKeeper keeper(store_, path_, clock_, err_);

  keeper.Finish();

  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(IndexKeeperTest, AFailureIsAWarning) {
  path_ = folder_.path() / "missing" / "index";
  IndexKeeper keeper(store_, path_, clock_, err_);
  TuneOne(keeper);

  keeper.Finish();

  EXPECT_THAT(Printed(), ::testing::HasSubstr("missing"));
}

}  // namespace
}  // namespace attune
