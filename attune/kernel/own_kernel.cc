#include "attune/kernel/own_kernel.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/file.h"
#include "attune/kernel/file_place.h"
#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {
namespace {

Expression::Lookup LookupIn(const OwnSizes& sizes, ParameterValue& value) {
  return [&sizes, &value](std::string_view name) -> const ParameterValue* {
    const auto found = sizes.find(name);
    if (found == sizes.end()) return nullptr;
    value = found->second;
    return &value;
  };
}

std::string TextOfSizes(const OwnSizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  }
  return text;
}

Status CheckSizes(const OwnKernel& own, const OwnSizes& sizes) {
  for (const std::string& name : own.sizes) {
    if (sizes.contains(name)) continue;
    return InvalidArgument(
        fmt::format("The size '{}' of kernel {} is missing. It has the sizes {}.", name, own.name,
                    fmt::join(own.sizes, ", ")));
  }
  for (const auto& [name, value] : sizes) {
    if (std::find(own.sizes.begin(), own.sizes.end(), name) == own.sizes.end()) {
      return InvalidArgument(fmt::format("The kernel {} has no size '{}'. It has {}.", own.name,
                                         name, fmt::join(own.sizes, ", ")));
    }
    if (value >= 0 && value <= kMaxOwnElements) continue;
    return InvalidArgument(
        fmt::format("The size '{}' is {}; 0 to {} are possible.", name, value, kMaxOwnElements));
  }
  return Status::Ok();
}

// The error that `expression`, at `place`, is invalid for `sizes`.
Status NoValue(const std::string& place, const Expression& expression, const OwnSizes& sizes,
               std::string_view reason) {
  return InvalidArgument(
      fmt::format("{}: '{}' for {}: {}", place, expression.text(), TextOfSizes(sizes), reason));
}

Result<double> NumberOf(const std::string& place, const Expression& expression,
                        const OwnSizes& sizes) {
  ParameterValue held;
  const auto value = expression.Evaluate(LookupIn(sizes, held));
  if (!value.ok()) return NoValue(place, expression, sizes, value.error().message());
  if (const auto* integer = std::get_if<int64_t>(&*value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&*value)) return *real;
  return NoValue(place, expression, sizes, "This is no number.");
}

Result<OwnBuffer> BufferOf(const std::string& place, const OwnOperand& operand,
                           const OwnSizes& sizes) {
  OwnBuffer buffer{operand.name, operand.role, operand.type, {}, {}};
  for (size_t i = 0; i < operand.shape.size(); ++i) {
    const std::string at = fmt::format("{}/shape/{}", place, i);
    ParameterValue held;
    const auto extent = operand.shape[i].EvaluateInteger(LookupIn(sizes, held));
    if (!extent.ok()) return NoValue(at, operand.shape[i], sizes, extent.error().message());
    if (*extent < 1 || *extent > kMaxOwnElements) {
      return NoValue(at, operand.shape[i], sizes,
                     fmt::format("It is {}; 1 to {} are possible.", *extent, kMaxOwnElements));
    }
    buffer.extents.push_back(*extent);
  }
  buffer.fill.kind = operand.fill;
  if (operand.first.has_value() && operand.second.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(buffer.fill.first, NumberOf(place + "/fill", *operand.first, sizes));
    ATTUNE_ASSIGN_OR_RETURN(buffer.fill.second, NumberOf(place + "/fill", *operand.second, sizes));
  }
  // An output has no fill.
  if (operand.role == OperandRole::kOut) buffer.fill = {};
  if (buffer.fill.kind != BufferFill::Kind::kUniform || buffer.fill.first <= buffer.fill.second) {
    return buffer;
  }
  return InvalidArgument(fmt::format("{}/fill: nothing lies between {} and {} for {}.", place,
                                     buffer.fill.first, buffer.fill.second, TextOfSizes(sizes)));
}

// Checks that `other` has the operands of `file`.
Status CheckSameOperands(const OwnKernel& own, const OwnKernel& other) {
  const auto is_same = [](const OwnOperand& a, const OwnOperand& b) {
    return a.name == b.name && a.role == b.role && a.type == b.type;
  };
  if (own.operands.size() != other.operands.size() ||
      !std::equal(own.operands.begin(), own.operands.end(), other.operands.begin(), is_same)) {
    return InvalidArgument("its operands differ in name, type, access or order.");
  }
  for (const std::string& size : other.sizes) {
    if (std::find(own.sizes.begin(), own.sizes.end(), size) != own.sizes.end()) continue;
    return InvalidArgument(fmt::format("it reads the size '{}', which this kernel has not.", size));
  }
  return Status::Ok();
}

// The same source with the config and the launches of the reference.
KernelFile SameSource(const KernelFile& file) {
  KernelFile derived = file;
  if (file.own->reference.config->empty() && file.own->reference.launches.empty()) return derived;
  for (Parameter& parameter : derived.parameters) {
    parameter.values = {file.own->reference.config->at(parameter.name)};
  }
  derived.constraints.clear();
  derived.constraint_places.clear();
  derived.cost.reset();
  if (!file.own->reference.launches.empty()) derived.launches = file.own->reference.launches;
  return derived;
}

