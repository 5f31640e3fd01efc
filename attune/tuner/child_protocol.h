// Messages between a tuning process and its worker processes, and the frames that carry them.
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
// Configs of one ListedReply; further pages take further requests.
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
// The output must agree with that of `against`.
struct AgreementRequest {
  std::string against;
  OutputTolerance tolerance;
};
struct QualifyRequest {
  std::string candidate;
  std::optional<AgreementRequest> agreement = {};
  // After it reports the phase `measure`, the worker process waits for a TurnRequest before it
  // times.
  bool awaits_turn = false;
};
// Lets a worker process that waits for its turn time its candidate.
struct TurnRequest {};
struct LoadRequest {
  std::string candidate;
};
struct TimeRequest {
  uint64_t index = 0;
  int launches = 1;
  CacheState cache = CacheState::kWarm;
};
// Takes one sample of the metrics of a loaded candidate; without an index, asks whether the device
// can measure them.
struct MeterChildRequest {
  std::optional<uint64_t> index;
  MeterRequest figures;
};
// Asks for the configs that the library of the device lists for the problem, from `first` on.
struct ListRequest {
  std::string solver;  // Text of its id.
  uint64_t first = 0;
};
// Asks for the present device conditions.
struct ConditionsRequest {};
// Replaces the hello, and is the only request to this worker process.
struct PeaksRequest {
  int version = kChildProtocolVersion;
  std::string device;
};
// Also replaces a hello; only more of them may follow: compiles for the device and opens none.
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

// Results of a candidate before or beside its failure.
struct Qualification {
  int64_t build_ns = 0;
  int64_t load_ns = 0;
  int64_t workspace_bytes = 0;
  double max_error = 0;
  double quick_ns = 0;
  std::string capture_failure = {};  // As Trial::capture_failure.
};

// The first message of every worker process, sent without a request: it is started, and sleeps
// until a request comes.
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
  DeviceConditions conditions;  // Without a field if the device reports nothing.
};
struct PeaksReply {
  Peaks peaks;
};
struct CompiledReply {
  int64_t build_ns = 0;  // In the compiler; 0 if nothing was compiled.
};
// The reference is written, and this worker process can no longer write to it.
struct ReferencedReply {};
struct FailedReply {
  Failure failure;
  Qualification qualification;
  // Every further request of this worker process to its device fails: no other candidate may be
  // tried in it.
  bool device_lost = false;
};

struct Reply {
  int64_t at_ns = 0;  // CLOCK_MONOTONIC when it was sent.
  std::variant<ListeningReply, ReadyReply, RefusedReply, PhaseReply, QualifiedReply, LoadedReply,
               TimedReply, ListedReply, ConditionsReply, PeaksReply, CompiledReply, ReferencedReply,
               FailedReply, MeteredReply>
      content;
  // Device time for candidates since the last reply, by the device's own clock; never negative.
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
