#include "attune/problem/own_kernel.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/problem/text_error.h"

namespace attune {
namespace {

constexpr size_t kMaxNameBytes = 48;
constexpr size_t kMaxIdentifierBytes = 64;

constexpr std::pair<BufferFill::Kind, std::string_view> kFillNames[] = {
    {BufferFill::Kind::kUniform, "uniform"},
    {BufferFill::Kind::kNormal, "normal"},
    {BufferFill::Kind::kConstant, "constant"},
    {BufferFill::Kind::kIota, "iota"},
    {BufferFill::Kind::kFile, "file"}};

constexpr std::pair<OperandRole, std::string_view> kRoleNames[] = {
    {OperandRole::kIn, "in"}, {OperandRole::kOut, "out"}, {OperandRole::kInOut, "inout"}};

bool IsIdentifier(std::string_view name) {
  if (name.empty() || name.size() > kMaxIdentifierBytes) return false;
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return is_letter(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9');
         });
}

bool IsKernelName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

// Blanks divide words.
std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

template <class T>
std::optional<T> Number(std::string_view word) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string TextOfExtents(const std::vector<int64_t>& extents) {
  std::string text;
  for (const int64_t extent : extents) text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
  return text;
}

std::string TextOfBuffer(const OwnBuffer& buffer) {
  std::string_view role;
  for (const auto& [known, name] : kRoleNames) {
    if (known == buffer.role) role = name;
  }
  std::string text = fmt::format("{} {} {} {}", buffer.name, role, Name(buffer.type),
                                 TextOfExtents(buffer.extents));
  if (buffer.role == OperandRole::kOut) return text;
  return fmt::format("{} {} {} {}", text, Name(buffer.fill.kind), buffer.fill.first,
                     buffer.fill.second);
}

std::optional<std::vector<int64_t>> ReadExtents(std::string_view text) {
  std::vector<int64_t> extents;
  while (true) {
    const size_t end = std::min(text.find('x'), text.size());
    const auto extent = Number<int64_t>(text.substr(0, end));
    if (!extent.has_value() || extents.size() == kMaxOwnDimensions) return std::nullopt;
    extents.push_back(*extent);
    if (end == text.size()) return extents;
    text.remove_prefix(end + 1);
  }
}

// Reads one buffer from the front of `words`, and takes it off.
std::optional<OwnBuffer> ReadBuffer(std::vector<std::string_view>& words) {
  if (words.size() < 4) return std::nullopt;
  OwnBuffer buffer;
  buffer.name = std::string(words[0]);
  const auto role = std::find_if(std::begin(kRoleNames), std::end(kRoleNames),
                                 [&](const auto& entry) { return entry.second == words[1]; });
  const auto type = ParseDataType(words[2]);
  auto extents = ReadExtents(words[3]);
  if (role == std::end(kRoleNames) || !type.has_value() || !extents.has_value()) {
    return std::nullopt;
  }
  buffer.role = role->first;
  buffer.type = *type;
  buffer.extents = *std::move(extents);
  size_t taken = 4;
  if (buffer.role != OperandRole::kOut) {
    if (words.size() < 7) return std::nullopt;
    const auto kind = ParseFillKind(words[4]);
    const auto first = Number<double>(words[5]);
    const auto second = Number<double>(words[6]);
    if (!kind.has_value() || !first.has_value() || !second.has_value()) return std::nullopt;
    buffer.fill = {*kind, *first, *second};
    taken = 7;
  }
  words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(taken));
  return buffer;
}

Result<std::vector<OwnBuffer>> ReadBuffers(std::string_view text) {
  std::vector<OwnBuffer> buffers;
  std::vector<std::string_view> words = Words(text);
  while (!words.empty()) {
    auto buffer = ReadBuffer(words);
    if (!buffer.has_value()) {
      return InvalidArgument(
          fmt::format("Operand {} of {} is none: NAME, in, out or inout, a type, extents as 4x4, "
                      "and unless it is only written how it is filled with two numbers.",
                      buffers.size() + 1, Quoted(text)));
    }
    buffers.push_back(*std::move(buffer));
    if (buffers.size() > kMaxOwnBuffers) break;
  }
  return buffers;
}