// Children find the file by ATTUNE_KERNEL_PATH, which is divided at each ':'.
Status CheckPathCanBeListed(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::string absolute = std::filesystem::absolute(path, ignored).string();
  if (absolute.find(':') == std::string::npos) return Status::Ok();
  return InvalidArgument(
      fmt::format("The path of '{}' has a ':', which divides the list ATTUNE_KERNEL_PATH, where "
                  "other processes look for the file. Rename the folder, or link to it.",
                  absolute));
}

}  // namespace

Result<OwnSizes> ParseSizes(const std::string& text) {
  OwnSizes sizes;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    const size_t equals = std::min(part.find('='), part.size());
    int64_t value = 0;
    const char* const last = part.data() + part.size();
    const char* const first = std::min(part.data() + equals + 1, last);
    const auto [stop, error] = std::from_chars(first, last, value);
    if (equals == 0 || error != std::errc() || stop != last) {
      return InvalidArgument(
          fmt::format("'{}' is no size: sizes are written as m=4096,n=4096.", part));
    }
    if (!sizes.emplace(part.substr(0, equals), value).second) {
      return InvalidArgument(fmt::format("The size '{}' stands twice.", part.substr(0, equals)));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return sizes;
}

Result<Problem> MakeOwnProblem(const KernelFile& file, const OwnSizes& sizes) {
  const OwnKernel& own = *file.own;
  ATTUNE_RETURN_IF_ERROR(CheckSizes(own, sizes));
  OwnKernelProblem problem;
  problem.name = own.name;
  problem.content = own.content;
  problem.sizes = sizes;
  problem.absolute_tolerance = own.absolute_tolerance;
  problem.relative_tolerance = own.relative_tolerance;
  for (const OwnOperand& operand : own.operands) {
    ATTUNE_ASSIGN_OR_RETURN(
        OwnBuffer buffer,
        BufferOf(fmt::format("/operands/{}", operand.index_in_file), operand, sizes));
    problem.buffers.push_back(std::move(buffer));
  }
  ATTUNE_RETURN_IF_ERROR(Validate(problem));
  return ToProblem(problem);
}

Result<std::unique_ptr<KernelFile>> LoadReference(const std::filesystem::path& path,
                                                  KernelFile& file) {
  OwnKernel& own = *file.own;
  std::unique_ptr<KernelFile> reference;
  if (own.reference.config.has_value()) reference = std::make_unique<KernelFile>(SameSource(file));
  if (!own.reference.file.empty()) {
    const std::filesystem::path other = path.parent_path() / own.reference.file;
    auto loaded = LoadKernelFile(other, file.language);
    ATTUNE_ASSIGN_OR_RETURN(const std::string json, ReadFileAtOnce(path));
    const std::string place = PathAt(path, json, "/reference/kernel") + ": /reference/kernel";
    if (!loaded.ok()) return loaded.error().WithContext(place);
    if (!loaded->own.has_value()) {
      return InvalidArgument(
          fmt::format("{}: {} is not of the operator kernel.", place, other.string()));
    }
    const Status same = CheckSameOperands(own, *loaded->own);
    if (!same.ok()) return same.WithContext(fmt::format("{}: {}", place, other.string()));
    own.content = FingerprintOf(own.content.ToHex() + loaded->own->content.ToHex());
    file.read_files.insert(file.read_files.end(), loaded->read_files.begin(),
                           loaded->read_files.end());
    reference = std::make_unique<KernelFile>(*std::move(loaded));
  }
  if (!own.reference.program.empty()) {
    // Scripts of an interpreter are arguments: each that is a file counts.
    for (const std::string& word : own.reference.program) {
      const std::filesystem::path read = path.parent_path() / word;
      const auto content = ReadFileAtOnce(read);
      if (!content.ok()) continue;
      own.content = FingerprintOf(own.content.ToHex() + FingerprintOf(*content).ToHex());
      file.read_files.push_back(read);
    }
  }
  file.content = FingerprintOf(file.content.ToHex() + own.content.ToHex());
  if (reference == nullptr) return reference;
  reference->name = fmt::format("{}{}", own.name, kReferenceSuffix);
  reference->own->name = own.name;
  reference->own->content = own.content;
  reference->own->is_reference = true;
  reference->content = file.content;
  return reference;
}

Result<KernelFile> LoadOwnKernel(const std::filesystem::path& path, const std::string& backend) {
  ATTUNE_RETURN_IF_ERROR(CheckPathCanBeListed(path));
  const bool is_cuda = backend == Name(KernelLanguage::kCuda);
  ATTUNE_ASSIGN_OR_RETURN(KernelFile file, LoadKernelFile(path, is_cuda ? KernelLanguage::kCuda
                                                                        : KernelLanguage::kOpenCl));
  if (!file.own.has_value()) {
    return InvalidArgument(
        fmt::format("{} computes {}, which attune knows: put its folder into ATTUNE_KERNEL_PATH "
                    "and name problems of that operator.",
                    path.string(), file.operator_name));
  }
  ATTUNE_RETURN_IF_ERROR(LoadReference(path, file).status());
  return file;
}

Result<KernelFile> LoadOwnKernel(const std::filesystem::path& path) {
  Status other = Status::Ok();
  for (const KernelLanguage language : kKernelLanguages) {
    auto file = LoadOwnKernel(path, std::string(Name(language)));
    if (file.ok() || file.error().code() != StatusCode::kUnsupported) return file;
    other = file.error();
  }
  return other;
}

}  // namespace attune::kernel
