// attune seer collect: measures SEER's tables on an NVIDIA GPU.

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/json_text.h"
#include "apps/attune/replaced_file.h"
#include "apps/attune/wait_notice.h"
#include "attune/base/file.h"
#include "attune/base/steady_time.h"
#include "extensions/models/seer/device_probe.h"
#include "extensions/models/seer/grids.h"
#include "extensions/models/seer/seer_verbs.h"
#include "runtime/machine_lock.h"

namespace attune::seer {
namespace {

// How long other processes wait for the device, and rows are in memory only.
constexpr int64_t kTurnNs = 10'000'000'000;

constexpr std::string_view kBothGradients = "conv_grad";

struct CollectOptions {
  std::string device = "cuda:0";
  std::string output;
  std::string pre_kernels;
  std::string grid;
  std::string configs;
  std::string cache = "warm";
  std::vector<int> algorithms = {0, 1, 2, 4, 5, 6, 7};
  std::vector<std::string> operators;
  int64_t budget_ns = 0;  // 0: until all is measured.
  bool json = false;
};

// The tables to write, as far as they exist.
struct Tables {
  KernelTables kernels;
  std::vector<AlgorithmTimes> times;
};

// The file of an earlier collection, if there is one.
std::span<const std::string> Earlier(const std::string& file) {
  std::error_code ignored;  // The reader of the file reports errors.
  const bool is_there = !file.empty() && std::filesystem::status(file, ignored).type() !=
                                             std::filesystem::file_type::not_found;
  return {&file, is_there ? size_t{1} : 0};
}

// The line above a table that gives the state of the caches; without it, as in earlier versions,
// caches were warm.
constexpr std::string_view kCacheLine = "# caches ";

std::string HeadOf(const CollectOptions& options) {
  return options.cache == "warm" ? "" : fmt::format("{}{}\n", kCacheLine, options.cache);
}

// Keeps rows of both cache states out of one table: they would be compared with each other.
Status CheckCache(const CollectOptions& options, const std::string& file) {
  if (Earlier(file).empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  std::string cache = "warm";
  if (text.starts_with(kCacheLine)) {
    cache = text.substr(kCacheLine.size(), text.find('\n') - kCacheLine.size());
  }
  if (text.empty() || cache == options.cache) return Status::Ok();
  return InvalidArgument(fmt::format(
      "cannot continue '{}' with --cache {}: its rows were measured with caches {}. hint: name "
      "another file after -o.",
      file, options.cache, Printable(cache)));
}

Result<Tables> ReadTables(const CollectOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckCache(options, options.output));
  ATTUNE_RETURN_IF_ERROR(CheckCache(options, options.pre_kernels));
  Tables tables;
  const std::span<const std::string> earlier = Earlier(options.output);
  if (!options.configs.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(tables.times, ReadTimesFiles(earlier, AlgorithmOrder::kCudnn));
    return tables;
  }
  if (!options.operators.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(tables.kernels.operators, ReadOperatorFiles(earlier));
    return tables;
  }
  ATTUNE_ASSIGN_OR_RETURN(tables.kernels.records, ReadKernelFiles(earlier, AlgorithmOrder::kCudnn));
  ATTUNE_ASSIGN_OR_RETURN(tables.kernels.operators,
                          ReadOperatorFiles(Earlier(options.pre_kernels)));
  return tables;
}

Status WriteTables(const CollectOptions& options, const Tables& tables) {
  const auto write = [&](const std::string& file, const std::string& table) {
    return WriteFileAtomically(file, HeadOf(options) + table);
  };
  if (!options.configs.empty()) return write(options.output, Csv(tables.times));
  if (!options.operators.empty()) return write(options.output, Csv(tables.kernels.operators));
  ATTUNE_RETURN_IF_ERROR(write(options.output, Csv(tables.kernels.records)));
  if (options.pre_kernels.empty()) return Status::Ok();
  return write(options.pre_kernels, Csv(tables.kernels.operators));
}

// Holds the device for some seconds at a time, and writes the measurements after each turn.
class Collection {
 public:
  Collection(Application& application, const CollectOptions& options, Tables& tables,
             MachineTurns& machine)
      : application_(application),
        options_(options),
        tables_(tables),
        machine_(machine),
        notice_(application.err(), "seer collect") {}

  // True if the collection continues: its time may end, or a signal arrive, while another process
  // holds the device.
  Result<bool> TakeTurn() {
    turn_ = {};  // Other processes first.
    const auto go_on = [this] {
      notice_.StillWaiting();
      return GoesOn();
    };
    auto turn = machine_.Take(MachineUse::kTime, go_on);
    if (turn.status().code() == StatusCode::kDeadlineExceeded) return false;
    ATTUNE_ASSIGN_OR_RETURN(turn_, std::move(turn));
    turn_end_ns_ = SteadyNowNs() + kTurnNs;
    return true;
  }

