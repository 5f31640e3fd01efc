#include "attune/formats/export.h"

#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/formats/cublaslt_name.h"
#include "attune/formats/tunableop.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/escaping.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

// An unmeasured time has no value rather than 0, which would read as infinitely fast.
Json TimeOrNull(double time_ns) {
  return std::isfinite(time_ns) && time_ns > 0 ? Json(time_ns) : Json(nullptr);
}

// JSON has no infinity and no NaN.
Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json FieldsOf(const Choice& choice) {
  const bool measured = choice.provenance != Provenance::kUntuned;
  const auto speedup = [&](double value) { return measured ? NumberOrNull(value) : Json(nullptr); };
  Json fields;
  fields["problem"] = Text(choice.problem);
  fields["target"] = Text(choice.target);
  fields["candidate"] = Text(choice.candidate);
  fields["provenance"] = Name(choice.provenance);
  fields["median_ns"] = TimeOrNull(choice.measurement.median_ns);
  fields["low_ns"] = TimeOrNull(choice.measurement.low_ns);
  fields["high_ns"] = TimeOrNull(choice.measurement.high_ns);
  fields["confidence"] = choice.confidence;
  fields["cache"] = Name(choice.measurement.cache);
  fields["default_candidate"] = Text(choice.default_candidate);
  fields["default_median_ns"] = TimeOrNull(choice.default_measurement.median_ns);
  fields["speedup"] = speedup(choice.speedup);
  fields["speedup_low"] = speedup(choice.speedup_low);
  fields["speedup_high"] = speedup(choice.speedup_high);
  fields["roofline_fraction"] = NumberOrNull(choice.roofline_fraction);
  fields["workspace_bytes"] = choice.workspace_bytes;
  fields["set_id"] = choice.set_id;
  return fields;
}

Json ArrayOf(std::span<const Choice> choices) {
  Json array = Json::array();
  for (const Choice& choice : choices) array.push_back(FieldsOf(choice));
  return array;
}

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string CsvField(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void AppendCsvLine(const std::vector<std::string>& fields, std::string& text) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) text += ',';
    text += fields[i];
  }
  text += '\n';
}

Result<TunableOpKey> KeyOfChoice(const Choice& choice) {
  const auto* const gemm = choice.problem.As<Gemm>();
  if (gemm == nullptr) {
    return Unsupported(fmt::format("{} is not a gemm.", Text(choice.problem)));
  }
  if (choice.measurement.median_ns <= 0) {
    return FailedPrecondition(fmt::format("{} was not measured.", Text(choice.problem)));
  }
  return TunableOpKeyOf(*gemm);
}

}  // namespace

std::string ChoiceAsJson(const Choice& choice) {
  return FieldsOf(choice).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ExportJson(std::span<const Choice> choices) {
  Json document;
  document["format"] = "attune-choices@1";
  document["choices"] = ArrayOf(choices);
  return Dump(document) + "\n";
}

std::string ExportCsv(std::span<const Choice> choices) {
  std::string text;
  std::vector<std::string> names;
  const Json columns = FieldsOf(Choice());
  for (const auto& column : columns.items()) names.push_back(column.key());
  AppendCsvLine(names, text);
  for (const Choice& choice : choices) {
    std::vector<std::string> values;
    const Json fields = FieldsOf(choice);
    for (const auto& field : fields.items()) values.push_back(CsvField(field.value()));
    AppendCsvLine(values, text);
  }
  return text;
}

TunableOpExport ExportTunableOp(std::span<const Choice> choices,
                                const std::map<std::string, std::string>& validators,
                                TunableOpLines lines) {
  TunableOpExport result;
  for (const auto& [key, value] : validators) {
    result.content += fmt::format("Validator,{},{}\n", Escaped(key), value);
  }
  std::set<std::pair<std::string, std::string>> written;
  for (const Choice& choice : choices) {
    const auto key = KeyOfChoice(choice);
    if (!key.ok()) {
      result.skipped.push_back(key.error().message());
      continue;
    }
    if (lines == TunableOpLines::kOfCublasLt && !CublasLtNameOf(choice.candidate)) {
      result.skipped.push_back(fmt::format("{}: PyTorch has no name for {}.", Text(choice.problem),
                                           Text(choice.candidate)));
      continue;
    }
    if (!written.emplace(key->op, key->params).second) {
      result.skipped.push_back(
          fmt::format("{} has the same TunableOp key as an earlier problem ({},{}).",
                      Text(choice.problem), key->op, key->params));
      continue;
    }
    result.content +=
        fmt::format("{},{},{},{}\n", key->op, key->params, Escaped(SolutionText(choice.candidate)),
                    choice.measurement.median_ns / 1e6);
  }
  return result;
}

Result<std::map<std::string, std::string>> PyTorchValidators(const std::string& pytorch_version,
                                                             const Target& target,
                                                             const Environment& environment) {
  const auto library = environment.find("library.cublaslt");
  int arch = 0;
  int version[3] = {};
  const bool is_cuda =
      target.backend == "cuda" && std::sscanf(target.arch.c_str(), "sm_%d", &arch) == 1;
  if (!is_cuda || library == environment.end() ||
      std::sscanf(library->second.c_str(), "%d.%d.%d", &version[0], &version[1], &version[2]) !=
          3) {
    return Unsupported(fmt::format(
        "PyTorch takes results of CUDA devices with cuBLASLt, and not those of {}.", Text(target)));
  }
  return std::map<std::string, std::string>{
      {"PT_VERSION", pytorch_version},
      {"CUBLASLT_VERSION", fmt::format("{}", version[0] * 10000 + version[1] * 100 + version[2])},
      {"CUDA_DEVICE", fmt::format("{}.{}:{}", arch / 10, arch % 10, target.device)}};
}

}  // namespace attune
