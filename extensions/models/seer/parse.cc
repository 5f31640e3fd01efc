// attune seer parse: converts output of nvprof and ncu to a table of launches or to SEER's table.

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/replaced_file.h"
#include "attune/base/file.h"
#include "attune/kernel/multiprocessor.h"
#include "extensions/models/seer/collection.h"
#include "extensions/models/seer/profiler_csv.h"
#include "extensions/models/seer/seer_verbs.h"

namespace attune::seer {
namespace {

struct ParseOptions {
  std::vector<std::string> files;
  std::string kernel;   // Part of the names of launches; empty: all.
  std::string configs;  // The layers of the calls; empty: as launches.
  int algorithm = -1;
  std::string arch;
  int multiprocessors = 0;  // 0: from the usual GPU of the architecture.
  std::string output = "-";
  bool json = false;
};

Result<std::vector<ProfiledLaunch>> ReadLaunches(const ParseOptions& options) {
  std::vector<std::vector<ProfiledLaunch>> outputs;
  for (const std::string& file : options.files) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    auto launches = ReadProfilerCsv(text);
    if (!launches.ok()) return launches.error().WithContext(fmt::format("'{}'", file));
    std::erase_if(*launches, [&](const ProfiledLaunch& launch) {
      return launch.kernel.find(options.kernel) == std::string::npos;
    });
    if (launches->empty()) {
      return InvalidArgument(
          fmt::format("'{}': the name of no kernel holds '{}'.", file, options.kernel));
    }
    outputs.push_back(*std::move(launches));
  }
  auto merged = MergeLaunches(outputs);
  if (!merged.ok()) {
    return merged.error().WithContext("cannot put the outputs together");
  }
  return merged;
}

int64_t Product(const std::array<int64_t, 3>& extents) {
  return extents[0] * extents[1] * extents[2];
}

// The number of blocks of the launch that a multiprocessor can hold; 0 if its needs are unknown.
int64_t BlocksOf(const ProfiledLaunch& launch, const kernel::Multiprocessor& multiprocessor) {
  if (!launch.block || !launch.registers || Product(*launch.block) > kernel::kMostThreadsOfBlock) {
    return 0;
  }
  const kernel::BlockNeeds needs{static_cast<int>(Product(*launch.block)),
                                 static_cast<int>(std::min<int64_t>(*launch.registers, 1024)),
                                 launch.shared_bytes.value_or(0)};
  return kernel::RoomFor(needs, multiprocessor).blocks();
}

LaunchedKernel KernelOf(const ProfiledLaunch& launch,
                        const kernel::Multiprocessor& multiprocessor) {
  LaunchedKernel kernel;
  kernel.name = launch.kernel;
  if (launch.grid) kernel.blocks = Product(*launch.grid);
  if (launch.block) kernel.threads = Product(*launch.block);
  kernel.blocks_per_multiprocessor = BlocksOf(launch, multiprocessor);
  if (!launch.time_ms || !launch.instructions || !launch.read_sectors || !launch.write_sectors) {
    return kernel;
  }
  kernel.counters = KernelCounters{*launch.time_ms,
                                   *launch.instructions,
                                   *launch.read_sectors,
                                   *launch.write_sectors,
                                   launch.fp_utilisation.value_or(0),
                                   launch.dram_utilisation.value_or(0)};
  return kernel;
}

// The call of a layer: consecutive launches.
Result<LayerRun> RunOf(std::span<const ProfiledLaunch> launches,
                       const kernel::Multiprocessor& multiprocessor) {
  LayerRun run;
  for (const ProfiledLaunch& launch : launches) {
    if (!launch.time_ms.has_value()) {
      return InvalidArgument(
          fmt::format("the time of kernel '{}' is not known. hint: give the output of 'nvprof "
                      "--print-gpu-trace "
                      "--csv' or of ncu with gpu__time_duration.sum, too.",
                      launch.kernel));
    }
    if (!launch.grid.has_value()) {
      return InvalidArgument(
          fmt::format("the grid of kernel '{}' is not known. hint: give the output of 'nvprof "
                      "--print-gpu-trace "
                      "--csv' or of ncu, too.",
                      launch.kernel));
    }
    run.time_ms += *launch.time_ms;
    run.kernels.push_back(KernelOf(launch, multiprocessor));
  }
  return run;
}

Result<std::string> SeerTable(const ParseOptions& options,
                              const std::vector<ProfiledLaunch>& launches, size_t& rows) {
  const kernel::Multiprocessor* const multiprocessor = kernel::FindMultiprocessor(options.arch);
  if (multiprocessor == nullptr) {
    return InvalidArgument(
        fmt::format("--arch {}: 'attune seer occupancy' knows sm_60 to sm_90.", options.arch));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Layer> layers,
                          ReadConfigurationFiles(std::span(&options.configs, 1)));
  if (layers.empty() || launches.size() % layers.size() != 0) {
    return InvalidArgument(fmt::format(
        "{} cannot be divided among {}. hint: choose those that count with --kernel.",
        Counted(launches.size(), "launch", "launches"), Counted(layers.size(), "layer")));
  }
  const size_t each = launches.size() / layers.size();
  const int count = options.multiprocessors > 0 ? options.multiprocessors : multiprocessor->count;
  std::vector<KernelRecord> records;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto of_layer = std::span(launches).subspan(i * each, each);
    const auto at_layer = [&](const Status& status) {
      return status.WithContext(fmt::format("layer {}", i + 1));
    };
    const auto run = RunOf(of_layer, *multiprocessor);
    if (!run.ok()) return at_layer(run.error());
    const auto record = RecordOf(layers[i], options.algorithm, *run, count);
    if (!record.ok()) return at_layer(record.error());
    records.push_back(*record);
  }
  rows = records.size();
  return Csv(records);
}

