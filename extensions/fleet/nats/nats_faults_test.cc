// Faults of NATS servers and their data, and how the queue reports and handles them.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "extensions/fleet/nats/handles.h"
#include "extensions/fleet/nats/nats_queue.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/server_process.h"

namespace attune {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr milliseconds kPatience{20'000};
constexpr milliseconds kShortPatience{500};
const Channel kChannel{"fake:a:b:1{}", {JobSearch::kPerf, JobWork::kMeasure}};

class NatsFaultsTest : public ::testing::Test {
 protected:
  // A separate server, which the test can kill.
  void Begin(const std::string& configuration = "") {
    auto server = NatsServer::Start(configuration);
    if (!server.ok() && server.error().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << server.error().message();
    }
    ASSERT_TRUE(server.ok()) << server.error().message();
    server_ = std::move(*server);
  }
  std::string Url(const std::string& user = "", const std::string& options = "") const {
    return "nats://" + user + server_->host() + options;
  }
  std::unique_ptr<JobQueue> Open(milliseconds patience = kPatience) const {
    auto queue = OpenNatsQueue(Url(), {{}, patience});
    EXPECT_TRUE(queue.ok()) << queue.error().message();
    return queue.ok() ? std::move(*queue) : nullptr;
  }
  static Result<int64_t> Publish(JobQueue& queue, int64_t first, int64_t last) {
    std::vector<QueuedJob> jobs;
    for (int64_t id = first; id <= last; ++id) jobs.push_back({id, 0});
    return queue.Publish(kChannel, jobs);
  }
  // Puts messages that attune would not write on the subject of kChannel.
  void PutRaw(const std::vector<std::string>& texts) const {
    natsConnection* connection = nullptr;
    ASSERT_EQ(natsConnection_ConnectTo(&connection, Url().c_str()), NATS_OK);
    const nats::ConnectionHandle owner(connection);
    for (const std::string& text : texts) {
      natsMsg* reply = nullptr;
      const std::string subject = "attune.jobs." + Token(kChannel);
      ASSERT_EQ(natsConnection_Request(&reply, connection, subject.c_str(), text.data(),
                                       static_cast<int>(text.size()), 5000),
                NATS_OK);
      natsMsg_Destroy(reply);
    }
  }

  std::unique_ptr<NatsServer> server_;
};

#define BEGIN_OR_SKIP(...) \
  Begin(__VA_ARGS__);      \
  if (IsSkipped() || HasFatalFailure()) return

TEST_F(NatsFaultsTest, AKilledServerHasAllThatWasPublishedWhenItIsBack) {
  BEGIN_OR_SKIP();
  const auto queue = Open();
  ASSERT_EQ(Publish(*queue, 1, 100).value(), 100);
  const auto taken = queue->Take(kChannel, 10, milliseconds(5000)).value();
  ASSERT_THAT(taken, SizeIs(10));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(queue->Acknowledge(taken[static_cast<size_t>(i)]), Status::Ok());
  }

  server_->Kill();
  ASSERT_EQ(server_->Run(), Status::Ok());

