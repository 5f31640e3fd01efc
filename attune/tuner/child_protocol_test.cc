#include "attune/tuner/child_protocol.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

std::string Framed(const std::string& payload) {
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const UniqueFd writer(sockets[0]);
  const UniqueFd reader(sockets[1]);
  EXPECT_TRUE(WriteFrame(writer.get(), payload).ok());
  std::string frame(payload.size() + 4, '\0');
  EXPECT_EQ(::recv(reader.get(), frame.data(), frame.size(), MSG_WAITALL),
            static_cast<ssize_t>(frame.size()));
  return frame;
}

TEST(ChildProtocolTest, EveryRequestRoundTrips) {
  const Request hello = HelloRequest{1, "cpu", "gemm@1{m=1,n=1,k=1}"};
  const Request time = TimeRequest{7, 12, CacheState::kCold};

  EXPECT_EQ(std::get<HelloRequest>(*DecodeRequest(Encode(hello))).problem, "gemm@1{m=1,n=1,k=1}");
  EXPECT_EQ(
      std::get<QualifyRequest>(*DecodeRequest(Encode(Request(QualifyRequest{"a"})))).candidate,
      "a");
  EXPECT_EQ(std::get<LoadRequest>(*DecodeRequest(Encode(Request(LoadRequest{"b"})))).candidate,
            "b");
  const Request reference = ReferenceRequest{1, "cuda:0", "gemm@1{m=1,n=1,k=1}"};
  EXPECT_EQ(std::get<ReferenceRequest>(*DecodeRequest(Encode(reference))).device, "cuda:0");
  EXPECT_EQ(std::get<ReferenceRequest>(*DecodeRequest(Encode(reference))).problem,
            "gemm@1{m=1,n=1,k=1}");
  const auto decoded = std::get<TimeRequest>(*DecodeRequest(Encode(time)));
  EXPECT_EQ(decoded.index, 7u);
  EXPECT_EQ(decoded.launches, 12);
  EXPECT_EQ(decoded.cache, CacheState::kCold);
}

TEST(ChildProtocolTest, WhatTheDeviceWorkedArrivesAndIsNeverNegative) {
  const Reply sent{5, TimedReply{2.5}, 1234};

  const auto received = DecodeReply(Encode(sent));

  ASSERT_TRUE(received.ok()) << received.status().message();
  EXPECT_EQ(received->device_ns, 1234);
  EXPECT_EQ(DecodeReply(Encode(Reply{5, TimedReply{2.5}}))->device_ns, 0);
  EXPECT_EQ(DecodeReply(R"({"type":"ready","at_ns":1,"device_ns":-1})").status().code(),
            StatusCode::kDataLoss);
}

TEST(ChildProtocolTest, TermsOfAnEvaluationArriveAndImpossibleOnesAreRefused) {
  HelloRequest hello;
  hello.rotation_bytes = 1 << 20;
  hello.warm_up_launches = 3;
  hello.warm_up_ns = 5;
  const Request qualify = QualifyRequest{"a", AgreementRequest{"b", {1e-2, 1e-1}}};

  const auto greeted = std::get<HelloRequest>(*DecodeRequest(Encode(Request(hello))));
  const auto qualified = std::get<QualifyRequest>(*DecodeRequest(Encode(qualify)));

  EXPECT_EQ(greeted.rotation_bytes, 1 << 20);
  EXPECT_EQ(greeted.warm_up_launches, 3);
  EXPECT_EQ(greeted.warm_up_ns, 5);
  ASSERT_TRUE(qualified.agreement.has_value());
  EXPECT_EQ(qualified.agreement->against, "b");
  EXPECT_EQ(qualified.agreement->tolerance, (OutputTolerance{1e-2, 1e-1}));
  hello.rotation_bytes = -1;
  EXPECT_NE(DecodeRequest(Encode(Request(hello))).status().message().find("'rotation_bytes'"),
            std::string::npos);
  const Request loose = QualifyRequest{"a", AgreementRequest{"b", {0, 1}}};
  EXPECT_NE(DecodeRequest(Encode(loose)).status().message().find("'atol'"), std::string::npos);
}

TEST(ChildProtocolTest, FailureTextOfAnyBytesArrivesAsValidText) {
  FailedReply failed;
  failed.failure = {FailureKind::kBuildFailed, Phase::kBuild, std::string("a\0\xff'\"b", 6)};
  failed.qualification.max_error = INFINITY;

  const auto reply = DecodeReply(Encode(Reply{5, failed}));

  ASSERT_TRUE(reply.ok()) << reply.status().message();
  const auto& content = std::get<FailedReply>(reply->content);
  EXPECT_EQ(content.failure.kind, FailureKind::kBuildFailed);
  EXPECT_EQ(content.failure.message, std::string("a\0\xEF\xBF\xBD'\"b", 8));
  EXPECT_EQ(reply->at_ns, 5);
  EXPECT_TRUE(std::isnan(content.qualification.max_error));
}

