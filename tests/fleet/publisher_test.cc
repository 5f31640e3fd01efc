#include "extensions/fleet/workers/publisher.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/fleet/queue/local_queue.h"
#include "extensions/fleet/workers/channels.h"
#include "extensions/fleet/workers/reconcile.h"
#include "tests/fleet/fleet_fixture.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class PublisherTest : public ::testing::Test {
 protected:
  std::vector<Session> Sessions() { return database_.fleet().OpenSessions().value(); }
  Channel TheChannel() { return ChannelOf(Sessions().front().terms, kMeasureStep); }
  int64_t Publish(Publisher& publisher, int64_t now_unix_ns = 1) {
    const auto published = publisher.Round(Sessions(), now_unix_ns);
    EXPECT_TRUE(published.ok()) << published.status().message();
    return published.value_or(-1);
  }
  // Takes the messages there and acknowledges them.
  std::vector<int64_t> TakeAll(int64_t most) {
    std::vector<int64_t> ids;
    const auto taken = queue_.Take(TheChannel(), most, std::chrono::milliseconds(0)).value();
    for (const Delivery& delivery : taken) {
      ids.push_back(delivery.job.job_id);
      EXPECT_EQ(queue_.Acknowledge(delivery), Status::Ok());
    }
    return ids;
  }
  std::vector<Job> Lease(int64_t session_id, std::vector<int64_t> ids) {
    return database_.jobs()
        .Lease(session_id, {{kMeasureStep}, "w", 1, int64_t{1} << 60, std::move(ids)})
        .value();
  }

  FleetDatabase database_;
  int64_t now_ns_ = 1;
  LocalQueue queue_{{}, [this] { return now_ns_; }};
};

TEST_F(PublisherTest, AWindowIsPublishedAndFilledAgainWhenHalfOfItIsTaken) {
  const int64_t session = database_.NewSession("may", 700);
  Publisher publisher(database_.fleet(), queue_, "p");

  EXPECT_EQ(Publish(publisher), kPublishedWindow);
  EXPECT_EQ(Publish(publisher), 0);
  const auto ids = TakeAll(200);
  for (size_t i = 0; i < ids.size(); i += kMostLeased) {
    Lease(session, {ids.begin() + static_cast<ptrdiff_t>(i),
                    ids.begin() + static_cast<ptrdiff_t>(std::min(i + kMostLeased, ids.size()))});
  }

  EXPECT_EQ(Publish(publisher), 200);
  EXPECT_EQ(queue_.Pending(TheChannel())->waiting, kPublishedWindow);
}

TEST_F(PublisherTest, SessionsShareTheWindowAndTheHigherPriorityHasItAlone) {
  const int64_t large = database_.NewSession("large", 500);
  const int64_t small = database_.NewSession("small", 3);
  const int64_t urgent = database_.NewSession("urgent", 2, 9);
  Publisher publisher(database_.fleet(), queue_, "p");

  Publish(publisher);

  std::vector<int64_t> sessions;
  for (const int64_t id : TakeAll(10)) {
    sessions.push_back(database_.fleet().Find(std::vector{id}).value().at(0).session_id);
  }
  EXPECT_THAT(sessions,
              ElementsAre(urgent, urgent, large, small, large, small, large, small, large, large));
}

TEST_F(PublisherTest, OneOfTwoPublishesAndTheOtherTakesOverOnceItIsSilent) {
  database_.NewSession("may", 10);
  Publisher first(database_.fleet(), queue_, "first");
  Publisher second(database_.fleet(), queue_, "second");

  EXPECT_EQ(Publish(first, 1), 10);
  TakeAll(10);
  now_ns_ += int64_t{200} * 1'000'000'000;  // Beyond the window of duplicates.
  EXPECT_EQ(Publish(second, 2), 0);
  EXPECT_EQ(Publish(second, kPublishingNs + 2), 10);
}

TEST_F(PublisherTest, AClosedSessionIsNotPublished) {
  const int64_t session = database_.NewSession("may", 10);
  database_.NewSession("june", 1);
  ASSERT_EQ(database_.sessions().Close(session, "me"), Status::Ok());
  Publisher publisher(database_.fleet(), queue_, "p");

  EXPECT_EQ(Publish(publisher), 1);
}

class ReconcileTest : public PublisherTest {
 protected:
  Reconciled Do(int64_t now_unix_ns = 1,
                std::function<bool(const std::string&)> is_gone = nullptr) {
    const auto reconciled = Reconcile({database_.fleet(), database_.jobs(), queue_},
                                      {"me", now_unix_ns, std::move(is_gone)});
    EXPECT_TRUE(reconciled.ok()) << reconciled.status().message();
    return reconciled.value_or(Reconciled());
  }
};

TEST_F(ReconcileTest, WhatIsOnTheQueueIsNotPublishedAgain) {
  database_.NewSession("may", 10);

  EXPECT_EQ(Do().published, 10);
  EXPECT_EQ(Do(), (Reconciled{1, 0, 0, 0, 0, {}}));
}

TEST_F(ReconcileTest, LostMessagesArePublishedAgain) {
  database_.NewSession("may", 10);
  EXPECT_EQ(Do().published, 10);
  TakeAll(10);
  now_ns_ += int64_t{200} * 1'000'000'000;

  EXPECT_EQ(Do().published, 10);
}

TEST_F(ReconcileTest, LeasesOfWhoeverIsGoneGoBack) {
  const int64_t session = database_.NewSession("may", 3);
  Lease(session, {database_.jobs().List(session, {})->at(1).id});

  EXPECT_EQ(Do(1, [](const std::string& owner) { return owner == "w"; }).given_back, 1);
  EXPECT_THAT(database_.JobsOf(session, JobState::kQueued), SizeIs(3));
}

TEST_F(ReconcileTest, ADeadLetterFailsItsJobAndOneThatIsUnreadableIsTold) {
  const int64_t session = database_.NewSession("may", 2);
  Do();
  const auto taken = queue_.Take(TheChannel(), 1, std::chrono::milliseconds(0)).value();
  ASSERT_EQ(queue_.Bury(taken.at(0), "it kills whoever takes it"), Status::Ok());

  EXPECT_EQ(Do().buried, 1);
  EXPECT_EQ(Do().buried, 0);

  const auto failed = database_.JobsOf(session, JobState::kFailed);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].error.kind, "abandoned");
  EXPECT_THAT(failed[0].error.text, ::testing::HasSubstr("it kills whoever takes it"));
}

}  // namespace
}  // namespace attune