  EXPECT_EQ(Publish(*queue, 1, 100).value(), 0) << "It knows duplicates from before.";
  // Messages acknowledged a moment before may come again, harmlessly.
  const ChannelLoad load = queue->Pending(kChannel).value();
  EXPECT_GE(load.waiting + load.taken, 95);
  std::vector<Delivery> rest = queue->Take(kChannel, 256, milliseconds(5000)).value();
  std::vector<bool> seen(101, false);
  for (const Delivery& delivery : rest) seen[static_cast<size_t>(delivery.job.job_id)] = true;
  for (size_t id = 11; id <= 100; ++id) EXPECT_TRUE(seen[id]) << id;
  for (size_t i = 5; i < 10; ++i) {
    EXPECT_EQ(queue->Acknowledge(taken[i]), Status::Ok()) << "Receipts outlive the server.";
  }
}

TEST_F(NatsFaultsTest, WhileTheServerIsAwayCallsEndWithinTheirPatienceAndThenWorkAgain) {
  BEGIN_OR_SKIP();
  const auto queue = Open(kShortPatience);
  ASSERT_EQ(Publish(*queue, 1, 1).value(), 1);
  const Delivery taken = queue->Take(kChannel, 1, milliseconds(5000)).value().at(0);
  server_->Kill();

  const int64_t begun_ns = SteadyNowNs();
  EXPECT_EQ(Publish(*queue, 2, 2).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue->Take(kChannel, 1, milliseconds(0)).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue->Acknowledge(taken).code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue->InProgress(taken).code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue->Pending(kChannel).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue->DeadLetters(kChannel).status().code(), StatusCode::kUnavailable);
  const Status gone = queue->Bury(taken, "no");
  EXPECT_EQ(gone.code(), StatusCode::kUnavailable);
  EXPECT_THAT(gone.message(), HasSubstr(server_->host()));
  EXPECT_LT(SteadyNowNs() - begun_ns, int64_t{10'000'000'000});

  ASSERT_EQ(server_->Run(), Status::Ok());
  Status back = Unavailable("");
  for (int i = 0; i < 40 && back.code() == StatusCode::kUnavailable; ++i) {
    back = queue->Acknowledge(taken);
  }
  EXPECT_EQ(back, Status::Ok());
  EXPECT_EQ(Publish(*queue, 2, 2).value(), 1);
  // A server records deliveries with a delay. One that is killed before may deliver the first ones
  // again, acknowledged or not.
  std::vector<int64_t> ids;
  for (const Delivery& delivery : queue->Take(kChannel, 5, milliseconds(5000)).value()) {
    ids.push_back(delivery.job.job_id);
  }
  EXPECT_THAT(ids, AnyOf(ElementsAre(2), UnorderedElementsAre(1, 2)));
}

TEST_F(NatsFaultsTest, ACallWaitsForAServerThatComesBackWithinItsPatience) {
  BEGIN_OR_SKIP();
  const auto queue = Open();
  server_->Kill();
  Result<int64_t> published = int64_t{0};
  std::thread publisher([&] { published = Publish(*queue, 1, 3); });

  ASSERT_EQ(server_->Run(), Status::Ok());
  publisher.join();

  ASSERT_TRUE(published.ok()) << published.error().message();
  EXPECT_EQ(queue->Take(kChannel, 5, milliseconds(5000))->size(), 3u);
}

TEST_F(NatsFaultsTest, AServerThatSaysNothingIsAwayToo) {
  BEGIN_OR_SKIP();
  const auto queue = Open(kShortPatience);
  ASSERT_EQ(Publish(*queue, 1, 1).value(), 1);
  server_->Stop();

  EXPECT_EQ(Publish(*queue, 2, 2).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue->Take(kChannel, 1, milliseconds(100)).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(OpenNatsQueue(Url(), {{}, kShortPatience}).status().code(), StatusCode::kUnavailable);

  server_->Continue();
  Status back = Unavailable("");
  for (int i = 0; i < 40 && back.code() == StatusCode::kUnavailable; ++i) {
    back = Publish(*queue, 3, 3).status();
  }
  EXPECT_EQ(back, Status::Ok());
}

TEST_F(NatsFaultsTest, AServerThatIsNotThereIsSaidAtOnce) {
  BEGIN_OR_SKIP();
  server_->Kill();

  const Status none = OpenNatsQueue(Url(), {{}, kShortPatience}).status();

  EXPECT_EQ(none.code(), StatusCode::kUnavailable) << none.message();
  EXPECT_THAT(none.message(), HasSubstr(server_->host()));
  EXPECT_THAT(none.message(), Not(HasSubstr(".c:"))) << "No line of a library's source.";
}

TEST_F(NatsFaultsTest, WhatIsNoMessageIsBuriedWithItsReasonAndKeepsNobody) {
  BEGIN_OR_SKIP();
  const auto queue = Open();
  PutRaw({"", "hello", "1 17", "1 0 0", std::string("1 17 0\0", 7), "2 17 0 of a later attune",
          std::string(4000, 'x')});
  ASSERT_EQ(Publish(*queue, 5, 5).value(), 1);

  std::vector<Delivery> taken = queue->Take(kChannel, 10, milliseconds(5000)).value();
  if (taken.empty()) taken = queue->Take(kChannel, 10, milliseconds(5000)).value();

  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].job, (QueuedJob{5, 0}));
  const auto dead = queue->DeadLetters(kChannel).value();
  ASSERT_THAT(dead, SizeIs(7));
  for (const DeadLetter& letter : dead) EXPECT_EQ(letter.job, QueuedJob());
  EXPECT_THAT(dead[1].reason, HasSubstr("'hello'"));
  EXPECT_THAT(dead[5].reason, HasSubstr("update attune"));
  EXPECT_EQ(queue->Pending(kChannel).value(), (ChannelLoad{0, 1}));
}

TEST_F(NatsFaultsTest, OfManyThatArePublishedTogetherTheFirstThatIsRefusedIsNamed) {
  BEGIN_OR_SKIP();
  const auto queue = Open();

  const Status full = Publish(*queue, 1, kMostQueued + 3).status();

  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.message();
  EXPECT_THAT(full.message(), HasSubstr("job 1025 failed"));
  EXPECT_EQ(queue->Pending(kChannel).value(), (ChannelLoad{kMostQueued, 0}));
}

TEST_F(NatsFaultsTest, AConsumerThatSomebodyRemovedIsMadeAgain) {
  BEGIN_OR_SKIP();
  const auto queue = Open();
  ASSERT_THAT(queue->Take(kChannel, 1, milliseconds(0)).value(), IsEmpty());
  natsConnection* connection = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&connection, Url().c_str()), NATS_OK);
  const nats::ConnectionHandle owner(connection);
  natsMsg* reply = nullptr;
  const std::string subject = "$JS.API.CONSUMER.DELETE.attune-jobs." + Token(kChannel);
  ASSERT_EQ(natsConnection_Request(&reply, connection, subject.c_str(), "", 0, 5000), NATS_OK);
  natsMsg_Destroy(reply);