  Result<bool> Step(const CollectionCounts&) {
    if (SteadyNowNs() >= turn_end_ns_) {
      ATTUNE_RETURN_IF_ERROR(WriteTables(options_, tables_));
      if (GoesOn()) return TakeTurn();
    }
    return GoesOn();
  }

 private:
  bool GoesOn() const {
    const bool is_over = options_.budget_ns > 0 && application_.ElapsedNs() >= options_.budget_ns;
    return !is_over && !interruption_.requested();
  }

  Application& application_;
  const CollectOptions& options_;
  Tables& tables_;
  MachineTurns& machine_;
  WaitNotice notice_;
  const OrderlyInterruption interruption_;
  MachineTurns::Grant turn_;
  int64_t turn_end_ns_ = 0;
};

void Add(const CollectionCounts& part, CollectionCounts& all) {
  all.measured += part.measured;
  all.known += part.known;
  all.unsupported += part.unsupported;
  all.too_large += part.too_large;
  if (all.picks_unknown == 0) all.pick_failure = part.pick_failure;
  all.picks_unknown += part.picks_unknown;
  all.is_complete = part.is_complete;
}

Result<std::vector<Layer>> GridOf(const CollectOptions& options, int algorithm) {
  if (options.grid.empty()) return TrainingGrid(algorithm);
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.grid));
  auto layers = ReadGrid(text);
  if (!layers.ok()) return layers.error().WithContext(fmt::format("'{}'", options.grid));
  return layers;
}

// The layers to measure, known before a device is opened.
struct Wanted {
  std::vector<Layer> configurations;
  std::vector<std::pair<int, std::vector<Layer>>> kernels;            // By algorithm.
  std::vector<std::pair<std::string, std::vector<Layer>>> operators;  // By name.
};

Result<Wanted> WantedOf(const CollectOptions& options) {
  Wanted wanted;
  if (!options.configs.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(wanted.configurations,
                            ReadConfigurationFiles(std::span(&options.configs, 1)));
    return wanted;
  }
  for (const std::string& name : options.operators) {
    if (options.grid.empty()) {
      wanted.operators.emplace_back(name, OperatorGrid(name));
      continue;
    }
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Layer> layers, GridOf(options, 0));
    wanted.operators.emplace_back(name, LayersOf(name, layers));
  }
  if (!options.operators.empty()) return wanted;
  for (const int algorithm : options.algorithms) {
    ATTUNE_ASSIGN_OR_RETURN(std::vector<Layer> layers, GridOf(options, algorithm));
    wanted.kernels.emplace_back(algorithm, std::move(layers));
  }
  return wanted;
}

Result<CollectionCounts> Collect(const CollectOptions& options, const Wanted& wanted,
                                 LayerProbe& probe, Collection& collection, Tables& tables) {
  const CollectionStep step = [&](const CollectionCounts& so_far) {
    return collection.Step(so_far);
  };
  CollectionCounts all;
  ATTUNE_ASSIGN_OR_RETURN(all.is_complete, collection.TakeTurn());
  if (!all.is_complete) return all;
  if (!options.configs.empty()) {
    return CollectTimes(probe, wanted.configurations, step, tables.times);
  }
  for (const auto& [name, layers] : wanted.operators) {
    ATTUNE_ASSIGN_OR_RETURN(const CollectionCounts part,
                            CollectOperator(probe, name, layers, step, tables.kernels.operators));
    Add(part, all);
    if (!all.is_complete) return all;
  }
  for (const auto& [algorithm, layers] : wanted.kernels) {
    ATTUNE_ASSIGN_OR_RETURN(const CollectionCounts part,
                            CollectKernels(probe, algorithm, layers, step, tables.kernels));
    Add(part, all);
    if (!all.is_complete) return all;
  }
  return all;
}

void PrintCounts(const CollectOptions& options, const CollectionCounts& counts, Output& out) {
  if (options.json) {
    out.Print(Dump({{"measured", counts.measured},
                    {"known", counts.known},
                    {"unsupported", counts.unsupported},
                    {"too_large", counts.too_large},
                    {"picks_unknown", counts.picks_unknown},
                    {"complete", counts.is_complete}}));
    return;
  }
  out.Print(fmt::format(
      "{} measured, {} known before, {} not supported, {} too large for the "
      "device.{}\n",
      Counted(counts.measured, "row"), counts.known, counts.unsupported, counts.too_large,
      counts.is_complete ? "" : " It ended early: the same command goes on."));
}

