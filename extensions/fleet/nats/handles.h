// Owning handles for the objects of nats.c.
#pragma once

#include <memory>

#include <nats/nats.h>

namespace attune::nats {

template <auto destroy>
struct Destroyer {
  void operator()(auto* handle) const { destroy(handle); }
};

using OptionsHandle = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using ConnectionHandle = std::unique_ptr<natsConnection, Destroyer<natsConnection_Destroy>>;
using ContextHandle = std::unique_ptr<jsCtx, Destroyer<jsCtx_Destroy>>;
using SubscriptionHandle = std::unique_ptr<natsSubscription, Destroyer<natsSubscription_Destroy>>;
using MessageHandle = std::unique_ptr<natsMsg, Destroyer<natsMsg_Destroy>>;
using StreamInfoHandle = std::unique_ptr<jsStreamInfo, Destroyer<jsStreamInfo_Destroy>>;
using ConsumerInfoHandle = std::unique_ptr<jsConsumerInfo, Destroyer<jsConsumerInfo_Destroy>>;
using PublishedHandle = std::unique_ptr<jsPubAck, Destroyer<jsPubAck_Destroy>>;
using DeliveryDataHandle = std::unique_ptr<jsMsgMetaData, Destroyer<jsMsgMetaData_Destroy>>;

}  // namespace attune::nats
