// The network that a list of problems came from, so that the effect of tuning on all of it can be
// told.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Names and versions are free text: nobody keeps a list of them.
struct Network {
  std::string model;  // "Resnet50"; never empty.
  std::string model_version;
  std::string framework;  // "Pytorch"; empty if it does not matter.
  std::string framework_version;

  friend bool operator==(const Network&, const Network&) = default;
};

// `model:version@framework:version`, empty parts left out with what stands before them, the rest
// escaped as in Target: "Resnet50:1@Pytorch:1.13", "Resnet50".
std::string Text(const Network& network);
Result<Network> ParseNetwork(std::string_view text);

// A network as people name it: `NAME` or `NAME:VERSION` of the model, and the same of the
// framework, which may be empty. The last colon divides: a name that has some and no version is
// followed by one more. kInvalidArgument for an empty name, and for names that are too long to be
// kept.
Result<Network> NetworkOf(std::string_view model, std::string_view framework);

// One of the two as NetworkOf reads it.
std::string NameAndVersion(std::string_view name, std::string_view version);

inline constexpr size_t kMaxNetworkBytes = 255;  // Of Text.

}  // namespace attune
