#include "extensions/fleet/nats/connection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/password.h"
#include "attune/base/process_variables.h"
#include "attune/base/steady_time.h"
#include "attune/base/text.h"

namespace attune::nats {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kPollMs = 10;
constexpr std::string_view kTheQueue = "The queue";
// A cluster without a leader drops requests, so they are repeated within the patience.
constexpr int64_t kRequestMs = 2'000;
constexpr int64_t kReconnectWaitMs = 200;
constexpr int64_t kReconnectJitterMs = 100;
constexpr int kReconnectForever = -1;
constexpr int64_t kPingMs = 10'000;  // The connection is lost after two without answer.

// Temporary failures of a server that restarts or a cluster that elects a leader.
bool MayPass(natsStatus status, jsErrCode code) {
  switch (status) {
    case NATS_IO_ERROR:
    case NATS_NO_SERVER:
    case NATS_STALE_CONNECTION:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_TIMEOUT:
    case NATS_NO_RESPONDERS:
      return true;
    default:
      break;
  }
  switch (code) {
    case JSClusterNotAvailErr:
    case JSClusterNotLeaderErr:
    case JSClusterNotActiveErr:
    case JSClusterNoPeersErr:
    case JSInsufficientResourcesErr:
    case JSStreamOfflineErr:
    case JSConsumerOfflineErr:
      return true;
    default:
      return false;
  }
}

// Removes the line of the library's source at the beginning: "(conn.c:2088): ".
std::string_view WithoutPlace(std::string_view said) {
  const size_t end = said.find("): ");
  const bool has_place = said.starts_with('(') && end != std::string_view::npos;
  return has_place ? said.substr(end + 3) : said;
}

// The library's text for the last failure of this thread, on one line.
std::string Said(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* text = nats_GetLastError(&last);
  std::string said(text == nullptr || last != status ? "" : WithoutPlace(text));
  std::replace_if(
      said.begin(), said.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  const std::string_view name = natsStatus_GetText(status);
  return said.empty() || said == name ? std::string(name)
                                      : fmt::format("{} ({})", name, FirstBytes(said, 200));
}

Status Failed(std::string_view what, std::string_view name, natsStatus status, jsErrCode code) {
  const std::string text = fmt::format("{} failed on the queue {}: {}", what, name, Said(status));
  if (status == NATS_NO_RESPONDERS) {
    return Unavailable(text + ". Nothing there answers: JetStream may be off (nats-server -js).");
  }
  if (MayPass(status, code)) return Unavailable(text + ". Is the server there?");
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
      return FailedPrecondition(
          text +
          ". The server refuses the credentials: see ATTUNE_QUEUE_CREDENTIALS_FILE and "
          "ATTUNE_QUEUE_PASSWORD_FILE.");
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED:
      return FailedPrecondition(text + ". Of tls:// and nats:// the server wants the other.");
    case NATS_SSL_ERROR:
      return FailedPrecondition(text + ". See tlsca in the URL.");
    case NATS_CONNECTION_CLOSED:
      return Unavailable(text + ". The server closed it for good; start this program anew.");
    default:
      break;
  }
  if (code == JSStreamNotFoundErr || code == JSConsumerNotFoundErr) {
    return Unavailable(text + ". A server that has just begun may not know of it yet.");
  }
  if (code == JSStreamStoreFailedErr) return ResourceExhausted(text + ".");
  if (code == JSStreamReplicasNotSupportedErr) {
    return FailedPrecondition(
        text +
        ". A single server keeps one copy: leave replicas out of the URL, or name a cluster.");
  }
  return code != jsErrCode{} ? FailedPrecondition(text + ".") : Internal(text + ".");
}

Status SetCredentials(const NatsUrl& url, natsOptions* options) {
  constexpr const char* kVariable = "ATTUNE_QUEUE_CREDENTIALS_FILE";
  if (const std::string file = VariableOr(kVariable, ""); !file.empty()) {
    ATTUNE_RETURN_IF_ERROR(CheckSecretFile(file, "The credentials of the queue", kVariable));
    const natsStatus status =
        natsOptions_SetUserCredentialsFromFiles(options, file.c_str(), nullptr);
    if (status == NATS_OK) return Status::Ok();
    return FailedPrecondition(fmt::format("The credentials of the queue in '{}' ({}): {}.", file,
                                          kVariable, Said(status)));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string password,
                          PasswordOf("the queue", "ATTUNE_QUEUE_PASSWORD"));
  natsStatus status = NATS_OK;
  if (!url.user.empty()) {
    status = natsOptions_SetUserInfo(options, url.user.c_str(), password.c_str());
  } else if (!password.empty()) {
    status = natsOptions_SetToken(options, password.c_str());
  }
  return status == NATS_OK ? Status::Ok() : Internal(natsStatus_GetText(status));
}

Status SetTls(const NatsUrl& url, natsOptions* options) {
  if (!url.has_tls) return Status::Ok();
  natsStatus status = natsOptions_SetSecure(options, true);
  if (status == NATS_OK && !url.authority_file.empty()) {
    status = natsOptions_LoadCATrustedCertificates(options, url.authority_file.c_str());
  }
  if (status == NATS_OK && !url.certificate_file.empty()) {
    status = natsOptions_LoadCertificatesChain(options, url.certificate_file.c_str(),
                                               url.key_file.c_str());
  }
  if (status == NATS_OK) return Status::Ok();
  return FailedPrecondition(
      fmt::format("Certificates for the queue {} cannot be used: {}.", url.Text(), Said(status)));
}

Status SetOptions(const NatsUrl& url, int64_t patience_ms, natsOptions* options) {
  std::vector<std::string> servers;
  std::vector<const char*> pointers;
  for (const std::string& host : url.hosts) servers.push_back("nats://" + host);
  for (const std::string& server : servers) pointers.push_back(server.c_str());
  const int64_t timeout_ms = std::max<int64_t>(patience_ms / std::ssize(servers), 1);
  for (const natsStatus status :
       {natsOptions_SetServers(options, pointers.data(), static_cast<int>(pointers.size())),
        natsOptions_SetName(options, "attune"), natsOptions_SetTimeout(options, timeout_ms),
        natsOptions_SetMaxReconnect(options, kReconnectForever),
        natsOptions_SetReconnectWait(options, kReconnectWaitMs),
        natsOptions_SetReconnectJitter(options, kReconnectJitterMs, kReconnectJitterMs),
        natsOptions_SetPingInterval(options, kPingMs),
        // attune itself repeats requests that the server may not have seen; the library must not
        // keep them.
        natsOptions_SetFailRequestsOnDisconnect(options, true)}) {
    if (status != NATS_OK) return Internal(natsStatus_GetText(status));
  }
  ATTUNE_RETURN_IF_ERROR(SetTls(url, options));
  return SetCredentials(url, options);
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Open(const NatsUrl& url,
                                                     std::chrono::milliseconds patience,
                                                     std::shared_ptr<OutageLog> outages) {
  natsOptions* made = nullptr;
  if (natsOptions_Create(&made) != NATS_OK) return Internal("NATS options cannot be made.");
  const OptionsHandle options(made);
  ATTUNE_RETURN_IF_ERROR(SetOptions(url, patience.count(), options.get()));
  std::unique_ptr<Connection> opened(
      new Connection(url.Text(), patience, std::move(outages)));  // NOLINT: private.
  natsConnection* connection = nullptr;
  natsStatus status = natsConnection_Connect(&connection, options.get());
  opened->connection_.reset(connection);
  if (status != NATS_OK) return Failed("Connecting", opened->name_, status, jsErrCode{});
  jsCtx* context = nullptr;
  status = natsConnection_JetStream(&context, connection, nullptr);
  opened->context_.reset(context);
  if (status != NATS_OK) return Failed("Connecting", opened->name_, status, jsErrCode{});
  return opened;
}

std::chrono::milliseconds Connection::request_patience() const {
  return std::min(patience_, std::chrono::milliseconds(kRequestMs));
}

void Connection::NoteAway(const Status& why) const {
  if (outages_ != nullptr) outages_->Away(kTheQueue, why.message(), SteadyNowNs());
}

void Connection::NoteThere() const {
  if (outages_ != nullptr) outages_->There(kTheQueue, SteadyNowNs());
}

bool Connection::WaitUntilConnected(std::string_view what, int64_t deadline_ns) const {
  for (;;) {
    const natsConnStatus status = natsConnection_Status(connection_.get());
    if (status == NATS_CONN_STATUS_CONNECTED || status == NATS_CONN_STATUS_CLOSED) return true;
    NoteAway(Failed(what, name_, NATS_CONNECTION_DISCONNECTED, jsErrCode{}));
    if (SteadyNowNs() >= deadline_ns) return false;
    nats_Sleep(kPollMs);
  }
}

Status Connection::Ask(std::string_view what, const Request& request, jsErrCode* code) const {
  const int64_t deadline_ns = SteadyNowNs() + patience_.count() * kNsPerMs;
  natsStatus status = NATS_CONNECTION_DISCONNECTED;
  for (;;) {
    jsErrCode said{};
    if (!WaitUntilConnected(what, deadline_ns)) {
      return Failed(what, name_, NATS_CONNECTION_DISCONNECTED, said);
    }
    const int64_t left_ms = (deadline_ns - SteadyNowNs()) / kNsPerMs;
    status = request(std::clamp<int64_t>(left_ms, 1, kRequestMs), said);
    if (code != nullptr) *code = said;
    if (status == NATS_OK) {
      NoteThere();
      return Status::Ok();
    }
    if (MayPass(status, said)) NoteAway(Failed(what, name_, status, said));
    if (!MayPass(status, said) || SteadyNowNs() + kPollMs * kNsPerMs >= deadline_ns) {
      return Failed(what, name_, status, said);
    }
    nats_Sleep(kPollMs);
  }
}

}  // namespace attune::nats
