// Tests with three servers and three replicas of every stream.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/steady_time.h"
#include "extensions/fleet/nats/nats_queue.h"
#include "extensions/fleet/nats/stalled_consumer.h"
#include "tests/servers/nats_cluster.h"

namespace attune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Servers elect a leader first.
constexpr milliseconds kLongPatience{60'000};
constexpr int64_t kHalfMinuteNs = 30'000'000'000;
const nats::FleetNames kNames{"attune"};
const Channel kShared{"fake:a:b:1{}", {JobSearch::kPerf, JobWork::kMeasure}};
const Channel kUnused{"fake:a:b:1{}", {JobSearch::kFind, JobWork::kMeasure}};

class NatsClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string permissions =
        ReadFile(std::filesystem::path(ATTUNE_DEPLOY_FOLDER) / "nats_permissions.conf").value();
    auto cluster =
        NatsCluster::Start(3, permissions +
                                  "authorization { users: [ { user: attune, password: p }\n"
                                  "{ user: worker, password: p, permissions: $attune_worker } ] }");
    if (!cluster.ok() && cluster.error().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << cluster.error().message();
    }
    ASSERT_TRUE(cluster.ok()) << cluster.error().message();
    cluster_ = std::move(*cluster);
    ::setenv("ATTUNE_QUEUE_PASSWORD", "p", 1);
    auto queue = OpenNatsQueue(cluster_->Url("attune"), {{}, kLongPatience});
    ASSERT_TRUE(queue.ok()) << queue.error().message();
    queue_ = std::move(*queue);
  }
  void TearDown() override { ::unsetenv("ATTUNE_QUEUE_PASSWORD"); }

  void PublishNew(int64_t first, int64_t last) {
    std::vector<QueuedJob> jobs;
    for (int64_t id = first; id <= last; ++id) jobs.push_back({id, 0});
    const auto added = queue_->Publish(kShared, jobs);
    ASSERT_TRUE(added.ok()) << added.error().message();
    EXPECT_EQ(*added, last - first + 1);
  }
  std::unique_ptr<nats::Connection> Connect(const std::string& user) const {
    const nats::NatsUrl url = nats::ParseNatsUrl(cluster_->Url(user)).value();
    auto connection = nats::Connection::Open(url, kLongPatience);
    EXPECT_TRUE(connection.ok()) << connection.error().message();
    return connection.ok() ? std::move(*connection) : nullptr;
  }
  // The server that leads the consumer of `kShared`.
  static std::string LeaderOf(const nats::Connection& connection) {
    const std::string stream = kNames.jobs();
    const std::string token = Token(kShared);
    jsConsumerInfo* made = nullptr;
    const Status status = connection.Ask("Reading about a consumer", [&](int64_t, jsErrCode& said) {
      return js_GetConsumerInfo(&made, connection.context(), stream.c_str(), token.c_str(), nullptr,
                                &said);
    });
    const nats::ConsumerInfoHandle info(made);
    EXPECT_EQ(status, Status::Ok());
    const bool is_led = info != nullptr && info->Cluster != nullptr && info->Cluster->Leader;
    return is_led ? info->Cluster->Leader : "";
  }

  std::unique_ptr<NatsCluster> cluster_;
  std::unique_ptr<JobQueue> queue_;
};

TEST_F(NatsClusterTest, AServerOfAClusterMayBeKilledAndNothingIsLost) {
  PublishNew(1, 30);

  cluster_->server(0).Kill();

  PublishNew(31, 40);
  std::set<int64_t> seen;
  for (int calls = 0; calls < 60 && seen.size() < 40; ++calls) {
    const auto taken = queue_->Take(kShared, 40, milliseconds(500));
    ASSERT_TRUE(taken.ok()) << taken.error().message();
    for (const Delivery& delivery : *taken) {
      seen.insert(delivery.job.job_id);
      EXPECT_EQ(queue_->Acknowledge(delivery), Status::Ok());
    }
  }
  EXPECT_EQ(seen.size(), 40u);
}

TEST_F(NatsClusterTest, AWorkersAccountLetsAnotherServerLeadAndNothingIsLost) {
  ASSERT_EQ(queue_->Pending(kShared).status(), Status::Ok());
  PublishNew(1, 3);
  const auto worker = Connect("worker");
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(nats::CountInStream(*worker, kNames, kShared).value(), 3);
  EXPECT_EQ(nats::CountInStream(*worker, kNames, kUnused).value(), 0);
  const std::string leader = LeaderOf(*worker);

  const Status moved = nats::MoveConsumer(*worker, kNames, kShared);

  EXPECT_EQ(moved, Status::Ok()) << moved.message();
  const int64_t begun_ns = SteadyNowNs();
  std::string next = leader;
  while ((next == leader || next.empty()) && SteadyNowNs() - begun_ns < kHalfMinuteNs) {
    next = LeaderOf(*worker);
  }
  EXPECT_NE(next, leader);
  EXPECT_THAT(queue_->Take(kShared, 3, milliseconds(20'000)).value(), SizeIs(3));
}

TEST_F(NatsClusterTest, AWorkersAccountRemovesAConsumerAndEverythingIsGivenAgain) {
  ASSERT_EQ(queue_->Pending(kShared).status(), Status::Ok());
  PublishNew(1, 3);
  ASSERT_THAT(queue_->Take(kShared, 2, milliseconds(20'000)).value(), SizeIs(2));
  const auto worker = Connect("worker");
  ASSERT_NE(worker, nullptr);

  const Status dropped = nats::DropConsumer(*worker, kNames, kShared);

  EXPECT_EQ(dropped, Status::Ok()) << dropped.message();
  std::set<int64_t> given;
  const int64_t begun_ns = SteadyNowNs();
  while (given.size() < 3 && SteadyNowNs() - begun_ns < kHalfMinuteNs) {
    const auto taken = queue_->Take(kShared, 3, milliseconds(1'000));
    ASSERT_TRUE(taken.ok()) << taken.status().message();
    for (const Delivery& delivery : *taken) given.insert(delivery.job.job_id);
  }
  EXPECT_EQ(given, (std::set<int64_t>{1, 2, 3}));
}

TEST_F(NatsClusterTest, WhatHasNoConsumerGetsNoOtherLeader) {
  const auto connection = Connect("attune");
  ASSERT_NE(connection, nullptr);

  const Status moved = nats::MoveConsumer(*connection, kNames, kUnused);

  EXPECT_EQ(moved.code(), StatusCode::kUnavailable);
  EXPECT_THAT(moved.message(), HasSubstr("got no other leader"));
  EXPECT_THAT(nats::DropConsumer(*connection, kNames, kUnused).message(),
              HasSubstr("was not removed"));
}

}  // namespace
}  // namespace attune
