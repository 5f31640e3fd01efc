#include "attune/record/network.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/problem/escaping.h"

namespace attune {
namespace {

// "name" or "name:version", escaped.
std::string PartText(const std::string& name, const std::string& version) {
  return version.empty() ? Escaped(name) : fmt::format("{}:{}", Escaped(name), Escaped(version));
}

std::pair<std::string_view, std::string_view> SplitAt(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

// Names may contain colons, "meta:llama:3".
std::pair<std::string_view, std::string_view> SplitAtLastColon(std::string_view text) {
  const size_t at = text.rfind(':');
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

// The two halves of a part; nothing if one is malformed, or the name is empty.
std::optional<std::pair<std::string, std::string>> ParsePart(std::string_view part) {
  const auto [name, version] = SplitAt(part, ':');
  const auto plain_name = Unescaped(name);
  const auto plain_version = Unescaped(version);
  if (!plain_name || !plain_version || plain_name->empty()) return std::nullopt;
  return std::pair(*plain_name, *plain_version);
}

}  // namespace

std::string Text(const Network& network) {
  const std::string model = PartText(network.model, network.model_version);
  if (network.framework.empty()) return model;
  return fmt::format("{}@{}", model, PartText(network.framework, network.framework_version));
}

Result<Network> ParseNetwork(std::string_view text) {
  const auto [model, framework] = SplitAt(text, '@');
  const auto of_model = ParsePart(model);
  const auto of_framework =
      framework.empty() ? std::pair<std::string, std::string>() : ParsePart(framework);
  if (!of_model || !of_framework) {
    return InvalidArgument(fmt::format(
        "'{}' is no network: it has to be MODEL:VERSION@FRAMEWORK:VERSION, of which only "
        "the model must be there.",
        text));
  }
  Network network{of_model->first, of_model->second, of_framework->first, of_framework->second};
  // A second text of a network would become a second row of it.
  if (Text(network) == text) return network;
  return InvalidArgument(
      fmt::format("'{}' is not how the network {} is written.", text, Text(network)));
}

std::string NameAndVersion(std::string_view name, std::string_view version) {
  const bool needs_colon = !version.empty() || name.find(':') != std::string_view::npos;
  return needs_colon ? fmt::format("{}:{}", name, version) : std::string(name);
}

Result<Network> NetworkOf(std::string_view model, std::string_view framework) {
  const auto [model_name, model_version] = SplitAtLastColon(model);
  const auto [framework_name, framework_version] = SplitAtLastColon(framework);
  if (model_name.empty() || (framework_name.empty() && !framework.empty())) {
    return InvalidArgument(fmt::format("'{}' names no {}: write NAME or NAME:VERSION.",
                                       Excerpt(model_name.empty() ? model : framework),
                                       model_name.empty() ? "model" : "framework"));
  }
  Network network{std::string(model_name), std::string(model_version), std::string(framework_name),
                  std::string(framework_version)};
  if (const size_t bytes = Text(network).size(); bytes > kMaxNetworkBytes) {
    return InvalidArgument(fmt::format(
        "The names and versions of model '{}' and framework '{}' take {} bytes; at most "
        "{} are kept.",
        Excerpt(model), Excerpt(framework), bytes, kMaxNetworkBytes));
  }
  return network;
}

}  // namespace attune
