#include "attune/kernel/capture/capture_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"
#include "attune/kernel/capture/captured_kernel.h"
#include "attune/kernel/capture/new_folder.h"

namespace attune::capture {
namespace {

namespace fs = std::filesystem;

constexpr int kMostOfOneName = 10000;
constexpr size_t kMaxEventsBytes = 16 << 20;
// 256 GiB: the buffers of a launch fit in the memory of a device, and no device has more.
constexpr size_t kMaxLaunchBytes = size_t{1} << 38;

Status WritePrivateFile(const fs::path& path, std::string_view content) {
  const UniqueFd fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!fd.valid()) return SystemError("create", path);
  return WriteAll(fd.get(), content, path);
}

uint64_t DataBytesOf(const CapturedLaunch& launch) {
  uint64_t bytes = 0;
  for (const CapturedArgument& argument : launch.arguments) bytes += argument.before.size();
  return bytes;
}

// The first free name of NAME, NAME-2, ...
std::string FreeName(const fs::path& out, const std::string& base) {
  std::error_code ignored;
  std::string name = base;
  for (int i = 2; i < kMostOfOneName && fs::exists(fs::symlink_status(out / name, ignored)); ++i) {
    name = fmt::format("{}-{}", base, i);
  }
  return name;
}

void ReadEvents(const fs::path& path, CaptureReport& report) {
  const auto text = ReadFileAtOnce(path, kMaxEventsBytes);
  if (!text.ok()) return;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    const size_t first = line.find('\t');
    const size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string kernel(line.substr(0, first));
    const std::string_view word = line.substr(first + 1, second - first - 1);
    const std::string_view content = line.substr(second + 1);
    if (word == kRefused) {
      report.refused.push_back({kernel, std::string(content)});
    } else if (word == kLaunches) {
      uint64_t count = 0;
      std::from_chars(content.data(), content.data() + content.size(), count);
      report.launches[kernel] += count;
    }
  }
}

Result<std::string> ReadLaunchFile(const fs::path& path) {
  const UniqueFd fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.valid()) return SystemError("open", path);
  return ReadAll(fd.get(), path, kMaxLaunchBytes);
}

void ReadOneLaunch(const fs::path& path, const fs::path& out, std::set<uint64_t>& shapes,
                   CaptureReport& report) {
  // Do not map the file: the captured program may still write to it.
  const auto content = ReadLaunchFile(path);
  const auto launch = content.ok() ? ReadLaunch(*content) : Result<CapturedLaunch>(content.error());
  if (!launch.ok()) {
    report.refused.push_back({"", launch.error().message()});
    return;
  }
  // Another process of the program launched the same.
  if (!shapes.insert(ShapeOf(*launch)).second) return;
  auto written = WriteCapture(*launch, out);
  if (written.ok()) {
    report.written.push_back(*std::move(written));
  } else {
    report.refused.push_back({launch->function, written.error().message()});
  }
}

void LeaveOutRepeated(std::vector<RefusedLaunch>& refused) {
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(refused, [&](const RefusedLaunch& launch) {
    return !seen.emplace(launch.kernel, launch.reason).second;
  });
}

}  // namespace

Result<WrittenKernel> WriteCapture(const CapturedLaunch& launch, const fs::path& out) {
  const std::string base = KernelNameOf(launch.function);
  WrittenKernel written;
  written.kernel = launch.function;
  written.number = launch.number;
  written.data_bytes = DataBytesOf(launch);
  for (int i = 0; i < kMostOfOneName; ++i) {
    const std::string name = FreeName(out, base);
    ATTUNE_ASSIGN_OR_RETURN(CapturedKernel kernel, MakeCapturedKernel(launch, name));
    ATTUNE_ASSIGN_OR_RETURN(const auto folder, NewFolder::Make(out, ".capturing"));
    const std::string file = name + ".json";
    kernel.files[file] = kernel.json;
    written.packed_bytes = 0;
    for (const auto& [path, content] : kernel.files) {
      ATTUNE_RETURN_IF_ERROR(WritePrivateFile(folder->path() / path, content));
      written.packed_bytes += content.size();
    }
    ATTUNE_ASSIGN_OR_RETURN(const bool is_taken, folder->Take(out / name));
    if (!is_taken) continue;
    written.path = out / name / file;
    written.notes = std::move(kernel.notes);
    return written;
  }
  return ResourceExhausted(
      fmt::format("There are too many folders '{}-...' in '{}'.", base, out.string()));
}

CaptureReport WriteCaptures(const fs::path& spool, const fs::path& out) {
  CaptureReport report;
  std::vector<std::pair<fs::file_time_type, fs::path>> launches;
  std::error_code error;
  for (fs::directory_iterator it(spool, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const fs::path path = it->path();
    if (path.extension() == kEventsEnding) ReadEvents(path, report);
    if (path.extension() == kLaunchEnding) {
      launches.emplace_back(fs::last_write_time(path, ignored), path);
    }
  }
  if (error) {
    report.refused.push_back(
        {"", fmt::format("Cannot read the folder '{}': {}.", spool.string(), error.message())});
  }
  std::sort(launches.begin(), launches.end());
  std::set<uint64_t> shapes;
  for (const auto& [time, path] : launches) ReadOneLaunch(path, out, shapes, report);
  LeaveOutRepeated(report.refused);
  return report;
}

}  // namespace attune::capture
