#include "attune/formats/miopen/file_name.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "attune/formats/miopen/bzip2.h"
#include "attune/problem/text_error.h"

namespace attune::miopen {
namespace {

constexpr int kMostDecimalUnits = 64;
constexpr std::string_view kKinds[] = {"find-db", "perf-db", "kernel-db", "batch-norm-db"};
constexpr std::string_view kBatchNorms = "batchnorm_";
constexpr std::string_view kBackends[] = {"HIP", "OpenCL"};
constexpr std::string_view kFeatures[] = {"_sramecc", "_nosramecc", "_xnack"};

struct Ending {
  std::string_view text;
  DatabaseKind kind;
  Storage storage;
};
// An ending that contains another one comes first.
constexpr Ending kEndings[] = {
    {".ufdb.txt", DatabaseKind::kFindDb, Storage::kText},
    {".fdb.txt", DatabaseKind::kFindDb, Storage::kText},
    {".cd.updb.txt", DatabaseKind::kPerfDb, Storage::kText},
    {".cd.pdb.txt", DatabaseKind::kPerfDb, Storage::kText},
    {".udb.txt", DatabaseKind::kPerfDb, Storage::kText},
    {".db.txt", DatabaseKind::kPerfDb, Storage::kText},
    {".udb", DatabaseKind::kPerfDb, Storage::kSqlite},
    {".db", DatabaseKind::kPerfDb, Storage::kSqlite},
    {".ukdb", DatabaseKind::kKernelDb, Storage::kSqlite},
    {".kdb", DatabaseKind::kKernelDb, Storage::kSqlite},
};

// Removes one of `words` from the beginning of `text` and returns it; empty if none matches.
std::string_view TakeWord(std::string_view& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    return word;
  }
  return {};
}

bool BeginsAsGpu(std::string_view base) {
  constexpr std::string_view kFamily = "gfx";
  return base.size() >= kFamily.size() &&
         std::equal(kFamily.begin(), kFamily.end(), base.begin(), [](char expected, char c) {
           return c == expected || c == expected - 'a' + 'A';
         });
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "gfx" and the digits of the architecture: four from gfx10 on, three before.
std::string_view ArchOf(std::string_view target) {
  if (!target.starts_with("gfx") || target.size() < 6) return {};
  const size_t digits = target[3] == '1' ? 4 : 3;
  const std::string_view arch = target.substr(0, 3 + digits);
  const bool is_arch =
      arch.size() == 3 + digits && std::all_of(arch.begin() + 3, arch.end(), IsHexDigit);
  return is_arch ? arch : std::string_view();
}

// All of `text`, in `base`, as it would be written again.
std::optional<int> UnitsOf(std::string_view text, int base) {
  int units = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, units, base);
  if (error != std::errc() || stop != end || text.front() == '0' || text.front() == '-') {
    return std::nullopt;
  }
  return units;
}

// MIOpen keeps batch norms in perf-dbs of today's text alone.
bool IsOfBatchNorms(const Ending& ending) {
  return ending.text == ".db.txt" || ending.text == ".udb.txt";
}

std::string EndingList() {
  std::string list;
  for (const Ending& ending : kEndings) {
    fmt::format_to(std::back_inserter(list), "{}*{}", list.empty() ? "" : ", ", ending.text);
  }
  return list;
}

// Reads the part before the ending: "gfx906_60.HIP.2_11_0_993628deb", "gfx906_60_1.1.0".
void ReadStem(std::string_view stem, FileName& name) {
  for (const std::string_view version : {"_1.0.0", "_1.1.0"}) {
    if (stem.ends_with(version)) stem.remove_suffix(version.size());
  }
  const size_t dot = std::min(stem.find('.'), stem.size());
  const std::string_view base = stem.substr(0, dot);
  // Kernels may be of every GPU of an architecture.
  const bool is_arch = name.kind == DatabaseKind::kKernelDb && ArchOf(base) == base;
  if (is_arch || ParseTargetName(base).ok()) name.target = base;
  if (BeginsAsGpu(base)) name.claimed_gpu = base;
  if (name.kind != DatabaseKind::kFindDb || dot == stem.size()) return;
  // MIOpen writes the backend first; a user who renames a file may put words before it.
  std::string_view rest = stem.substr(dot + 1);
  while (!rest.empty() && name.backend.empty()) {
    const size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (std::ranges::find(kBackends, word) != std::end(kBackends)) name.backend = word;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

std::string_view Name(DatabaseKind kind) { return kKinds[static_cast<size_t>(kind)]; }

Result<FileName> ParseFileName(const std::filesystem::path& path) {
  std::string text = path.filename().string();
  if (IsPacked(path)) text.resize(text.size() - kBzip2Ending.size());
  const auto* const ending =
      std::find_if(std::begin(kEndings), std::end(kEndings),
                   [&text](const Ending& each) { return text.ends_with(each.text); });
  if (ending == std::end(kEndings)) {
    return InvalidArgument(fmt::format("{} is no name of a database of MIOpen's. They end as {}.",
                                       Quoted(text), EndingList()));
  }
  std::string_view stem = std::string_view(text).substr(0, text.size() - ending->text.size());
  if (stem.find(".fusion") != stem.npos) {
    return Unsupported(fmt::format(
        "{} is a database of fusions. Only those of convolutions and of batch norms are read.",
        Quoted(text)));
  }
  FileName name{ending->kind, ending->storage, {}, {}, {}, ending->text.starts_with(".cd.")};
  if (stem.starts_with(kBatchNorms)) {
    if (!IsOfBatchNorms(*ending)) {
      return Unsupported(fmt::format(
          "{} is no name of a database of batch norms. MIOpen keeps those as text alone: "
          "{}*.db.txt, {}*.udb.txt.",
          Quoted(text), kBatchNorms, kBatchNorms));
    }
    name.kind = DatabaseKind::kBatchNormDb;
    stem.remove_prefix(kBatchNorms.size());
  }
  ReadStem(stem, name);
  return name;
}

Result<GpuName> ParseTargetName(std::string_view target) {
  GpuName gpu;
  gpu.arch = ArchOf(target);
  std::string_view rest = target.substr(gpu.arch.size());
  for (;;) {
    const std::string_view feature = TakeWord(rest, {kFeatures[0], kFeatures[1], kFeatures[2]});
    if (feature.empty()) break;
    gpu.features += feature;
  }
  const bool is_decimal = rest.starts_with('_');
  if (is_decimal) rest.remove_prefix(1);
  const auto units = rest.empty() ? std::nullopt : UnitsOf(rest, is_decimal ? 10 : 16);
  gpu.compute_units = units.value_or(0);
  if (!gpu.arch.empty() && units.has_value() && TargetName(gpu) == target) return gpu;
  return InvalidArgument(fmt::format(
      "{} is no target. Targets are named as MIOpen's databases are: gfx906_60 for up to 64 "
      "compute units in decimal, gfx90a68 for more (104) in hexadecimal.",
      Quoted(target)));
}

Status CheckTarget(std::string_view target, DatabaseKind kind) {
  const bool may_be_arch = kind == DatabaseKind::kKernelDb;
  if (may_be_arch && !target.empty() && ArchOf(target) == target) return Status::Ok();
  const Status status = ParseTargetName(target).status();
  if (status.ok() || !may_be_arch) return status;
  return InvalidArgument(status.message() + " Kernels may be of a whole architecture: gfx906.");
}

std::string TargetName(const GpuName& gpu) {
  return gpu.compute_units <= kMostDecimalUnits
             ? fmt::format("{}{}_{}", gpu.arch, gpu.features, gpu.compute_units)
             : fmt::format("{}{}{:x}", gpu.arch, gpu.features, gpu.compute_units);
}

}  // namespace attune::miopen
