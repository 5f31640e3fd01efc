// Cases that tests/conformance/queue lacks: the source of jobs that were not published.
#include "extensions/fleet/workers/database_queue.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/fleet/workers/channels.h"
#include "tests/fleet/fleet_fixture.h"

namespace attune {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DatabaseQueueTest : public ::testing::Test {
 protected:
  std::vector<Delivery> Take(int64_t most, milliseconds wait = milliseconds(0)) {
    const Session session = database_.fleet().OpenSessions().value().front();
    return queue_.Take(ChannelOf(session.terms, kMeasureStep), most, wait).value();
  }
  static std::vector<int64_t> Ids(const std::vector<Delivery>& deliveries) {
    std::vector<int64_t> ids;
    for (const Delivery& delivery : deliveries) ids.push_back(delivery.job.job_id);
    return ids;
  }

  FleetDatabase database_;
  int64_t now_ns_ = 1;
  DatabaseQueue queue_{database_.fleet(), DatabaseQueue::kTerms, [this] { return now_ns_; }};
};

TEST_F(DatabaseQueueTest, WhatIsLoadedIsThereAndTheMoreUrgentFirst) {
  const int64_t session = database_.NewSession("may", 3);
  database_.Load(session, 4, 1, /*priority=*/9);
  const int64_t urgent = database_.fleet().BacklogOf(session, kMeasureStep, 1)->jobs.front().id;

  const std::vector<Delivery> taken = Take(10);

  ASSERT_THAT(taken, SizeIs(4));
  EXPECT_EQ(taken.front().job.job_id, urgent);
}

TEST_F(DatabaseQueueTest, WhatIsGivenIsNotGivenAgainAtOnce) {
  database_.NewSession("may", 3);

  EXPECT_THAT(Take(3), SizeIs(3));
  EXPECT_THAT(Take(3), IsEmpty());
}

TEST_F(DatabaseQueueTest, WhatWasDroppedAndIsStillToBeDoneIsThereAgainAfterASecond) {
  database_.NewSession("may", 2);
  const std::vector<Delivery> first = Take(2);
  ASSERT_EQ(queue_.AcknowledgeAll(first), Status::Ok());

  EXPECT_THAT(Take(2), IsEmpty());
  now_ns_ += 1'000'000'000;
  EXPECT_EQ(Ids(Take(2)), Ids(first));
}

TEST_F(DatabaseQueueTest, WhatIsLeasedIsNotThere) {
  const int64_t session = database_.NewSession("may", 2);
  const std::vector<Delivery> first = Take(2);
  const LeaseTerms terms{{kMeasureStep}, "w", 1, int64_t{1} << 60, Ids(first)};
  ASSERT_THAT(database_.jobs().Lease(session, terms).value(), SizeIs(2));
  ASSERT_EQ(queue_.AcknowledgeAll(first), Status::Ok());

  now_ns_ += 2'000'000'000;
  EXPECT_THAT(Take(2), IsEmpty());
}

TEST_F(DatabaseQueueTest, WithOneWorkerAYoungerSessionDoesNotWaitForAnOlderOne) {
  const int64_t older = database_.NewSession("older", 4);
  const int64_t younger = database_.NewSession("younger", 2);
  std::vector<int64_t> sessions;

  for (int i = 0; i < 6; ++i) {
    const std::vector<Delivery> taken = Take(1);
    const auto found = database_.fleet().Find(Ids(taken)).value();
    ASSERT_THAT(found, SizeIs(1));
    sessions.push_back(found[0].session_id);
    const LeaseTerms terms{{kMeasureStep}, "w", 1, int64_t{1} << 60, Ids(taken)};
    const auto leased = database_.jobs().Lease(sessions.back(), terms).value();
    ASSERT_THAT(leased, SizeIs(1));
    const JobReport done{{leased[0].id, leased[0].attempts}, JobState::kDone, 0, "s", {}};
    ASSERT_EQ(database_.jobs().Report(std::vector<JobReport>{done}, 2).value(),
              std::vector<bool>{true});
    ASSERT_EQ(queue_.AcknowledgeAll(taken), Status::Ok());
  }

  EXPECT_THAT(sessions, ElementsAre(older, younger, older, younger, older, older));
}

}  // namespace
}  // namespace attune
