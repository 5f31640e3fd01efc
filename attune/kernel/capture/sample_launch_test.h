// A launch as a program would leave it behind, for the tests of this folder.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "attune/kernel/capture/captured_launch.h"

namespace attune::capture {

template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// y = a x + y of four elements, in groups of two.
struct SampleLaunch {
  std::string x = BytesOf<float>({1, 2, 3, 4});
  std::string before = BytesOf<float>({1, 1, 1, 1});
  std::string after = BytesOf<float>({3, 5, 7, 9});

  CapturedLaunch Launch() const {
    CapturedLaunch launch;
    launch.language = "opencl";
    launch.function = "Saxpy";
    launch.source =
        "__kernel void Saxpy(__global const float* x, __global float* y, float a, int n) {}";
    launch.options = "-DWG=2 -DHALF=0.5f";
    launch.device = "a \"device\"";
    launch.number = 3;
    launch.geometry.global[0] = 4;
    launch.geometry.local[0] = 2;
    for (int i = 1; i < 3; ++i) launch.geometry.global[i] = launch.geometry.local[i] = 1;
    for (const std::string* content : {&x, &before}) {
      CapturedArgument& buffer = launch.arguments.emplace_back();
      buffer.told.kind = SpoolArgumentKind::kBuffer;
      buffer.told.size_bytes = content->size();
      buffer.before = *content;
    }
    launch.arguments[1].after = after;
    launch.arguments.emplace_back().value = BytesOf<float>({2});
    launch.arguments.emplace_back().value = BytesOf<int32_t>({4});
    return launch;
  }
};

template <class T>
void AddRecord(SpoolTag tag, uint32_t index, const T& content, std::string& bytes) {
  std::string payload;
  if constexpr (std::is_same_v<T, std::string>) {
    payload = content;
  } else {
    payload.assign(reinterpret_cast<const char*>(&content), sizeof content);
  }
  const SpoolRecord record = {tag, index, payload.size()};
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  bytes += payload;
}

// `launch` as the preload library writes it.
inline std::string SpoolOf(const CapturedLaunch& launch) {
  std::string bytes(kSpoolMagic, sizeof kSpoolMagic);
  AddRecord(SpoolTag::kLanguage, 0, launch.language, bytes);
  AddRecord(SpoolTag::kFunction, 0, launch.function, bytes);
  AddRecord(SpoolTag::kSource, 0, launch.source, bytes);
  AddRecord(SpoolTag::kOptions, 0, launch.options, bytes);
  AddRecord(SpoolTag::kDevice, 0, launch.device, bytes);
  AddRecord(SpoolTag::kGeometry, 0, launch.geometry, bytes);
  AddRecord(SpoolTag::kNumber, 0, launch.number, bytes);
  for (uint32_t i = 0; i < launch.arguments.size(); ++i) {
    const CapturedArgument& argument = launch.arguments[i];
    AddRecord(SpoolTag::kArgument, i, argument.told, bytes);
    AddRecord(SpoolTag::kValue, i, argument.value, bytes);
    if (argument.told.kind != SpoolArgumentKind::kBuffer) continue;
    AddRecord(SpoolTag::kBefore, i, std::string(argument.before), bytes);
    if (argument.after) AddRecord(SpoolTag::kAfter, i, std::string(*argument.after), bytes);
  }
  AddRecord(SpoolTag::kEnd, 0, std::string(), bytes);
  return bytes;
}

}  // namespace attune::capture