TEST(ChildProtocolTest, ALostDeviceIsToldAndNothingElseIsTakenForIt) {
  FailedReply lost;
  lost.failure = {FailureKind::kRunFailed, Phase::kMeasure, "illegal address"};
  lost.device_lost = true;
  const std::string text = Encode(Reply{5, lost});
  std::string wrong = text;
  wrong.replace(wrong.find("true"), 4, "1");

  EXPECT_TRUE(std::get<FailedReply>(DecodeReply(text)->content).device_lost);
  EXPECT_FALSE(
      std::get<FailedReply>(DecodeReply(Encode(Reply{5, FailedReply{}}))->content).device_lost);
  EXPECT_NE(DecodeReply(wrong).status().message().find("'device_lost'"), std::string::npos);
}

TEST(ChildProtocolTest, WhyACandidateCannotBeCapturedArrivesAndNothingElseIsTakenForIt) {
  QualifiedReply refused;
  refused.qualification.capture_failure = "It allocates.";
  const std::string text = Encode(Reply{5, refused});
  std::string wrong = text;
  wrong.replace(wrong.find("\"It allocates.\""), 15, "1");

  const auto reply = DecodeReply(text);
  const auto silent = DecodeReply(Encode(Reply{5, QualifiedReply{}}));

  EXPECT_EQ(std::get<QualifiedReply>(reply->content).qualification.capture_failure,
            "It allocates.");
  EXPECT_EQ(std::get<QualifiedReply>(silent->content).qualification.capture_failure, "");
  EXPECT_NE(DecodeReply(wrong).status().message().find("'capture_failure'"), std::string::npos);
}

TEST(ChildProtocolTest, MissingOrMistypedFieldsAreNamed) {
  EXPECT_NE(DecodeReply(R"({"type":"timed","at_ns":1})").status().message().find("'ns'"),
            std::string::npos);
  EXPECT_NE(
      DecodeReply(R"({"type":"timed","at_ns":"1","ns":2})").status().message().find("'at_ns'"),
      std::string::npos);
  EXPECT_NE(DecodeRequest(R"({"type":"time","index":0,"launches":1,"cache":"hot"})")
                .status()
                .message()
                .find("'cache'"),
            std::string::npos);
  EXPECT_FALSE(DecodeRequest(R"({"type":"dance"})").ok());
  EXPECT_FALSE(DecodeRequest("[]").ok());
  EXPECT_FALSE(DecodeRequest("").ok());
}

DeviceConditions BusyConditions() {
  DeviceConditions conditions;
  conditions.compute_clock_mhz = 1305;
  conditions.memory_clock_mhz = 2619;
  conditions.power_w = 698.25;
  conditions.power_limit_w = 700;
  conditions.temperature_c = -3;
  conditions.clock_reasons = {"hw_slowdown", "sw_power_cap"};
  return conditions;
}

TEST(ChildProtocolTest, ConditionsArriveWholeInPartAndNotAtAll) {
  DeviceConditions part;
  part.clock_reasons.emplace();

  EXPECT_TRUE(std::holds_alternative<ConditionsRequest>(
      *DecodeRequest(Encode(Request(ConditionsRequest{})))));
  for (const DeviceConditions& sent : {BusyConditions(), part, DeviceConditions()}) {
    const auto reply = DecodeReply(Encode(Reply{5, ConditionsReply{sent}}));

    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(std::get<ConditionsReply>(reply->content).conditions, sent);
  }
}

TEST(ChildProtocolTest, FiguresArriveAndWhatIsNoneIsRefused) {
  MeterChildRequest asked{3,
                          {true,
                           {{"y", DataType::kF32, 2, 5, FigureSource::Reduction::kSum},
                            {.reduction = FigureSource::Reduction::kMax, .printed = "GB/s"}}}};
  const auto arrived = DecodeRequest(Encode(Request(asked)));
  ASSERT_TRUE(arrived.ok()) << arrived.status().message();
  EXPECT_EQ(std::get<MeterChildRequest>(*arrived).index, 3u);
  EXPECT_EQ(std::get<MeterChildRequest>(*arrived).figures, asked.figures);

  for (const char* text :
       {R"({"type":"meter","energy":true,"outputs":["y"]})", R"({"type":"meter","energy":true})",
        R"({"type":"meter","energy":3,"outputs":[]})",
        R"({"type":"meter","index":-1,"outputs":[]})"}) {
    EXPECT_EQ(DecodeRequest(text).status().code(), StatusCode::kDataLoss) << text;
  }
  EXPECT_EQ(DecodeReply(R"({"type":"metered","at_ns":1,"joules":1,"low_joules":1,"high_joules":1,)"
                        R"("outputs":["x"]})")
                .status()
                .code(),
            StatusCode::kDataLoss);
}