// Operators once each, in their order.
std::vector<std::string> OperatorsNamed(const std::vector<std::string>& named) {
  std::vector<std::string> operators;
  for (const std::string_view name : OperatorNames()) {
    const bool is_named = std::ranges::any_of(named, [&](const std::string& each) {
      return each == name || (each == kBothGradients && IsGradientOfConv(name));
    });
    if (is_named) operators.emplace_back(name);
  }
  return operators;
}

Result<int> RunCollect(Application& application, const CollectOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckTwoFiles(options.output, options.pre_kernels, "--pre-kernels"));
  ATTUNE_ASSIGN_OR_RETURN(const Wanted wanted, WantedOf(options));
  ATTUNE_ASSIGN_OR_RETURN(Tables tables, ReadTables(options));
  ATTUNE_ASSIGN_OR_RETURN(const Place place,
                          FindPlaceToMeasure(application.backends(), options.device));
  ATTUNE_ASSIGN_OR_RETURN(const auto probe,
                          DeviceProbe::Open(place, *ParseCacheState(options.cache)));
  // A table of times has no counters.
  if (!options.configs.empty()) probe->CountNothing();
  ATTUNE_ASSIGN_OR_RETURN(const auto machine, MachineLock::Open(place));
  Collection collection(application, options, tables, *machine);
  const auto counts = Collect(options, wanted, *probe, collection, tables);
  // Keeps the measurements, whatever ended the run.
  ATTUNE_RETURN_IF_ERROR(WriteTables(options, tables));
  if (!counts.ok()) return counts.error();
  if (!probe->no_counters().empty()) {
    application.err().Print(fmt::format(
        "attune seer collect: Nothing is counted, so instructions, sectors and utilisations are 0: "
        "{}\n",
        Printable(probe->no_counters())));
  }
  if (!probe->counter_warning().empty()) {
    application.err().Print(
        fmt::format("attune seer collect: {}\n", Printable(probe->counter_warning())));
  }
  if (counts->picks_unknown > 0) {
    application.err().Print(fmt::format(
        "attune seer collect: cuDNN's own pick is not known (-1) in {}; in the first of them: {}\n",
        Counted(counts->picks_unknown, "row"), Printable(counts->pick_failure)));
  }
  PrintCounts(options, *counts, application.out());
  return counts->is_complete ? kExitDone : kExitPartly;
}

void AddWhatOptions(CLI::App& verb, CollectOptions& options) {
  auto* grid =
      verb.add_option("--grid", options.grid,
                      "The layers: a line of values for each of N, C, W, K, f, s and p, of "
                      "which every combination is measured (default: SEER's own grids)")
          ->type_name("FILE");
  auto* configs =
      verb.add_option(
              "--configs", options.configs,
              "Configurations as published: every algorithm of each and cuDNN's own pick, as a "
              "table of times (test set II)")
          ->type_name("FILE")
          ->excludes(grid);
  verb.add_option("--algorithms", options.algorithms, "Which algorithms, by cuDNN's numbers")
      ->delimiter(',')
      ->check(CLI::Range(0, kAlgorithms - 1))
      ->capture_default_str();
  std::vector<std::string> names(OperatorNames().begin(), OperatorNames().end());
  names.emplace_back(kBothGradients);
  verb.add_option_function<std::vector<std::string>>(
          "--operators",
          [&options](const std::vector<std::string>& named) {
            options.operators = OperatorsNamed(named);
          },
          "A table of these operators instead, separated by commas; conv_grad is both gradients of "
          "convolutions")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->excludes(configs);
}

}  // namespace

void AddCollectVerb(CLI::App& seer, Invocation& invocation) {
  auto options = std::make_shared<CollectOptions>();
  CLI::App* verb = AddVerb(
      seer, "collect", "Measure SEER's tables with cuDNN's algorithms on an NVIDIA GPU",
      "  attune seer collect --device cuda:0 --budget 10m -o kernels.csv\n"
      "  attune seer collect --device cuda:0 --configs tests/data/seer/configs.txt -o "
      "layers.csv\n\n"
      "What the file has already is not measured again, so the same command goes on where one was\n"
      "ended. Exit status: 3 if the budget or Ctrl-C ended it.");
  verb->add_option("--device", options->device, "See 'attune devices'")->capture_default_str();
  AddWhatOptions(*verb, *options);
  verb->add_option("-o,--output", options->output, "The table, which is continued if it is there")
      ->required()
      ->type_name("FILE");
  verb->add_option("--pre-kernels", options->pre_kernels,
                   "Where kernels around the main ones go, as operators; only counters tell their "
                   "times")
      ->type_name("FILE");
  verb->add_option("--cache", options->cache, "Cache state while timing and counting: warm or cold")
      ->check(CLI::IsMember({"warm", "cold"}))
      ->capture_default_str();
  AddDurationOption(*verb, "--budget", options->budget_ns, "End after this time");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunCollect(application, *options);
    };
  });
}

}  // namespace attune::seer
