// Messages between a tuning process and its children, and the frames that carry them.
// docs/formats/child_protocol.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/problem/target.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/figure.h"
#include "attune/trial/trial.h"
#include "attune/verify/output_check.h"

namespace attune {

inline constexpr int kChildProtocolVersion = 11;
inline constexpr size_t kMaxFrameBytes = 1 << 20;
// Of one ListedReply; the rest is asked for page by page.
inline constexpr size_t kConfigsPerPage = 2048;

// Travels with the descriptor of the problem's data, see WriteFrame.
struct HelloRequest {
  int version = kChildProtocolVersion;
  std::string device;
  std::string problem;
  int64_t rotation_bytes = 0;  // As the next two, of EvaluationTerms.
  int64_t warm_up_launches = 0;
  int64_t warm_up_ns = 0;
};
// That the output has to agree with what `against` computes.
struct AgreementRequest {
  std::string against;
  OutputTolerance tolerance;
};
struct QualifyRequest {
  std::string candidate;
  std::optional<AgreementRequest> agreement = {};
  // After it reports the phase `measure`, the child waits for a TurnRequest before it times.
  bool awaits_turn = false;
};
// Lets a child that waits for its turn time its candidate.
struct TurnRequest {};
struct LoadRequest {
  std::string candidate;
};
struct TimeRequest {
  uint64_t index = 0;
  int launches = 1;
  CacheState cache = CacheState::kWarm;
};
// One sample of the figures of a loaded candidate; without one, whether they can be measured here.
struct MeterChildRequest {
  std::optional<uint64_t> index;
  MeterRequest figures;
};
// Which configs the library of the device lists for the problem: those from `first` on.
struct ListRequest {
  std::string solver;  // Text of its id.
  uint64_t first = 0;
};
// What the device says of itself now.
struct ConditionsRequest {};
// Instead of a hello, and all that this child is asked.
struct PeaksRequest {
  int version = kChildProtocolVersion;
  std::string device;
};
// Instead of a hello, too, and nothing else but more of them: compiles for the device and opens
// none.
struct CompileRequest {
  int version = kChildProtocolVersion;
  std::string device;
  std::string problem;
  std::string candidate;
  bool is_draft = false;  // BuildRequest::is_draft.
};
// Before a hello: computes the reference of a problem on the device, which stays open for the
// hello. Travels with the descriptor of the problem's data, which are not sealed yet.
struct ReferenceRequest {
  int version = kChildProtocolVersion;
  std::string device;
  std::string problem;
};
using Request = std::variant<HelloRequest, QualifyRequest, LoadRequest, TimeRequest, ListRequest,
                             ConditionsRequest, PeaksRequest, CompileRequest, ReferenceRequest,
                             MeterChildRequest, TurnRequest>;

// What a child found out about a candidate before or beside its failure.
struct Qualification {
  int64_t build_ns = 0;
  int64_t load_ns = 0;
  int64_t workspace_bytes = 0;
  double max_error = 0;
  double quick_ns = 0;
  std::string capture_failure = {};  // As Trial::capture_failure.
};

// The first message of every child, unasked: it is started, and sleeps until a request comes.
struct ListeningReply {};
struct ReadyReply {};
struct RefusedReply {
  std::string message;
};
struct PhaseReply {
  Phase phase = Phase::kBuild;
};
struct QualifiedReply {
  Qualification qualification;
};
struct LoadedReply {};
struct TimedReply {
  double ns = 0;
};
struct MeteredReply {
  MeterReading reading;
};
struct ListedReply {
  std::vector<std::string> configs;  // Texts, at most kConfigsPerPage.
  uint64_t total = 0;
};
struct ConditionsReply {
  DeviceConditions conditions;  // Without a field if the device tells nothing.
};
struct PeaksReply {
  Peaks peaks;
};
struct CompiledReply {
  int64_t build_ns = 0;  // In the compiler; 0 if nothing was compiled.
};
// The reference is written, and this child can write to it no more.
struct ReferencedReply {};
struct FailedReply {
  Failure failure;
  Qualification qualification;
  // Whatever this child asks of its device fails from now on: nobody else is to be tried in it.
  bool device_lost = false;
};

struct Reply {
  int64_t at_ns = 0;  // CLOCK_MONOTONIC when it was sent.
  std::variant<ListeningReply, ReadyReply, RefusedReply, PhaseReply, QualifiedReply, LoadedReply,
               TimedReply, ListedReply, ConditionsReply, PeaksReply, CompiledReply, ReferencedReply,
               FailedReply, MeteredReply>
      content;
  // What the device has worked for candidates since the last one, by its own clock; never negative.
  int64_t device_ns = 0;
};

std::string Encode(const Request& request);
std::string Encode(const Reply& reply);
// kDataLoss names the field that is missing or wrong.
Result<Request> DecodeRequest(std::string_view json);
Result<Reply> DecodeReply(std::string_view json);

// Writes one frame to a blocking socket, and with it a duplicate of `passed_fd` unless that is
// negative. kUnavailable if the peer has closed.
Status WriteFrame(int fd, std::string_view payload, int passed_fd = -1);

// Waits for bytes of a socket and appends them to `buffer`; a descriptor that came with them
// (close-on-exec) replaces `passed_fd`. False at the end of the stream.
bool ReadFrames(int fd, std::string& buffer, UniqueFd& passed_fd);

// Takes the first frame off `buffer` if it is complete; nothing if more bytes are needed; kDataLoss
// if its length is 0 or above kMaxFrameBytes.
Result<std::optional<std::string>> TakeFrame(std::string& buffer);

}  // namespace attune