Status CheckBuffer(const OwnBuffer& buffer) {
  if (!IsIdentifier(buffer.name)) {
    return InvalidArgument(
        fmt::format("{} cannot be the name of an operand.", Quoted(buffer.name)));
  }
  if (buffer.extents.empty() || buffer.extents.size() > kMaxOwnDimensions) {
    return InvalidArgument(fmt::format("Operand {} has {} dimensions; 1 to {} are possible.",
                                       buffer.name, buffer.extents.size(), kMaxOwnDimensions));
  }
  int64_t elements = 1;
  for (const int64_t extent : buffer.extents) {
    if (extent < 1 || extent > kMaxOwnElements / elements) {
      return InvalidArgument(
          fmt::format("Operand {} is {}; extents are from 1, and all elements together at most {}.",
                      buffer.name, TextOfExtents(buffer.extents), kMaxOwnElements));
    }
    elements *= extent;
  }
  if (std::isfinite(buffer.fill.first) && std::isfinite(buffer.fill.second)) return Status::Ok();
  return InvalidArgument(fmt::format("What operand {} is filled with is not finite.", buffer.name));
}

Status CheckBuffers(const std::vector<OwnBuffer>& buffers) {
  if (buffers.empty() || buffers.size() > kMaxOwnBuffers) {
    return InvalidArgument(fmt::format("There are {} operands; 1 to {} are possible.",
                                       buffers.size(), kMaxOwnBuffers));
  }
  bool has_output = false;
  for (size_t i = 0; i < buffers.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(CheckBuffer(buffers[i]));
    const bool is_output = buffers[i].role != OperandRole::kIn;
    if (has_output && !is_output) {
      return InvalidArgument(fmt::format(
          "Operand {} is only read and comes after one that is written.", buffers[i].name));
    }
    has_output = has_output || is_output;
    for (size_t j = 0; j < i; ++j) {
      if (buffers[j].name == buffers[i].name) {
        return InvalidArgument(fmt::format("There are two operands {}.", buffers[i].name));
      }
    }
  }
  if (has_output) return Status::Ok();
  return InvalidArgument("No operand is written, so that there is nothing to check.");
}

Result<std::map<std::string, int64_t, std::less<>>> ReadSizes(std::string_view text) {
  std::map<std::string, int64_t, std::less<>> sizes;
  const std::vector<std::string_view> words = Words(text);
  for (size_t i = 0; i < words.size(); i += 2) {
    const auto value = i + 1 < words.size() ? Number<int64_t>(words[i + 1]) : std::nullopt;
    if (!value.has_value() || !sizes.emplace(words[i], *value).second) {
      return InvalidArgument(fmt::format(
          "{} are no sizes: pairs of a name and an integer, each name once.", Quoted(text)));
    }
  }
  return sizes;
}

Result<std::string> AttributeOf(const OtherOp& other, const char* key) {
  const auto found = other.attributes.find(key);
  if (found != other.attributes.end()) return found->second;
  return InvalidArgument(
      fmt::format("A problem of operator {} needs the key '{}'.", kOwnKernelOperator, key));
}

Result<OwnKernelProblem> Read(const OtherOp& other) {
  OwnKernelProblem own;
  ATTUNE_ASSIGN_OR_RETURN(own.name, AttributeOf(other, "name"));
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, AttributeOf(other, "content"));
  const auto fingerprint = Fingerprint::FromHex(content);
  if (!fingerprint.has_value()) {
    return InvalidArgument(fmt::format("The content {} is no hash.", Quoted(content)));
  }
  own.content = *fingerprint;
  ATTUNE_ASSIGN_OR_RETURN(const std::string sizes, AttributeOf(other, "sizes"));
  ATTUNE_ASSIGN_OR_RETURN(own.sizes, ReadSizes(sizes));
  ATTUNE_ASSIGN_OR_RETURN(const std::string buffers, AttributeOf(other, "operands"));
  ATTUNE_ASSIGN_OR_RETURN(own.buffers, ReadBuffers(buffers));
  ATTUNE_ASSIGN_OR_RETURN(const std::string tolerance, AttributeOf(other, "tolerance"));
  const std::vector<std::string_view> words = Words(tolerance);
  const auto absolute = words.size() == 2 ? Number<double>(words[0]) : std::nullopt;
  const auto relative = words.size() == 2 ? Number<double>(words[1]) : std::nullopt;
  if (!absolute.has_value() || !relative.has_value()) {
    return InvalidArgument(fmt::format("The tolerance {} is not two numbers.", Quoted(tolerance)));
  }
  own.absolute_tolerance = *absolute;
  own.relative_tolerance = *relative;
  return own;
}

}  // namespace

