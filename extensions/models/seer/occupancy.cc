// attune seer occupancy: the number of blocks of a kernel that run at a time, without a GPU.

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "attune/kernel/multiprocessor.h"
#include "extensions/models/seer/seer_verbs.h"

namespace attune::seer {
namespace {

constexpr int kWarp = 32;
constexpr int kMostMultiprocessors = 100'000;

struct OccupancyOptions {
  std::vector<int> threads;
  int registers = 0;
  int64_t shared_bytes = 0;
  std::string arch;
  int multiprocessors = 0;  // 0: from the usual GPU of the architecture.
  bool json = false;
};

std::vector<std::string> KnownArchitectures() {
  std::vector<std::string> names;
  for (const auto& each : kernel::Multiprocessors()) names.emplace_back(each.arch);
  return names;
}

struct OccupancyRow {
  int threads = 0;
  kernel::BlockRoom room;
  int warps = 0;     // Total of a multiprocessor's blocks.
  int64_t wave = 0;  // Blocks on the whole GPU.
  double share = 0;  // Out of a multiprocessor's maximum.
};

OccupancyRow RowOf(int threads, const OccupancyOptions& options,
                   const kernel::Multiprocessor& multiprocessor, int count) {
  OccupancyRow row;
  row.threads = threads;
  row.room = kernel::RoomFor({threads, options.registers, options.shared_bytes}, multiprocessor);
  const int blocks = row.room.blocks();
  row.warps = blocks * ((threads + kWarp - 1) / kWarp);
  row.wave = int64_t{blocks} * count;
  row.share = static_cast<double>(row.warps) * kWarp / multiprocessor.threads;
  return row;
}

Json LimitJson(int limit) { return limit == kernel::BlockRoom::kNoLimit ? Json() : Json(limit); }

Json ToJson(const OccupancyRow& row) {
  const kernel::BlockRoom& room = row.room;
  return {{"threads", row.threads},
          {"blocks_per_multiprocessor", room.blocks()},
          {"blocks_per_wave", row.wave},
          {"warps_per_multiprocessor", row.warps},
          {"occupancy", row.share},
          {"limited_by", room.limited()},
          {"limits",
           {{"threads", LimitJson(room.by_threads)},
            {"registers", LimitJson(room.by_registers)},
            {"shared_memory", LimitJson(room.by_shared_memory)},
            {"blocks", LimitJson(room.by_blocks)}}}};
}

std::string LimitText(int limit) {
  return limit == kernel::BlockRoom::kNoLimit ? "-" : fmt::format("{}", limit);
}

void PrintTable(const std::vector<OccupancyRow>& rows, Output& out) {
  Table table({{"threads", Column::Align::kRight},
               {"blocks/SM", Column::Align::kRight},
               {"blocks/wave", Column::Align::kRight},
               {"warps/SM", Column::Align::kRight},
               {"occupancy", Column::Align::kRight},
               {"by threads", Column::Align::kRight},
               {"by registers", Column::Align::kRight},
               {"by shared memory", Column::Align::kRight},
               {"by blocks", Column::Align::kRight},
               {"limited by"}});
  for (const OccupancyRow& row : rows) {
    table.AddRow({fmt::format("{}", row.threads), fmt::format("{}", row.room.blocks()),
                  fmt::format("{}", row.wave), fmt::format("{}", row.warps),
                  fmt::format("{:.1f} %", 100 * row.share), LimitText(row.room.by_threads),
                  LimitText(row.room.by_registers), LimitText(row.room.by_shared_memory),
                  LimitText(row.room.by_blocks), row.room.limited()});
  }
  out.Print(table.Render(out.screen(), out.width()));
}

Result<int> RunOccupancy(Application& application, const OccupancyOptions& options) {
  const kernel::Multiprocessor* const found = kernel::FindMultiprocessor(options.arch);
  if (found == nullptr) {
    return InvalidArgument(
        fmt::format("cannot tell the occupancy on '{}': known architectures are {}.",
                    Printable(options.arch), fmt::join(KnownArchitectures(), ", ")));
  }
  const int count = options.multiprocessors > 0 ? options.multiprocessors : found->count;
  const std::string gpu = options.multiprocessors > 0 ? "" : std::string(found->gpu);
  std::vector<OccupancyRow> rows;
  for (const int threads : options.threads) rows.push_back(RowOf(threads, options, *found, count));
  Output& out = application.out();
  if (options.json) {
    Json list = Json::array();
    for (const OccupancyRow& row : rows) list.push_back(ToJson(row));
    out.Print(Dump({{"arch", options.arch},
                    {"registers", options.registers},
                    {"shared_memory_bytes", options.shared_bytes},
                    {"multiprocessors", count},
                    {"gpu", gpu.empty() ? Json() : Json(gpu)},
                    {"blocks", std::move(list)}}));
    return kExitDone;
  }
  PrintTable(rows, out);
  out.Print(fmt::format("A wave is of {} multiprocessors{}.\n", count,
                        gpu.empty() ? "" : fmt::format(", those of {} (--sms)", gpu)));
  return kExitDone;
}

}  // namespace

void AddOccupancyVerb(CLI::App& seer, Invocation& invocation) {
  auto options = std::make_shared<OccupancyOptions>();
  CLI::App* verb = AddVerb(
      seer, "occupancy",
      "Show how many blocks of a kernel a multiprocessor and a GPU run at a time",
      "  attune seer occupancy --threads 256 --registers 64 --shared-memory 16384 --arch sm_61\n"
      "  attune seer occupancy --threads 64,128,256 --registers 40 --arch sm_90 --sms 114 "
      "--json\n\n"
      "By the tables of the CUDA C++ Programming Guide; no GPU is needed.");
  verb->add_option("--threads", options->threads,
                   "Threads of a block, or several separated by commas")
      ->required()
      ->delimiter(',')
      ->check(CLI::Range(1, kernel::kMostThreadsOfBlock));
  verb->add_option("--registers", options->registers, "Registers of a thread")
      ->required()
      ->check(CLI::Range(1, kernel::kMostRegistersOfThread));
  verb->add_option("--shared-memory", options->shared_bytes,
                   "Shared memory of a block in bytes, static and dynamic")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  verb->add_option("--arch", options->arch, "Architecture: sm_60 to sm_90")
      ->required()
      ->type_name("sm_XX");
  verb->add_option("--sms", options->multiprocessors,
                   "Multiprocessors of the GPU (default: those of a well-known GPU of --arch)")
      ->check(CLI::Range(1, kMostMultiprocessors))
      ->type_name("N");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunOccupancy(application, *options);
    };
  });
}

}  // namespace attune::seer
