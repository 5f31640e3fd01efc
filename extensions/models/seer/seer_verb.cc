// attune seer: SEER's model of the times of cuDNN's convolutions.

#include <array>
#include <map>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "attune/base/file.h"
#include "extensions/models/model_verbs.h"
#include "extensions/models/seer/seer_verbs.h"

namespace attune {
namespace seer {
namespace {

// SEER's own tables are workbooks of Excel: zipped XML, or before that compound files.
Status CheckIsNoWorkbook(const std::string& file, std::string_view text) {
  constexpr std::string_view kZip = "PK\x03\x04";
  constexpr std::string_view kCompound = "\xD0\xCF\x11\xE0";
  if (!text.starts_with(kZip) && !text.starts_with(kCompound)) return Status::Ok();
  return InvalidArgument(fmt::format(
      "cannot read '{0}': it is a workbook of Excel, and tables are comma-separated text. hint: "
      "convert its first sheet with 'libreoffice --headless --convert-to csv {1}', or any sheet "
      "with "
      "python3 -c \"import sys, pandas; pandas.read_excel(sys.argv[1], sheet_name=0, header=None)"
      ".to_csv(sys.argv[2], header=False, index=False)\" {1} table.csv",
      file, ShellWord(file)));
}

// Reads each file with `read`, which takes a text, and appends the results.
template <class Read>
auto ReadAllOf(std::span<const std::string> files, Read read) -> decltype(read("")) {
  decltype(read("")) all;
  for (const std::string& file : files) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    ATTUNE_RETURN_IF_ERROR(CheckIsNoWorkbook(file, text));
    auto rows = read(text);
    if (!rows.ok()) return rows.error().WithContext(fmt::format("'{}'", file));
    all->insert(all->end(), rows->begin(), rows->end());
  }
  return all;
}

}  // namespace

void AddOrderOption(CLI::App& verb, AlgorithmOrder& order) {
  static const std::map<std::string, AlgorithmOrder> kOrders = {
      {"cudnn", AlgorithmOrder::kCudnn}, {"readme", AlgorithmOrder::kReadme}};
  verb.add_option_function<std::string>(
          "--algorithm-order", [&order](const std::string& name) { order = kOrders.at(name); },
          "How tables number algorithms: as cuDNN does, or as SEER's README says, which has "
          "Winograd at 4 and 5 and the FFTs at 6 and 7")
      ->check(CLI::IsMember({"cudnn", "readme"}))
      ->default_str("cudnn");
}

Result<std::vector<KernelRecord>> ReadKernelFiles(std::span<const std::string> files,
                                                  AlgorithmOrder order) {
  return ReadAllOf(files,
                   [order](std::string_view text) { return ReadKernelRecords(text, order); });
}

Result<std::vector<OperatorTime>> ReadOperatorFiles(std::span<const std::string> files) {
  return ReadAllOf(files, [](std::string_view text) { return ReadOperatorTimes(text); });
}

Result<std::vector<AlgorithmTimes>> ReadTimesFiles(std::span<const std::string> files,
                                                   AlgorithmOrder order) {
  return ReadAllOf(files,
                   [order](std::string_view text) { return ReadAlgorithmTimes(text, order); });
}

Result<std::vector<Layer>> ReadConfigurationFiles(std::span<const std::string> files) {
  return ReadAllOf(files, [](std::string_view text) { return ReadConfigurations(text); });
}

Result<SeerFile> ReadModelFile(const std::string& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  auto read = ReadSeerFile(text);
  if (!read.ok()) return read.error().WithContext(fmt::format("'{}'", file));
  return read;
}

std::string_view NameOf(KernelClass kernel_class) {
  if (kernel_class == KernelClass::kCompute) return "compute";
  return kernel_class == KernelClass::kDram ? "DRAM" : "under-utilised";
}

std::string_view AlgorithmName(int algorithm) {
  static constexpr std::array<std::string_view, kAlgorithms> kNames = {
      "implicit GEMM", "implicit precomputed GEMM", "GEMM", "direct", "FFT", "tiled FFT",
      "Winograd",      "Winograd non-fused"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string LeftOutNote(const SortedRecords& sorted) {
  if (sorted.unknown + sorted.ambiguous == 0) return "";
  return fmt::format(
      "{} left out: {} of which no kernel variant launches so many blocks, {} of which two do.\n",
      Counted(sorted.unknown + sorted.ambiguous, "record"), sorted.unknown, sorted.ambiguous);
}

}  // namespace seer

void AddSeerVerb(CLI::App& program, Invocation& invocation) {
  CLI::App* verb = AddVerb(
      program, "seer",
      "Collect data for, train, evaluate and ask SEER's model of the times of cuDNN's convolutions",
      "  attune seer train tests/data/seer/kernels.csv --operators tests/data/seer/operators.csv "
      "-o /tmp/model.seer\n"
      "  attune seer pick /tmp/model.seer --configs tests/data/seer/configs.txt");
  verb->require_subcommand(1);
  seer::AddCollectVerb(*verb, invocation);
  seer::AddTrainVerb(*verb, invocation);
  seer::AddEvaluateVerb(*verb, invocation);
  seer::AddPickVerb(*verb, invocation);
  seer::AddOccupancyVerb(*verb, invocation);
  seer::AddParseVerb(*verb, invocation);
}

}  // namespace attune
