#include "attune/kernel/capture/capture_call.h"

#include <utility>

#include <fmt/format.h>

namespace attune::capture {
namespace {

constexpr size_t kMostDimensions = 3;

Status CheckDescription(const LaunchDescription& description) {
  const size_t dimensions = description.local.size();
  if (dimensions < 1 || dimensions > kMostDimensions || description.groups.size() != dimensions) {
    return InvalidArgument(fmt::format(
        "The launch of {} has {} sizes of work-groups and {} numbers of them; both have one to {}.",
        description.function, dimensions, description.groups.size(), kMostDimensions));
  }
  for (size_t i = 0; i < dimensions; ++i) {
    if (description.local[i] > 0 && description.groups[i] > 0) continue;
    return InvalidArgument(fmt::format("The launch of {} has no work-items in dimension {}.",
                                       description.function, i));
  }
  return Status::Ok();
}

// The content of every buffer; empty for other arguments.
Result<std::vector<std::string>> ReadBuffers(const LaunchDescription& description) {
  std::vector<std::string> contents;
  for (size_t i = 0; i < description.arguments.size(); ++i) {
    const LaunchArgument& argument = description.arguments[i];
    std::string& content = contents.emplace_back();
    if (argument.kind != LaunchArgument::Kind::kBuffer) continue;
    content.resize(argument.size_bytes);
    const Status read = argument.read(content.data());
    if (!read.ok()) {
      return read.WithContext(fmt::format("Reading argument {} of {}", i, description.function));
    }
  }
  return contents;
}

CapturedLaunch LaunchOf(const LaunchDescription& description) {
  CapturedLaunch launch;
  launch.language = description.language;
  launch.function = description.function;
  launch.source = description.source;
  launch.options = description.options;
  launch.device = "its own device";
  std::error_code ignored;
  launch.folder = std::filesystem::current_path(ignored).string();
  launch.number = 1;
  launch.geometry.dimensions = static_cast<uint32_t>(description.local.size());
  launch.geometry.shared_bytes = description.shared_bytes;
  for (size_t i = 0; i < kMostDimensions; ++i) {
    const bool is_used = i < description.local.size();
    launch.geometry.local[i] = is_used ? description.local[i] : 1;
    launch.geometry.global[i] = is_used ? description.local[i] * description.groups[i] : 1;
  }
  for (const LaunchArgument& argument : description.arguments) {
    CapturedArgument& told = launch.arguments.emplace_back();
    told.told.size_bytes = argument.size_bytes;
    told.value = argument.value;
    if (argument.kind == LaunchArgument::Kind::kBuffer) {
      told.told.kind = SpoolArgumentKind::kBuffer;
    } else if (argument.kind == LaunchArgument::Kind::kLocal) {
      told.told.kind = SpoolArgumentKind::kNull;
    }
  }
  return launch;
}

}  // namespace

LaunchArgument BufferOf(size_t size_bytes, BufferReader read) {
  return {LaunchArgument::Kind::kBuffer, size_bytes, "", std::move(read)};
}

LaunchArgument LocalOf(size_t size_bytes) {
  return {LaunchArgument::Kind::kLocal, size_bytes, "", {}};
}

Result<WrittenKernel> CaptureLaunch(const LaunchDescription& description,
                                    const std::function<Status()>& launch,
                                    const std::filesystem::path& out) {
  ATTUNE_RETURN_IF_ERROR(CheckDescription(description));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> before, ReadBuffers(description));
  ATTUNE_RETURN_IF_ERROR(launch());
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> after, ReadBuffers(description));
  CapturedLaunch captured = LaunchOf(description);
  bool is_changed = false;
  for (size_t i = 0; i < before.size(); ++i) {
    captured.arguments[i].before = before[i];
    if (before[i] == after[i]) continue;
    captured.arguments[i].after = after[i];
    is_changed = true;
  }
  if (!is_changed) {
    return FailedPrecondition(
        fmt::format("The launch of {} changed no buffer, so that there is nothing to check.",
                    description.function));
  }
  auto written = WriteCapture(captured, out);
  if (written.ok()) return written;
  return written.error().WithContext("The launch of " + description.function);
}

}  // namespace attune::capture
