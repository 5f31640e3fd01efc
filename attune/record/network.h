// The network that a list of problems came from, for reporting the effect of tuning on the whole
// network.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Names and versions are free text: there is no list of valid ones.
struct Network {
  std::string model;  // "Resnet50"; never empty.
  std::string model_version;
  std::string framework;  // "Pytorch"; empty if it does not matter.
  std::string framework_version;

  friend bool operator==(const Network&, const Network&) = default;
};

// `model:version@framework:version`. Empty parts are left out with their separator, the rest is
// escaped as in Target: "Resnet50:1@Pytorch:1.13", "Resnet50".
std::string Text(const Network& network);
Result<Network> ParseNetwork(std::string_view text);

// A network in a user's notation: `NAME` or `NAME:VERSION` of the model, and the same of the
// framework, which may be empty. The last colon divides: a name with colons and without a version
// needs a colon at its end. kInvalidArgument for an empty name, and for names that are too long.
Result<Network> NetworkOf(std::string_view model, std::string_view framework);

// One of the two as NetworkOf reads it.
std::string NameAndVersion(std::string_view name, std::string_view version);

inline constexpr size_t kMaxNetworkBytes = 255;  // Limit for Text.

}  // namespace attune