  ASSERT_EQ(Publish(*queue, 1, 1).value(), 1);

  std::vector<Delivery> taken = queue->Take(kChannel, 1, milliseconds(100)).value();
  // A client that got nothing repeats its request.
  if (taken.empty()) taken = queue->Take(kChannel, 1, milliseconds(5000)).value();
  EXPECT_THAT(taken, SizeIs(1));
}

TEST_F(NatsFaultsTest, StreamsThatAreGoneAreMadeAgainByWhoeverLooks) {
  BEGIN_OR_SKIP();
  const auto queue = Open();
  ASSERT_EQ(Publish(*queue, 1, 1).value(), 1);
  ASSERT_THAT(queue->Take(kChannel, 1, milliseconds(5000)).value(), SizeIs(1));
  natsConnection* connection = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&connection, Url().c_str()), NATS_OK);
  const nats::ConnectionHandle owner(connection);
  for (const char* stream : {"attune-jobs", "attune-dead"}) {
    natsMsg* reply = nullptr;
    const std::string subject = std::string("$JS.API.STREAM.DELETE.") + stream;
    ASSERT_EQ(natsConnection_Request(&reply, connection, subject.c_str(), "", 0, 5000), NATS_OK);
    natsMsg_Destroy(reply);
  }

  EXPECT_EQ(queue->Pending(kChannel).value(), ChannelLoad());

  EXPECT_EQ(Publish(*queue, 2, 2).value(), 1);
  EXPECT_THAT(queue->Take(kChannel, 1, milliseconds(5000)).value(), SizeIs(1));
  EXPECT_THAT(queue->DeadLetters(kChannel).value(), IsEmpty());
}

TEST_F(NatsFaultsTest, PasswordsAndTokensComeFromTheEnvironment) {
  BEGIN_OR_SKIP("authorization { user: worker, password: \"ge heim\" }");
  ::setenv("ATTUNE_QUEUE_PASSWORD", "ge heim", 1);
  EXPECT_EQ(OpenNatsQueue(Url("worker@")).status(), Status::Ok());

  ::setenv("ATTUNE_QUEUE_PASSWORD", "falsch", 1);
  const Status refused = OpenNatsQueue(Url("worker@")).status();
  ::unsetenv("ATTUNE_QUEUE_PASSWORD");

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
  EXPECT_THAT(refused.message(), HasSubstr("ATTUNE_QUEUE_PASSWORD_FILE"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("falsch")));
  BEGIN_OR_SKIP("authorization { token: \"zeichen\" }");
  ::setenv("ATTUNE_QUEUE_PASSWORD", "zeichen", 1);
  EXPECT_EQ(OpenNatsQueue(Url()).status(), Status::Ok());
  ::unsetenv("ATTUNE_QUEUE_PASSWORD");
}

TEST_F(NatsFaultsTest, CredentialsThatCannotBeReadAreNamed) {
  BEGIN_OR_SKIP();
  ::setenv("ATTUNE_QUEUE_CREDENTIALS_FILE", "/nonexistent/worker.creds", 1);
  const Status refused = OpenNatsQueue(Url()).status();
  ::unsetenv("ATTUNE_QUEUE_CREDENTIALS_FILE");

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("/nonexistent/worker.creds"));
}

TEST_F(NatsFaultsTest, ATlsUrlToAServerWithoutIsRefused) {
  BEGIN_OR_SKIP();

  const Status refused = OpenNatsQueue("tls://" + server_->host()).status();

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
  EXPECT_THAT(refused.message(), HasSubstr("tls://"));
}

