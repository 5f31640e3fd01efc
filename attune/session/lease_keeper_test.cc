#include "attune/session/lease_keeper.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace attune {
namespace {

// By the clock of its database, which is another than this machine's.
constexpr int64_t kNowNs = 12'000'000'000;

// Counts renewals; everything else is not asked here.
class CountingJobs final : public JobStore {
 public:
  Result<int64_t> NowUnixNs() override { return kNowNs; }
  Result<LoadedJobs> Load(int64_t, const JobLoad&, std::span<const ProblemSolvers>) override {
    return Refuse();
  }
  Result<std::vector<Job>> Lease(int64_t, const LeaseTerms&) override { return Refuse(); }
  Status ExpireLeasesOf(int64_t, const std::string&) override { return Refuse(); }
  Result<int64_t> Renew(std::span<const JobClaim> claims, int64_t deadline_unix_ns) override {
    last_deadline = deadline_unix_ns;
    if (++renewals == 2) twice.set_value(static_cast<int64_t>(claims.size()));
    return static_cast<int64_t>(claims.size());
  }
  Result<std::vector<bool>> Report(std::span<const JobReport>, int64_t) override {
    return Refuse();
  }
  Result<int64_t> Cancel(int64_t, const JobFilter&, const JobError&) override { return Refuse(); }
  Result<int64_t> Requeue(int64_t, const JobFilter&) override { return Refuse(); }
  Result<std::vector<Job>> List(int64_t, const JobFilter&) override { return Refuse(); }
  Result<JobCounts> Count(int64_t, int64_t) override { return Refuse(); }

  std::atomic<int> renewals = 0;
  std::atomic<int64_t> last_deadline = 0;
  std::promise<int64_t> twice;

 private:
  static Status Refuse() { return Unsupported("Not asked here."); }
};

constexpr int64_t kLeaseNs = 30'000'000;

TEST(LeaseKeeperTest, RenewsAgainAndAgainWhatIsHeldByTheClockOfTheDatabase) {
  CountingJobs jobs;
  LeaseKeeper keeper(jobs, kLeaseNs);
  keeper.Hold({{1, 1}, {2, 1}});
  EXPECT_EQ(jobs.twice.get_future().get(), 2);
  EXPECT_EQ(jobs.last_deadline, kNowNs + kLeaseNs);
  EXPECT_TRUE(keeper.status().ok());
}

TEST(LeaseKeeperTest, RenewsNothingWhereNothingIsHeld) {
  CountingJobs jobs;
  {
    LeaseKeeper keeper(jobs, kLeaseNs);
    keeper.Hold({});
  }
  EXPECT_EQ(jobs.renewals, 0);
}

}  // namespace
}  // namespace attune
