#include "apps/attune/kernel_options.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/replaced_file.h"
#include "apps/attune/terminal.h"
#include "attune/base/process_variables.h"
#include "attune/kernel/file_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/own_kernel.h"
#include "attune/problem/own_kernel.h"

namespace attune {
namespace {

constexpr const char* kKernelPathVariable = "ATTUNE_KERNEL_PATH";

// The program and its workers read kernel files from this variable.
void PutFirst(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::string absolute = std::filesystem::absolute(path, ignored).string();
  const std::string others = VariableOr(kKernelPathVariable, "");
  const std::string all = others.empty() ? absolute : absolute + ":" + others;
  ::setenv(kKernelPathVariable, all.c_str(), 1);
}

// The problem of `file`, which was read from `path`, for the sizes in `text` (m=4096,n=4096).
Result<Problem> OwnProblem(const kernel::KernelFile& file, const std::filesystem::path& path,
                           const std::string& text) {
  ATTUNE_ASSIGN_OR_RETURN(kernel::OwnSizes sizes, kernel::ParseSizes(text));
  sizes.insert(file.own->usual_sizes.begin(), file.own->usual_sizes.end());
  auto problem = kernel::MakeOwnProblem(file, sizes);
  if (problem.ok()) return problem;
  return kernel::AtPlaceIn(path, problem.error());
}

struct GivenKernel {
  bool is_whole = false;            // Without sizes all of the kernel is meant, not its usual ones.
  std::string* path_too = nullptr;  // A second receiver of the path; may be null.
  std::string path = {};
  std::vector<std::string> sizes = {};
};

void TakeKernel(const GivenKernel& given, std::vector<std::string>& problems, std::string& device) {
  const auto fail = [](const Status& status, const char* option = "--kernel") {
    throw CLI::ValidationError(option, Printable(status.message()));
  };
  std::error_code ignored;
  const auto file = kernel::LoadOwnKernel(given.path);
  // A mistake in a file is one of usage; a file that is not there is none, as for other options.
  if (!file.ok() && !std::filesystem::exists(given.path, ignored)) {
    throw CLI::FileError(file.error().message());
  }
  if (!file.ok()) return fail(file.error());
  std::vector<std::string> sizes = given.sizes;
  if (sizes.empty() && !given.is_whole) sizes.emplace_back();
  for (const std::string& text : sizes) {
    const auto problem = OwnProblem(*file, given.path, text);
    if (!problem.ok()) return fail(problem.error(), text.empty() ? "--kernel" : "--size");
    problems.push_back(Text(*problem));
  }
  if (device.empty()) device = fmt::format("{}:0", Name(file->language));
  PutFirst(given.path);
}

void AddOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                std::string& device, GivenKernel kernel_of_verb) {
  auto given = std::make_shared<GivenKernel>(std::move(kernel_of_verb));
  // Options of the verb are taken before those of its groups.
  CLI::Option* size =
      verb.add_option("--size", given->sizes,
                      "With --kernel: the sizes of one problem, as m=4096,n=4096; may be repeated")
          ->allow_extra_args(false)
          ->type_name("SIZES");
  CLI::Option* kernel = group.add_option_function<std::string>(
      "--kernel",
      [given, &problems, &device](const std::string& path) {
        given->path = path;
        if (given->path_too != nullptr) *given->path_too = path;
        TakeKernel(*given, problems, device);
      },
      "A kernel of your own, described by this file; runs on the first device of its language "
      "unless --device says otherwise");
  kernel->type_name("FILE");
  size->needs(kernel);
}

}  // namespace

void AddKernelOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                      std::string& device) {
  AddOptions(verb, group, problems, device, {});
}

void AddKernelOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                      std::string& device, std::string& path) {
  AddOptions(verb, group, problems, device, {true, &path});
}

void AddKernelFileOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                          std::string& device, std::string& path) {
  AddOptions(verb, group, problems, device, {false, &path});
}

Status CheckNoInputOfKernel(const std::string& output, const std::string& path) {
  if (path.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const kernel::KernelFile file, kernel::LoadOwnKernel(path));
  std::vector<std::string> inputs;
  for (const std::filesystem::path& read : file.read_files) inputs.push_back(read.string());
  return CheckNoInput(output, inputs);
}

int64_t ShareOfBudget(int64_t budget_ns, size_t problems) {
  constexpr double kShareOfProblems = 0.98;
  const double share_ns = kShareOfProblems * static_cast<double>(budget_ns);
  return static_cast<int64_t>(share_ns / static_cast<double>(std::max<size_t>(problems, 1)));
}

Status CheckOwnKernels(const Place& place, const std::vector<TaggedProblem>& problems) {
  for (const TaggedProblem& tagged : problems) {
    if (!IsOwnKernel(tagged.problem)) continue;
    ATTUNE_ASSIGN_OR_RETURN(const OwnKernelProblem own, OwnKernelOf(tagged.problem));
    Status closest = Unsupported(fmt::format(
        "Device '{}' has no kernel '{}': it is written in another language, or its file is neither "
        "named by --kernel nor in {}.",
        place.device_spec, own.name, kKernelPathVariable));
    bool is_found = false;
    for (const auto& solver : place.backend->solvers()) {
      if (solver->traits().operator_name != kOwnKernelOperator || solver->traits().last_resort) {
        continue;
      }
      const Status applies = solver->IsApplicable(tagged.problem, place.target);
      if (!applies.ok()) {
        const bool is_it =
            solver->id().name == fmt::format("{}.{}", place.target.backend, own.name);
        if (is_it) closest = applies;
        continue;
      }
      is_found = true;
      const auto space = solver->Space(tagged.problem, place.target);
      if (space.ok()) continue;
      return InvalidArgument(space.error().message())
          .WithContext(fmt::format("Kernel {}", own.name));
    }
    if (!is_found) return closest;
  }
  return Status::Ok();
}

}  // namespace attune