TEST_F(NatsFaultsTest, OtherTermsThanThoseOnTheServerAreRefused) {
  BEGIN_OR_SKIP();
  ASSERT_EQ(Open()->Pending(kChannel).value(), ChannelLoad());

  NatsQueueOptions options;
  options.terms.ack_wait = milliseconds(1000);
  const auto other = OpenNatsQueue(Url(), options).value();
  EXPECT_EQ(other->Pending(kChannel).status().code(), StatusCode::kFailedPrecondition);

  options.terms.duplicate_window = milliseconds(1000);
  const Status stream = OpenNatsQueue(Url(), options).status();
  EXPECT_EQ(stream.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(stream.message(), HasSubstr("attune-jobs"));

  EXPECT_EQ(OpenNatsQueue(Url("", "?fleet=another"), options).status(), Status::Ok());
}

TEST_F(NatsFaultsTest, ReplicasThatASingleServerCannotKeepAreRefused) {
  BEGIN_OR_SKIP();

  const Status refused = OpenNatsQueue(Url("", "?replicas=3")).status();

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
  EXPECT_THAT(refused.message(), HasSubstr("leave replicas out of the URL"));
  EXPECT_EQ(OpenNatsQueue(Url("", "?replicas=1")).status(), Status::Ok());
}

TEST_F(NatsFaultsTest, AWorkersAccountPublishesAndTakesAndAdministersNothing) {
  BEGIN_OR_SKIP(R"(authorization { users: [
      { user: owner, password: p },
      { user: worker, password: p, permissions: {
          publish: ["attune.jobs.*", "attune.dead.*", "$JS.ACK.attune-jobs.>",
                    "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.INFO.attune-jobs.*",
                    "$JS.API.CONSUMER.MSG.NEXT.attune-jobs.*",
                    "$JS.API.DIRECT.GET.attune-dead"],
          subscribe: ["_INBOX.>"] } } ] })");
  ::setenv("ATTUNE_QUEUE_PASSWORD", "p", 1);
  EXPECT_EQ(OpenNatsQueue(Url("worker@"), {{}, kShortPatience}).ok(), false)
      << "There are no streams yet.";
  ASSERT_EQ((*OpenNatsQueue(Url("owner@")))->Pending(kChannel).value(), ChannelLoad());

  const auto worker = OpenNatsQueue(Url("worker@"), {{}, kPatience});
  ::unsetenv("ATTUNE_QUEUE_PASSWORD");
  ASSERT_TRUE(worker.ok()) << worker.error().message();
  EXPECT_EQ(Publish(**worker, 1, 2).value(), 2);
  const auto taken = (*worker)->Take(kChannel, 2, milliseconds(5000)).value();
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_EQ((*worker)->InProgress(taken[0]), Status::Ok());
  EXPECT_EQ((*worker)->Acknowledge(taken[0]), Status::Ok());
  EXPECT_EQ((*worker)->Bury(taken[1], "no"), Status::Ok());
  EXPECT_THAT((*worker)->DeadLetters(kChannel).value(), SizeIs(1));
  EXPECT_EQ((*worker)->Pending(kChannel).value(), ChannelLoad());
}

class NatsTlsTest : public NatsFaultsTest {
 protected:
  // A server with a self-signed certificate for `name` ("IP:127.0.0.1").
  void BeginTls(const std::string& name) {
    if (FindServerProgram("openssl").empty()) GTEST_SKIP() << "There is no openssl here.";
    folder_ = NewServerFolder().value();
    const std::string key = folder_ / "key.pem";
    ASSERT_EQ(RunToItsEnd({FindServerProgram("openssl"), "req", "-x509", "-newkey", "rsa:2048",
                           "-nodes", "-keyout", key, "-out", certificate(), "-days", "2", "-subj",
                           "/CN=tests", "-addext", "subjectAltName=" + name},
                          folder_),
              0)
        << EndOfLog(folder_);
    Begin("tls { cert_file: \"" + certificate() + "\", key_file: \"" + key + "\" }");
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string certificate() const { return folder_ / "certificate.pem"; }
  std::string TlsUrl() const { return "tls://" + server_->host(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(NatsTlsTest, AServerIsSpokenWithWhoseCertificateIsTrustedAndOthersAreNot) {
  BeginTls("IP:127.0.0.1");
  if (IsSkipped() || HasFatalFailure()) return;

  const auto trusted = OpenNatsQueue(TlsUrl() + "?tlsca=" + certificate());

  ASSERT_TRUE(trusted.ok()) << trusted.error().message();
  EXPECT_EQ(Publish(**trusted, 1, 1).value(), 1);
  for (const std::string& url : {TlsUrl(), Url(), TlsUrl() + "?tlsca=" + certificate() + ".gone"}) {
    const Status refused = OpenNatsQueue(url, {{}, kPatience}).status();
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << url << refused.message();
  }
}

TEST_F(NatsTlsTest, ACertificateOfAnotherHostIsRefused) {
  BeginTls("DNS:other.example");
  if (IsSkipped() || HasFatalFailure()) return;

  const Status refused = OpenNatsQueue(TlsUrl() + "?tlsca=" + certificate()).status();

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
}

}  // namespace
}  // namespace attune