Json LaunchesJson(const std::vector<ProfiledLaunch>& launches) {
  const auto value = [](const auto& known) { return known.has_value() ? Json(*known) : Json(); };
  Json list = Json::array();
  for (const ProfiledLaunch& x : launches) {
    list.push_back({{"kernel", x.kernel},
                    {"launches", x.launches},
                    {"grid", value(x.grid)},
                    {"block", value(x.block)},
                    {"registers", value(x.registers)},
                    {"shared_bytes", value(x.shared_bytes)},
                    {"time_ms", value(x.time_ms)},
                    {"instructions", value(x.instructions)},
                    {"read_sectors", value(x.read_sectors)},
                    {"write_sectors", value(x.write_sectors)},
                    {"fp_utilisation", value(x.fp_utilisation)},
                    {"dram_utilisation", value(x.dram_utilisation)}});
  }
  return list;
}

Status CheckParseOptions(const ParseOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.output, options.files));
  const bool is_table = !options.configs.empty();
  if (is_table && (options.algorithm < 0 || options.arch.empty())) {
    return InvalidArgument("--configs needs --algorithm and --arch.");
  }
  if (!is_table &&
      (options.algorithm >= 0 || !options.arch.empty() || options.multiprocessors > 0)) {
    return InvalidArgument("--algorithm, --arch and --sms go with --configs.");
  }
  if (is_table && options.json)
    return InvalidArgument("--json is of launches: leave out --configs.");
  return Status::Ok();
}

Result<int> RunParse(Application& application, const ParseOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckParseOptions(options));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<ProfiledLaunch> launches, ReadLaunches(options));
  std::string text = options.json ? Dump(LaunchesJson(launches)) : Csv(launches);
  size_t rows = launches.size();
  if (!options.configs.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(text, SeerTable(options, launches, rows));
  }
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.output, text));
  if (options.output != "-") {
    application.out().Print(fmt::format("{} written.\n", Counted(rows, "row")));
  }
  return kExitDone;
}

}  // namespace

void AddParseVerb(CLI::App& seer, Invocation& invocation) {
  auto options = std::make_shared<ParseOptions>();
  CLI::App* verb = AddVerb(
      seer, "parse", "Read what nvprof and ncu printed with --csv, as launches or as SEER's table",
      "  attune seer parse tests/data/seer/profilers/ncu_metrics.csv\n"
      "  attune seer parse tests/data/seer/profilers/nvprof_gpu_trace.csv "
      "tests/data/seer/profilers/nvprof_metrics.csv --configs tests/data/seer/profilers/layers.txt "
      "--algorithm 1 --arch sm_61 -o /tmp/kernels.csv\n\n"
      "Several files are about the same launches: times of one, metrics of another.");
  verb->add_option("files", options->files, "Outputs of nvprof --csv and ncu --csv")
      ->required()
      ->type_name("FILE");
  verb->add_option("--kernel", options->kernel, "Only kernels whose name holds this")
      ->type_name("TEXT");
  verb->add_option("--configs", options->configs,
                   "The layers of the calls, in their order: write SEER's table of kernels")
      ->type_name("FILE");
  verb->add_option("--algorithm", options->algorithm, "cuDNN's number of the calls' algorithm")
      ->check(CLI::Range(0, kAlgorithms - 1))
      ->type_name("N");
  verb->add_option("--arch", options->arch, "Architecture of the GPU, for the blocks of a wave")
      ->type_name("sm_XX");
  verb->add_option("--sms", options->multiprocessors,
                   "Multiprocessors of the GPU (default: see 'attune seer occupancy')")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");
  verb->add_option("-o,--output", options->output, "The table, or - for standard output")
      ->capture_default_str()
      ->type_name("FILE");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunParse(application, *options);
    };
  });
}

}  // namespace attune::seer
