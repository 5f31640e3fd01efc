#include "attune/kernel/capture/captured_launch.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"

namespace attune::capture {
namespace {

Status Damaged(const std::string& what) { return DataLoss(fmt::format("The launch {}.", what)); }

template <class T>
bool Take(std::string_view payload, T& value) {
  if (payload.size() != sizeof value) return false;
  std::memcpy(&value, payload.data(), sizeof value);
  return true;
}

// Those that a later library may write are left out.
Status TakeOfArgument(const SpoolRecord& record, std::string_view payload, CapturedLaunch& launch) {
  if (record.index >= kMostArguments) {
    return Damaged(fmt::format("names argument {}", record.index));
  }
  if (record.index >= launch.arguments.size()) launch.arguments.resize(record.index + 1);
  CapturedArgument& argument = launch.arguments[record.index];
  switch (record.tag) {
    case SpoolTag::kArgument:
      if (!Take(payload, argument.told)) return Damaged("describes an argument in another format");
      break;
    case SpoolTag::kValue:
      argument.value = payload;
      break;
    case SpoolTag::kName:
      argument.name = payload;
      break;
    case SpoolTag::kType:
      argument.type = payload;
      break;
    case SpoolTag::kBefore:
      argument.before = payload;
      break;
    case SpoolTag::kAfter:
      argument.after = payload;
      break;
    default:
      break;
  }
  return Status::Ok();
}

Status TakeRecord(const SpoolRecord& record, std::string_view payload, CapturedLaunch& launch) {
  switch (record.tag) {
    case SpoolTag::kLanguage:
      launch.language = payload;
      return Status::Ok();
    case SpoolTag::kFunction:
      launch.function = payload;
      return Status::Ok();
    case SpoolTag::kSource:
      launch.source = payload;
      return Status::Ok();
    case SpoolTag::kBinary:
      launch.binary = payload;
      return Status::Ok();
    case SpoolTag::kOptions:
      launch.options = payload;
      return Status::Ok();
    case SpoolTag::kDevice:
      launch.device = payload;
      return Status::Ok();
    case SpoolTag::kFolder:
      launch.folder = payload;
      return Status::Ok();
    case SpoolTag::kGeometry:
      if (!Take(payload, launch.geometry)) return Damaged("has a geometry of another format");
      return Status::Ok();
    case SpoolTag::kNumber:
      if (!Take(payload, launch.number)) return Damaged("has a number of another format");
      return Status::Ok();
    case SpoolTag::kHeader: {
      const size_t end = std::min(payload.find('\0'), payload.size());
      launch.headers.emplace_back(payload.substr(0, end),
                                  payload.substr(std::min(end + 1, payload.size())));
      return Status::Ok();
    }
    default:
      return TakeOfArgument(record, payload, launch);
  }
}

Status CheckGeometry(const SpoolGeometry& geometry) {
  if (geometry.dimensions < 1 || geometry.dimensions > 3) {
    return Damaged(fmt::format("has {} dimensions", geometry.dimensions));
  }
  for (int i = 0; i < 3; ++i) {
    if (geometry.global[i] == 0 || geometry.local[i] == 0 ||
        geometry.global[i] % geometry.local[i] != 0) {
      return Damaged(
          fmt::format("has {} work-items in groups of {}", geometry.global[i], geometry.local[i]));
    }
  }
  return Status::Ok();
}

Status CheckArguments(const CapturedLaunch& launch) {
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const CapturedArgument& argument = launch.arguments[i];
    const bool is_buffer = argument.told.kind == SpoolArgumentKind::kBuffer;
    if (argument.told.kind > SpoolArgumentKind::kNull || argument.told.same_as < -1 ||
        argument.told.same_as >= static_cast<int64_t>(i)) {
      return Damaged(fmt::format("describes argument {} in another format", i));
    }
    const size_t same_as = static_cast<size_t>(std::max(argument.told.same_as, 0));
    if (argument.told.same_as >= 0 &&
        launch.arguments[same_as].told.kind != SpoolArgumentKind::kBuffer) {
      return Damaged(fmt::format("takes argument {} for another buffer, which is none", i));
    }
    if (!is_buffer || argument.told.same_as >= 0) continue;
    const bool is_whole = argument.before.size() == argument.told.size_bytes &&
                          (!argument.after || argument.after->size() == argument.before.size());
    if (!is_whole) return Damaged(fmt::format("has not all of the buffer of argument {}", i));
  }
  return Status::Ok();
}

}  // namespace

Result<CapturedLaunch> ReadLaunch(std::string_view bytes) {
  if (!bytes.starts_with(std::string_view(kSpoolMagic, sizeof kSpoolMagic))) {
    return Damaged("was written by another version of attune");
  }
  CapturedLaunch launch;
  size_t at = sizeof kSpoolMagic;
  while (true) {
    SpoolRecord record;
    if (bytes.size() - at < sizeof record) return Damaged("was cut off");
    std::memcpy(&record, bytes.data() + at, sizeof record);
    at += sizeof record;
    if (record.tag == SpoolTag::kEnd) break;
    if (record.size_bytes > bytes.size() - at) return Damaged("was cut off");
    ATTUNE_RETURN_IF_ERROR(TakeRecord(record, bytes.substr(at, record.size_bytes), launch));
    at += record.size_bytes;
  }
  ATTUNE_RETURN_IF_ERROR(CheckGeometry(launch.geometry));
  ATTUNE_RETURN_IF_ERROR(CheckArguments(launch));
  return launch;
}

uint64_t ShapeOf(const CapturedLaunch& launch) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", launch.language, launch.function,
                                 launch.source, launch.options) +
                     launch.binary;
  for (const auto& [name, content] : launch.headers) text += name + '\n' + content;
  text.append(reinterpret_cast<const char*>(&launch.geometry), sizeof launch.geometry);
  for (const CapturedArgument& argument : launch.arguments) {
    text += fmt::format("{} {} ", argument.told.size_bytes, argument.told.same_as);
    text += argument.value;
  }
  return FingerprintOf(text).low;
}

}  // namespace attune::capture
