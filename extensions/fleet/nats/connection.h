// A connection to NATS with JetStream, and its error messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "extensions/fleet/nats/handles.h"
#include "extensions/fleet/nats/nats_url.h"

namespace attune::nats {

// Thread-safe. The library re-establishes a lost connection by itself.
class Connection {
 public:
  // One request to a server within `wait_ms`, which is positive. Sets `code` if JetStream gave the
  // reason for a failure.
  using Request = std::function<natsStatus(int64_t wait_ms, jsErrCode& code)>;

  // Fails as OpenNatsQueue() does. Uses the credentials of this process. `outages` as in
  // NatsQueueOptions.
  static Result<std::unique_ptr<Connection>> Open(const NatsUrl& url,
                                                  std::chrono::milliseconds patience,
                                                  std::shared_ptr<OutageLog> outages = nullptr);

  natsConnection* get() const { return connection_.get(); }
  jsCtx* context() const { return context_.get(); }
  // The URL without a password.
  const std::string& name() const { return name_; }
  // The time limit of one request, after which it is made again.
  std::chrono::milliseconds request_patience() const;

  // Makes `request` until it succeeds or fails for good. Repeats it for up to the patience while
  // the server is away or busy, so `request` must be harmless when made twice. kUnavailable says
  // "`what` failed" and why. `code`, if given, becomes JetStream's last code, 0 for none.
  Status Ask(std::string_view what, const Request& request, jsErrCode* code = nullptr) const;

 private:
  Connection(std::string name, std::chrono::milliseconds patience,
             std::shared_ptr<OutageLog> outages)
      : name_(std::move(name)), patience_(patience), outages_(std::move(outages)) {}
  bool WaitUntilConnected(std::string_view what, int64_t deadline_ns) const;
  // Report the result of an attempt to the outage log.
  void NoteAway(const Status& why) const;
  void NoteThere() const;

  const std::string name_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<OutageLog> outages_;  // NatsQueueOptions::outages.
  ConnectionHandle connection_;
  ContextHandle context_;
};

}  // namespace attune::nats
