// The bytes of one entry of a folder of kernels (docs/formats/kernel_cache.md). Private to this
// module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attune/base/fingerprint.h"

namespace attune {

inline constexpr std::string_view kKernelSuffix = ".kernel";

std::string EncodeKernelHeader(const Fingerprint& key, std::string_view payload);
// The payload of an intact entry of `key`.
std::optional<std::string> DecodeKernelEntry(const Fingerprint& key, std::string content);

}  // namespace attune
