#include "attune/kernel/data_file.h"

#include <cstring>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/gzip.h"
#include "attune/kernel/kernel_library.h"
#include "attune/kernel/own_kernel.h"

namespace attune::kernel {
namespace {

constexpr std::string_view kPackedEnding = ".gz";

// The kernel file that `problem` is of, in any language, as LoadReference leaves it.
Result<KernelFile> FileOf(const OwnKernelProblem& problem, std::filesystem::path& path) {
  Status closest = Status::Ok();
  for (const std::filesystem::path& candidate : ChosenKernelFiles()) {
    for (const KernelLanguage language : kKernelLanguages) {
      auto file = LoadKernelFile(candidate, language);
      if (!file.ok() || !file->own.has_value() || file->own->name != problem.name) continue;
      if (const auto loaded = LoadReference(candidate, *file); !loaded.ok()) {
        closest = loaded.error();
        continue;
      }
      if (file->own->content != problem.content) continue;
      path = candidate;
      return file;
    }
  }
  if (!closest.ok()) return closest;
  return NotFound(
      fmt::format("No kernel file here has the data of kernel {}. Name it by --kernel or in "
                  "ATTUNE_KERNEL_PATH, as it was when the problem was made.",
                  problem.name));
}

}  // namespace

Result<std::string> ReadDataFile(const std::filesystem::path& folder, const DataFile& file,
                                 size_t size_bytes) {
  const std::filesystem::path path = folder / file.path;
  const auto damaged = [&](const std::string& what) {
    return DataLoss(
        fmt::format("The data file '{}' {}. Capture the launch again.", path.string(), what));
  };
  if (size_bytes > kMaxDataBytes) {
    return ResourceExhausted(fmt::format("The data file '{}' would have {} bytes; {} are read.",
                                         path.string(), size_bytes, kMaxDataBytes));
  }
  // gzip enlarges incompressible data a little.
  const size_t most_bytes = size_bytes + size_bytes / 64 + 4096;
  auto read = ReadFileAtOnce(path, most_bytes);
  if (!read.ok() && read.error().code() == StatusCode::kResourceExhausted) {
    return damaged(
        fmt::format("has more than {} bytes, where {} were captured", most_bytes, size_bytes));
  }
  ATTUNE_ASSIGN_OR_RETURN(std::string bytes, std::move(read));
  if (file.path.ends_with(kPackedEnding)) {
    if (!IsGzip(bytes)) return damaged("is not packed by gzip");
    auto content = Gunzip(bytes, size_bytes);
    if (!content.ok()) {
      return damaged(fmt::format("cannot be unpacked ({})", content.error().message()));
    }
    bytes = *std::move(content);
  }
  if (bytes.size() != size_bytes) {
    return damaged(fmt::format("holds {} bytes, and the operand has {} with these sizes",
                               bytes.size(), size_bytes));
  }
  if (FingerprintOf(bytes) != file.hash) {
    return damaged(fmt::format("holds other bytes than were written: their hash is {}, not {}",
                               FingerprintOf(bytes).ToHex(), file.hash.ToHex()));
  }
  return bytes;
}

Status ReadOwnData(const OwnKernelProblem& problem, size_t i, std::span<std::byte> memory) {
  std::filesystem::path path;
  ATTUNE_ASSIGN_OR_RETURN(const KernelFile file, FileOf(problem, path));
  const OwnOperand& operand = file.own->operands.at(i);
  if (!operand.data.has_value()) {
    return Internal(
        fmt::format("Operand {} of kernel {} has no data file.", operand.name, problem.name));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string bytes,
                          ReadDataFile(path.parent_path(), *operand.data, memory.size()));
  std::memcpy(memory.data(), bytes.data(), bytes.size());
  return Status::Ok();
}

}  // namespace attune::kernel
