// A connection to NATS with JetStream, and what is said when it fails.
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

// Thread-safe. The library makes a lost connection again by itself.
class Connection {
 public:
  // One request to a server within `wait_ms`, which is positive. Sets `code` if JetStream said why
  // it failed.
  using Request = std::function<natsStatus(int64_t wait_ms, jsErrCode& code)>;

  // Fails as OpenNatsQueue() does. Credentials are those of this process. `outages` as in
  // NatsQueueOptions.
  static Result<std::unique_ptr<Connection>> Open(const NatsUrl& url,
                                                  std::chrono::milliseconds patience,
                                                  std::shared_ptr<OutageLog> outages = nullptr);

  natsConnection* get() const { return connection_.get(); }
  jsCtx* context() const { return context_.get(); }
  // Of the URL, without a password.
  const std::string& name() const { return name_; }
  // Of one request, before it is made again.
  std::chrono::milliseconds request_patience() const;

  // Makes `request` until it succeeds or fails for good; while the server is away or busy again,
  // for up to the patience. `request` has to do no harm when it is made twice. kUnavailable says
  // "`what` failed" and why. `code`, if given, is what JetStream said last, 0 for nothing.
  Status Ask(std::string_view what, const Request& request, jsErrCode* code = nullptr) const;

 private:
  Connection(std::string name, std::chrono::milliseconds patience,
             std::shared_ptr<OutageLog> outages)
      : name_(std::move(name)), patience_(patience), outages_(std::move(outages)) {}
  bool WaitUntilConnected(std::string_view what, int64_t deadline_ns) const;
  // Tells what came of an attempt.
  void NoteAway(const Status& why) const;
  void NoteThere() const;

  const std::string name_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<OutageLog> outages_;  // NatsQueueOptions::outages.
  ConnectionHandle connection_;
  ContextHandle context_;
};

}  // namespace attune::nats
