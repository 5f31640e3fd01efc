// The contract of every JobQueue. Each queue is one line at the end.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/fleet/nats/nats_queue.h"
#include "extensions/fleet/queue/local_queue.h"
#include "extensions/fleet/workers/database_queue.h"
#include "tests/fleet/fleet_fixture.h"
#include "tests/servers/nats_server.h"

namespace attune {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr milliseconds kAtOnce{0};
constexpr milliseconds kPatience{20'000};
const JobStep kMeasure{JobSearch::kPerf, JobWork::kMeasure};
const Channel kChannel{"fake:a:b:1{}", kMeasure};
const Channel kOther{"fake:a:b:1{}", {JobSearch::kPerf, JobWork::kCompile}};
const Channel kElsewhere{"fake:c:d:2{}", kMeasure};

// One queue, and several ways to it.
class QueueWorld {
 public:
  virtual ~QueueWorld() = default;
  // As another process has it.
  virtual Result<std::shared_ptr<JobQueue>> Open(const QueueTerms& terms) = 0;
  // Lets `time` pass, as the queue sees it.
  virtual void Pass(milliseconds time) = 0;
};

// A queue of one process, with a clock of its own.
class LocalWorld : public QueueWorld {
 public:
  Result<std::shared_ptr<JobQueue>> Open(const QueueTerms& terms) override {
    if (queue_ == nullptr) queue_ = Make(terms, [this] { return now_ns_.load(); });
    return queue_;
  }
  void Pass(milliseconds time) override { now_ns_ += time.count() * 1'000'000; }

 private:
  virtual std::shared_ptr<JobQueue> Make(const QueueTerms& terms, std::function<int64_t()> now_ns) {
    return std::make_shared<LocalQueue>(terms, std::move(now_ns));
  }

  std::atomic<int64_t> now_ns_ = 1;
  std::shared_ptr<JobQueue> queue_;
};

// Over a database without open jobs, so that it only has published ones.
class DatabaseWorld final : public LocalWorld {
  std::shared_ptr<JobQueue> Make(const QueueTerms& terms,
                                 std::function<int64_t()> now_ns) override {
    return std::make_shared<DatabaseQueue>(database_.fleet(), terms, std::move(now_ns));
  }

  FleetDatabase database_;
};

class NatsWorld final : public QueueWorld {
 public:
  // One server for all tests, and a fleet for each.
  NatsWorld() {
    static const Result<std::unique_ptr<NatsServer>> server = NatsServer::Start();
    static int fleets = 0;
    server_ = &server;
    fleet_ = "test-" + std::to_string(++fleets);
  }
  Result<std::shared_ptr<JobQueue>> Open(const QueueTerms& terms) override {
    if (!server_->ok()) return server_->error();
    auto queue =
        OpenNatsQueue("nats://" + (**server_)->host() + "?fleet=" + fleet_, {terms, kPatience});
    if (!queue.ok()) return queue.error();
    waiting_ = std::shared_ptr<JobQueue>(std::move(*queue));
    return waiting_;
  }
  // Waits without expecting anything.
  void Pass(milliseconds time) override {
    EXPECT_THAT(waiting_->Take({"nowhere", kMeasure}, 1, time).value(), IsEmpty());
  }

 private:
  const Result<std::unique_ptr<NatsServer>>* server_;
  std::string fleet_;
  std::shared_ptr<JobQueue> waiting_;
};

struct QueueKind {
  std::string name;
  std::function<std::unique_ptr<QueueWorld>()> make;
};

void PrintTo(const QueueKind& kind, std::ostream* out) { *out << kind.name; }

class JobQueueTest : public ::testing::TestWithParam<QueueKind> {
 protected:
  void SetUp() override {
    world_ = GetParam().make();
    OpenWith({});
  }

  void OpenWith(const QueueTerms& terms) {
    auto queue = world_->Open(terms);
    if (!queue.ok() && (queue.error().code() == StatusCode::kNotFound ||
                        queue.error().code() == StatusCode::kUnsupported)) {
      GTEST_SKIP() << queue.error().message();
    }
    ASSERT_TRUE(queue.ok()) << queue.error().message();
    queue_ = *queue;
  }

  // A new queue that delivers messages again after `ack_wait`.
  void Begin(milliseconds ack_wait, int64_t most_deliveries = 5) {
    world_ = GetParam().make();
    OpenWith({ack_wait, most_deliveries, milliseconds(120'000)});
  }

  void Publish(const Channel& channel, const std::vector<int64_t>& ids) {
    std::vector<QueuedJob> jobs;
    for (const int64_t id : ids) jobs.push_back({id, 0});
    const auto added = queue_->Publish(channel, jobs);
    ASSERT_TRUE(added.ok()) << added.error().message();
    ASSERT_EQ(*added, std::ssize(ids));
  }

  // The deliveries there now, up to `most`.
  std::vector<Delivery> Take(const Channel& channel, int64_t most, milliseconds wait = kAtOnce) {
    auto taken = queue_->Take(channel, most, wait);
    EXPECT_TRUE(taken.ok()) << taken.error().message();
    return taken.ok() ? *taken : std::vector<Delivery>();
  }

  static std::vector<int64_t> Ids(const std::vector<Delivery>& deliveries) {
    std::vector<int64_t> ids;
    for (const Delivery& delivery : deliveries) ids.push_back(delivery.job.job_id);
    return ids;
  }

  std::unique_ptr<QueueWorld> world_;
  std::shared_ptr<JobQueue> queue_;
};

TEST_P(JobQueueTest, ANewQueueIsEmpty) {
  EXPECT_THAT(Take(kChannel, 10), IsEmpty());
  EXPECT_EQ(queue_->Pending(kChannel).value(), ChannelLoad());
  EXPECT_THAT(queue_->DeadLetters(kChannel).value(), IsEmpty());
}

TEST_P(JobQueueTest, WhatIsPublishedIsTakenInItsOrder) {
  Publish(kChannel, {9, 3, 7});
  Publish(kChannel, {1, 8});

  const std::vector<Delivery> taken = Take(kChannel, 10);

  EXPECT_THAT(Ids(taken), ElementsAre(9, 3, 7, 1, 8));
  for (const Delivery& delivery : taken) {
    EXPECT_EQ(delivery.times, 1);
    EXPECT_EQ(delivery.channel, kChannel);
  }
}

TEST_P(JobQueueTest, NoMoreIsTakenThanWasAskedForAndTheRestIsForOthers) {
  Publish(kChannel, {1, 2, 3});

  EXPECT_THAT(Ids(Take(kChannel, 2)), ElementsAre(1, 2));
  EXPECT_THAT(Ids(Take(kChannel, 2, milliseconds(1000))), ElementsAre(3));
  EXPECT_THAT(Take(kChannel, 2), IsEmpty());
}

TEST_P(JobQueueTest, ChannelsHaveNothingInCommon) {
  Publish(kChannel, {1});
  Publish(kOther, {1, 2});
  Publish(kElsewhere, {3});

  EXPECT_THAT(Ids(Take(kOther, 10)), ElementsAre(1, 2));
  EXPECT_THAT(Ids(Take(kElsewhere, 10)), ElementsAre(3));
  EXPECT_THAT(Ids(Take(kChannel, 10)), ElementsAre(1));
}

TEST_P(JobQueueTest, AttemptsComeBack) {
  const std::vector<QueuedJob> jobs = {{1, 7}, {9'223'372'036'854'775'807, 0}};

  ASSERT_EQ(queue_->Publish(kChannel, jobs).value(), 2);

  const std::vector<Delivery> taken = Take(kChannel, 10);
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_EQ(taken[0].job, jobs[0]);
  EXPECT_EQ(taken[1].job, jobs[1]);
}

TEST_P(JobQueueTest, AnIdThatIsPublishedTwiceIsDeliveredOnce) {
  Publish(kChannel, {1, 2});

  EXPECT_EQ(queue_->Publish(kChannel, std::vector<QueuedJob>{{2, 0}, {3, 0}}).value(), 1);

  EXPECT_THAT(Ids(Take(kChannel, 10)), ElementsAre(1, 2, 3));
}

TEST_P(JobQueueTest, ALaterAttemptOfAJobIsAnotherMessage) {
  Publish(kChannel, {1});

  EXPECT_EQ(queue_->Publish(kChannel, std::vector<QueuedJob>{{1, 1}}).value(), 1);

  EXPECT_THAT(Ids(Take(kChannel, 10)), ElementsAre(1, 1));
}

TEST_P(JobQueueTest, ManyAreAcknowledgedTogether) {
  Publish(kChannel, {1, 2, 3, 4});
  auto taken = Take(kChannel, 3);
  ASSERT_EQ(Ids(taken), (std::vector<int64_t>{1, 2, 3}));

  EXPECT_EQ(queue_->AcknowledgeAll(taken), Status::Ok());

  EXPECT_EQ(queue_->Pending(kChannel).value(), (ChannelLoad{1, 0}));
  EXPECT_EQ(queue_->AcknowledgeAll({}), Status::Ok());
}

TEST_P(JobQueueTest, WhatIsAcknowledgedDoesNotComeAgain) {
  Begin(milliseconds(1000));
  Publish(kChannel, {1, 2});
  const std::vector<Delivery> taken = Take(kChannel, 2);
  ASSERT_THAT(taken, SizeIs(2));

  EXPECT_EQ(queue_->Acknowledge(taken[0]), Status::Ok());
  EXPECT_EQ(queue_->Acknowledge(taken[0]), Status::Ok()) << "A second time does nothing.";

  world_->Pass(milliseconds(1200));
  EXPECT_THAT(Ids(Take(kChannel, 2, milliseconds(1000))), ElementsAre(2));
}

TEST_P(JobQueueTest, WhatIsNotAcknowledgedComesAgainToWhoeverTakesNext) {
  const QueueTerms terms{milliseconds(500), 5, milliseconds(120'000)};
  Begin(terms.ack_wait);
  const auto other = world_->Open(terms).value();
  Publish(kChannel, {1});
  ASSERT_THAT(Take(kChannel, 1), SizeIs(1));

  world_->Pass(milliseconds(700));

  const auto again = other->Take(kChannel, 1, milliseconds(5000));
  ASSERT_TRUE(again.ok()) << again.error().message();
  ASSERT_THAT(*again, SizeIs(1));
  EXPECT_EQ(again->front().times, 2);
  EXPECT_EQ(queue_->Acknowledge(again->front()), Status::Ok());
}

TEST_P(JobQueueTest, HeartbeatsPutTheRedeliveryOff) {
  Begin(milliseconds(2000));
  Publish(kChannel, {1});
  const std::vector<Delivery> taken = Take(kChannel, 1);
  ASSERT_THAT(taken, SizeIs(1));

  for (int i = 0; i < 6; ++i) {
    world_->Pass(milliseconds(500));
    ASSERT_EQ(queue_->InProgress(taken[0]), Status::Ok());
  }

  EXPECT_THAT(Take(kChannel, 1), IsEmpty());
  world_->Pass(milliseconds(2200));
  const std::vector<Delivery> again = Take(kChannel, 1, milliseconds(5000));
  ASSERT_THAT(again, SizeIs(1)) << "Without heartbeats it comes.";
  EXPECT_EQ(again[0].times, 2);
}

TEST_P(JobQueueTest, WhatIsGivenBackComesAgainAtOnce) {
  Publish(kChannel, {1});
  const std::vector<Delivery> taken = Take(kChannel, 1);
  ASSERT_THAT(taken, SizeIs(1));

  ASSERT_EQ(queue_->GiveBack(taken[0]), Status::Ok());

  const std::vector<Delivery> again = Take(kChannel, 1, milliseconds(5000));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].job, taken[0].job);
  EXPECT_EQ(again[0].times, 2);
}

TEST_P(JobQueueTest, WhatIsDeliveredTooOftenBecomesADeadLetter) {
  Begin(milliseconds(60'000), 2);
  Publish(kChannel, {1, 2});
  for (int64_t times = 1; times <= 2; ++times) {
    const std::vector<Delivery> taken = Take(kChannel, 1, milliseconds(5000));
    ASSERT_THAT(Ids(taken), ElementsAre(1));
    ASSERT_EQ(taken[0].times, times);
    ASSERT_EQ(queue_->GiveBack(taken[0]), Status::Ok());
  }

  EXPECT_THAT(Ids(Take(kChannel, 2, milliseconds(5000))), ElementsAre(2));

  const auto dead = queue_->DeadLetters(kChannel).value();
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].job, (QueuedJob{1, 0}));
  EXPECT_EQ(dead[0].deliveries, 2);
  EXPECT_THAT(dead[0].reason, HasSubstr("2 times"));
  EXPECT_THAT(queue_->DeadLetters(kOther).value(), IsEmpty());
  EXPECT_EQ(queue_->Pending(kChannel).value(), (ChannelLoad{0, 1}));
}

TEST_P(JobQueueTest, WhatIsBuriedIsADeadLetterWithItsReason) {
  Begin(milliseconds(500));
  Publish(kChannel, {1, 2});
  const std::vector<Delivery> taken = Take(kChannel, 2);
  ASSERT_THAT(taken, SizeIs(2));

  EXPECT_EQ(queue_->Bury(taken[0], "It's no job of\nthis database."), Status::Ok());
  EXPECT_EQ(queue_->Bury(taken[1], std::string(2000, 'x')), Status::Ok());

  world_->Pass(milliseconds(700));
  EXPECT_THAT(Take(kChannel, 2), IsEmpty());
  EXPECT_THAT(queue_->DeadLetters(kChannel).value(),
              ElementsAre(DeadLetter{{1, 0}, 1, "It's no job of this database."},
                          DeadLetter{{2, 0}, 1, std::string(kLongestReasonBytes, 'x')}));
}

TEST_P(JobQueueTest, PendingCountsWhatWaitsAndWhatIsTaken) {
  Publish(kChannel, {1, 2, 3, 4});
  EXPECT_EQ(queue_->Pending(kChannel).value(), (ChannelLoad{4, 0}));

  const std::vector<Delivery> taken = Take(kChannel, 3);
  ASSERT_THAT(taken, SizeIs(3));
  EXPECT_EQ(queue_->Pending(kChannel).value(), (ChannelLoad{1, 3}));

  ASSERT_EQ(queue_->Acknowledge(taken[0]), Status::Ok());
  ASSERT_EQ(queue_->Bury(taken[1], "no"), Status::Ok());
  EXPECT_EQ(queue_->Pending(kChannel).value(), (ChannelLoad{1, 1}));
}

TEST_P(JobQueueTest, AChannelIsBoundedAndHasRoomAgainWhenSomeIsAcknowledged) {
  std::vector<QueuedJob> jobs;
  for (int64_t id = 1; id <= kMostQueued + 1; ++id) jobs.push_back({id, 0});

  const Status full = queue_->Publish(kChannel, jobs).status();

  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.message();
  EXPECT_EQ(queue_->Pending(kChannel).value(), (ChannelLoad{kMostQueued, 0}));
  EXPECT_EQ(queue_->Publish(kOther, std::span(jobs).first(1)).value(), 1) << "It is another's.";
  ASSERT_EQ(queue_->Acknowledge(Take(kChannel, 1).at(0)), Status::Ok());
  EXPECT_EQ(queue_->Publish(kChannel, jobs).value(), 1);
}

TEST_P(JobQueueTest, SeveralTakersShareAndNoneGetsWhatAnotherHas) {
  constexpr int kTakers = 4;
  constexpr int64_t kJobs = 200;
  std::vector<int64_t> ids(kJobs);
  for (int64_t i = 0; i < kJobs; ++i) ids[static_cast<size_t>(i)] = i + 1;
  Publish(kChannel, ids);
  std::vector<std::vector<int64_t>> taken(kTakers);
  std::atomic<int64_t> left = kJobs;
  {
    std::vector<std::jthread> takers;
    for (std::vector<int64_t>& mine : taken) {
      takers.emplace_back([&, queue = world_->Open({}).value()] {
        for (int calls = 0; calls < 300 && left > 0; ++calls) {
          const auto deliveries = queue->Take(kChannel, 7, milliseconds(200));
          ASSERT_TRUE(deliveries.ok()) << deliveries.error().message();
          for (const Delivery& delivery : *deliveries) {
            mine.push_back(delivery.job.job_id);
            --left;
            EXPECT_EQ(queue->Acknowledge(delivery), Status::Ok());
          }
        }
      });
    }
  }

  std::vector<int64_t> all;
  for (const auto& mine : taken) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, ids);
  EXPECT_EQ(queue_->Pending(kChannel).value(), ChannelLoad());
}

TEST_P(JobQueueTest, OneQueueServesSeveralThreads) {
  constexpr int kThreads = 4;
  std::atomic<int64_t> acknowledged = 0;
  {
    std::vector<std::jthread> threads;
    for (int64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int64_t i = 0; i < 20; ++i) {
          const std::vector<QueuedJob> job = {{thread * 100 + i + 1, 0}};
          EXPECT_EQ(queue_->Publish(kChannel, job).value(), 1);
          const auto taken = queue_->Take(kChannel, 1, milliseconds(5000));
          ASSERT_THAT(*taken, SizeIs(1));
          EXPECT_EQ(queue_->Acknowledge(taken->front()), Status::Ok());
          ++acknowledged;
        }
      });
    }
  }

  EXPECT_EQ(acknowledged, kThreads * 20);
  EXPECT_EQ(queue_->Pending(kChannel).value(), ChannelLoad());
}

TEST_P(JobQueueTest, WhatCannotBeMeantIsRefused) {
  for (const QueuedJob& job : {QueuedJob{0, 0}, QueuedJob{-1, 0}, QueuedJob{1, -1}}) {
    EXPECT_EQ(queue_->Publish(kChannel, std::vector<QueuedJob>{{5, 0}, job}).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(Take(kChannel, 1), IsEmpty()) << "Nothing of a refused call is published.";
  EXPECT_EQ(queue_->Take(kChannel, 0, kAtOnce).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->Take(kChannel, kMostTaken + 1, kAtOnce).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->Take(kChannel, 1, milliseconds(-1)).status().code(),
            StatusCode::kInvalidArgument);
  for (const char* receipt : {"", "x", "-1", "99", "$JS.ACK.>", "attune.jobs.x"}) {
    const Delivery delivery{kChannel, {1, 0}, 1, receipt};
    EXPECT_EQ(queue_->Acknowledge(delivery).code(), StatusCode::kInvalidArgument) << receipt;
    EXPECT_EQ(queue_->Bury(delivery, "").code(), StatusCode::kInvalidArgument) << receipt;
  }
  EXPECT_THAT(queue_->DeadLetters(kChannel).value(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Queues, JobQueueTest,
    ::testing::Values(QueueKind{"Local", [] { return std::make_unique<LocalWorld>(); }},
                      QueueKind{"Database", [] { return std::make_unique<DatabaseWorld>(); }},
                      QueueKind{"Nats", [] { return std::make_unique<NatsWorld>(); }}),
    [](const ::testing::TestParamInfo<QueueKind>& kind) { return kind.param.name; });

}  // namespace
}  // namespace attune
