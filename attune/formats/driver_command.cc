#include "attune/formats/driver_command.h"

#include <fmt/format.h>

#include "attune/formats/driver_line.h"

namespace attune {
namespace {

std::string_view DriverOperatorName(DataType type) {
  switch (type) {
    case DataType::kF32:
      return "conv";
    case DataType::kF16:
      return "convfp16";
    case DataType::kBf16:
      return "convbfp16";
    case DataType::kI8:
      return "convint8";
    default:
      return "";
  }
}

Status CheckExpressible(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(Validate(conv));
  const Conv plain;
  if (DriverOperatorName(conv.type).empty()) {
    return Unsupported(fmt::format("MIOpenDriver has no type {}.", Name(conv.type)));
  }
  if (conv.math != plain.math || conv.alignment_bytes != plain.alignment_bytes ||
      conv.deterministic) {
    return Unsupported(
        fmt::format("MIOpenDriver cannot express math mode {}, alignment {} and determinism {}.",
                    Name(conv.math), conv.alignment_bytes, conv.deterministic));
  }
  return Status::Ok();
}

int DirectionBits(ConvDirection direction) {
  return direction == ConvDirection::kForward        ? 1
         : direction == ConvDirection::kBackwardData ? 2
                                                     : 4;
}

// Long names, because the letters for depth are special to shells.
std::string DepthFlags(const Conv& conv) {
  std::string flags = fmt::format(
      " --spatial_dim 3 --in_d {} --fil_d {} --pad_d {} --conv_stride_d {} --dilation_d {}",
      conv.in[0], conv.filter[0], conv.pad[0], conv.stride[0], conv.dilation[0]);
  if (conv.output_pad[0] != 0) flags += fmt::format(" --trans_output_pad_d {}", conv.output_pad[0]);
  return flags;
}

std::string LayoutFlags(const Conv& conv) {
  const Layout plain = conv.spatial_rank == 3 ? Layout::kNcdhw : Layout::kNchw;
  std::string flags;
  const auto append = [&](std::string_view flag, Layout layout) {
    if (layout != plain) flags += fmt::format(" --{} {}", flag, UpperCase(Name(layout)));
  };
  append("in_layout", conv.in_layout);
  append("fil_layout", conv.weights_layout);
  append("out_layout", conv.out_layout);
  return flags;
}

}  // namespace

bool CallsMiopenDriver(std::string_view line) {
  // Cheap test first: most lines of other formats do not have the word at all.
  return line.find("MIOpenDriver") != std::string_view::npos && NamesDriverProgram(line);
}

Parsed<std::vector<Problem>> ReadDriverCommand(std::string_view line) {
  const auto split = SplitDriverLine(line);
  if (!split) return tl::unexpected(split.error());
  const auto op = ParseDriverOperator(split->op.text);
  if (!op.has_value()) {
    return ErrorAtOffset(split->op.offset,
                         fmt::format("MIOpenDriver has no operator {}.", Quoted(split->op.text)));
  }
  if (op->name == "conv") return ReadDriverConv(*split, op->type);
  if (op->name == "gemm") return ReadDriverGemm(*split, op->type);
  return ReadDriverOther(*split, *op);
}

Result<std::string> DriverCommandOf(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckExpressible(conv));
  const bool transposed = conv.mode == ConvMode::kTransposed;
  std::string command = fmt::format(
      "MIOpenDriver {} -n {} -c {} -H {} -W {} -k {} -y {} -x {} -p {} -q {} -u {} -v {} -l {} -j "
      "{} "
      "-m {} -g {} -F {}",
      DriverOperatorName(conv.type), conv.batch, conv.in_channels, conv.in[1], conv.in[2],
      conv.out_channels, conv.filter[1], conv.filter[2], conv.pad[1], conv.pad[2], conv.stride[1],
      conv.stride[2], conv.dilation[1], conv.dilation[2], transposed ? "trans" : "conv",
      conv.groups, DirectionBits(conv.direction));
  if (conv.output_pad[1] != 0) command += fmt::format(" -Y {}", conv.output_pad[1]);
  if (conv.output_pad[2] != 0) command += fmt::format(" -X {}", conv.output_pad[2]);
  if (conv.spatial_rank == 3) command += DepthFlags(conv);
  command += LayoutFlags(conv);
  if (conv.bias) command += " -b 1";
  return command;
}

}  // namespace attune