std::string_view Name(BufferFill::Kind kind) {
  for (const auto& [known, name] : kFillNames) {
    if (known == kind) return name;
  }
  return "";
}

std::optional<BufferFill::Kind> ParseFillKind(std::string_view name) {
  for (const auto& [kind, known] : kFillNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

Problem ToProblem(const OwnKernelProblem& own) {
  OtherOp other;
  other.op = std::string(kOwnKernelOperator);
  other.attributes["name"] = own.name;
  other.attributes["content"] = own.content.ToHex();
  std::string sizes;
  for (const auto& [name, value] : own.sizes) {
    sizes += fmt::format("{}{} {}", sizes.empty() ? "" : " ", name, value);
  }
  other.attributes["sizes"] = std::move(sizes);
  std::string buffers;
  for (const OwnBuffer& buffer : own.buffers) {
    buffers += (buffers.empty() ? "" : " ") + TextOfBuffer(buffer);
  }
  other.attributes["operands"] = std::move(buffers);
  other.attributes["tolerance"] =
      fmt::format("{} {}", own.absolute_tolerance, own.relative_tolerance);
  return other;
}

bool IsOwnKernel(const Problem& problem) {
  const auto* other = problem.As<OtherOp>();
  return other != nullptr && other->op == kOwnKernelOperator;
}

Result<OwnKernelProblem> OwnKernelOf(const Problem& problem) {
  if (!IsOwnKernel(problem)) {
    return InvalidArgument(fmt::format("The problem is of operator {}, not of {}.",
                                       OperatorName(problem), kOwnKernelOperator));
  }
  ATTUNE_ASSIGN_OR_RETURN(OwnKernelProblem own, Read(problem.Get<OtherOp>()));
  ATTUNE_RETURN_IF_ERROR(Validate(own));
  if (ToProblem(own) == problem) return own;
  return InvalidArgument(
      fmt::format("A problem of operator {} has the keys name, content, sizes, operands and "
                  "tolerance alone, with sizes sorted and numbers as short as they can be.",
                  kOwnKernelOperator));
}

std::vector<Operand> OperandsOf(const OwnKernelProblem& own) {
  std::vector<Operand> operands;
  operands.reserve(own.buffers.size());
  for (const OwnBuffer& buffer : own.buffers) {
    TensorDesc tensor{buffer.type, buffer.extents, std::vector<int64_t>(buffer.extents.size(), 1)};
    for (size_t i = buffer.extents.size() - 1; i > 0; --i) {
      tensor.strides[i - 1] = tensor.strides[i] * buffer.extents[i];
    }
    operands.push_back({buffer.name, buffer.role, std::move(tensor)});
  }
  return operands;
}

Status Validate(const OwnKernelProblem& own) {
  if (!IsKernelName(own.name)) {
    return InvalidArgument(fmt::format("{} cannot be the name of a kernel: 1 to {} of a-z 0-9 - _.",
                                       Quoted(own.name), kMaxNameBytes));
  }
  if (own.sizes.size() > kMaxOwnSizes) {
    return InvalidArgument(fmt::format("There are {} sizes; at most {} are possible.",
                                       own.sizes.size(), kMaxOwnSizes));
  }
  for (const auto& [name, value] : own.sizes) {
    if (IsIdentifier(name) && value >= 0 && value <= kMaxOwnElements) continue;
    return InvalidArgument(fmt::format("The size {} is {}; sizes have names of C and are 0 to {}.",
                                       Quoted(name), value, kMaxOwnElements));
  }
  for (const double tolerance : {own.absolute_tolerance, own.relative_tolerance}) {
    if (tolerance >= 0 && std::isfinite(tolerance)) continue;
    return InvalidArgument(fmt::format("The tolerance {} is negative or not finite.", tolerance));
  }
  return CheckBuffers(own.buffers);
}

}  // namespace attune