TEST(ChildProtocolTest, ImpossibleConditionsAreRefusedWithTheField) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("power_w":"700")", "'power_w'"},
      {R"("power_w":-1)", "power_w is -1"},
      {R"("power_limit_w":null)", "power_limit_w is nan"},
      {R"("compute_clock_mhz":1.5)", "'compute_clock_mhz'"},
      {R"("memory_clock_mhz":-7)", "memory_clock_mhz is -7"},
      {R"("temperature_c":[])", "'temperature_c'"},
      {R"("clock_reasons":"gpu_idle")", "'clock_reasons'"},
      {R"("clock_reasons":["gpu idle"])", "no word"},
      {R"("clock_reasons":["b","a"])", "ascending"},
  };
  for (const auto& [field, message] : wrong) {
    const std::string text = R"({"type":"conditions","at_ns":1,)" + std::string(field) + "}";

    const Status status = DecodeReply(text).status();

    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << text;
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
}

TEST(ChildProtocolTest, FrameIsTakenOnlyWhenComplete) {
  const std::string frame = Framed("hello");
  std::string buffer;

  for (const char byte : frame.substr(0, frame.size() - 1)) {
    buffer += byte;
    ASSERT_FALSE(TakeFrame(buffer)->has_value());
  }
  buffer += frame.back();
  buffer += "rest";

  EXPECT_EQ(TakeFrame(buffer)->value(), "hello");
  EXPECT_EQ(buffer, "rest");
}

TEST(ChildProtocolTest, DescriptorTravelsWithTheFirstByteOfItsFrame) {
  int sockets[2];
  int pipe_ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const UniqueFd writer(sockets[0]), reader(sockets[1]), out(pipe_ends[0]);
  UniqueFd in(pipe_ends[1]);
  const std::string payload(20'000, 'x');
  std::string received;
  UniqueFd passed;

  ASSERT_TRUE(WriteFrame(writer.get(), payload, in.get()).ok());
  in.Reset();
  ASSERT_TRUE(ReadFrames(reader.get(), received, passed));
  const UniqueFd first = std::move(passed);
  while (received.size() < payload.size() + 4) {
    ASSERT_TRUE(ReadFrames(reader.get(), received, passed));
  }

  EXPECT_EQ(TakeFrame(received)->value(), payload);
  EXPECT_FALSE(passed.valid());
  ASSERT_TRUE(first.valid());
  EXPECT_NE(::fcntl(first.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(::write(first.get(), "y", 1), 1);
  char echoed = 0;
  EXPECT_EQ(::read(out.get(), &echoed, 1), 1);
  EXPECT_EQ(echoed, 'y');
}

TEST(ChildProtocolTest, EndOfTheStreamIsToldFromBytes) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  UniqueFd writer(sockets[0]);
  const UniqueFd reader(sockets[1]);
  ASSERT_TRUE(WriteFrame(writer.get(), "bye").ok());
  writer.Reset();
  std::string received;
  UniqueFd passed;

  EXPECT_TRUE(ReadFrames(reader.get(), received, passed));
  EXPECT_FALSE(ReadFrames(reader.get(), received, passed));
  EXPECT_EQ(TakeFrame(received)->value(), "bye");
  EXPECT_FALSE(passed.valid());
}

TEST(ChildProtocolTest, FrameOfAbsurdLengthIsRefused) {
  std::string empty(4, '\0');
  std::string huge("\xff\xff\xff\xff", 4);

  EXPECT_EQ(TakeFrame(empty).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(TakeFrame(huge).status().code(), StatusCode::kDataLoss);
  EXPECT_FALSE(WriteFrame(-1, std::string(kMaxFrameBytes + 1, 'x')).ok());
}

TEST(ChildProtocolTest, DamagedConditionsAreRefusedOrPossible) {
  const std::string intact = Encode(Reply{5, ConditionsReply{BusyConditions()}});
  Random random(43);

  for (int i = 0; i < 10000; ++i) {
    std::string damaged = intact;
    damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    const auto reply = DecodeReply(damaged);
    if (!reply.ok()) continue;
    ASSERT_TRUE(std::holds_alternative<ConditionsReply>(reply->content)) << damaged;
    EXPECT_TRUE(Validate(std::get<ConditionsReply>(reply->content).conditions).ok()) << damaged;
  }
}

TEST(ChildProtocolTest, RandomDamageNeverPassesUnnoticedAsAnotherKind) {
  const std::string intact = Encode(Reply{5, TimedReply{123.5}});
  Random random(42);

  for (int i = 0; i < 10000; ++i) {
    std::string damaged = intact;
    damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    const auto reply = DecodeReply(damaged);
    if (reply.ok()) {
      EXPECT_TRUE(std::holds_alternative<TimedReply>(reply->content)) << damaged;
    }
  }
}

}  // namespace
}  // namespace attune
