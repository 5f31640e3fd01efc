#include "runtime/kernel_handle.h"

#include <stdlib.h>

#include <algorithm>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"
#include "attune/solver/solver.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/own_kernel/constrained_solver.h"
#include "attune/tuner/own_kernel/own_kernel_check.h"
#include "attune/tuner/session_notes.h"
#include "attune/tuner/tuner.h"
#include "backends/host/execution_environment.h"
#include "backends/host/thread_wait_policy.h"
#include "runtime/tuner_client.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKernelPathVariable = "ATTUNE_KERNEL_PATH";
constexpr size_t kMaxWinners = 64;
constexpr const char* kChildrenWait = "passive";

// Backends of this process and children read kernel files where this says.
void PutFirst(const fs::path& file) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::string others = VariableOr(kKernelPathVariable, "");
  const std::string path = file.string();
  if (others == path || others.starts_with(path + ":")) return;
  const std::string all = others.empty() ? path : path + ":" + others;
  ::setenv(kKernelPathVariable, all.c_str(), 1);
}

Result<std::string> DatabaseOf(const std::string& named) {
  if (!named.empty()) return named;
  const std::string told = VariableOr("ATTUNE_DB", "");
  if (!told.empty()) return IsOnServer(told) ? told : FromStart(told);
  return DefaultDatabasePath();
}

// Whether kernels are something for `device`, be it there or not.
Status CheckRunsKernels(const BackendList& backends, const std::string& device) {
  const std::string backend = device.substr(0, device.find(':'));
  std::vector<std::string> usable;
  for (const kernel::KernelLanguage language : kernel::kKernelLanguages) {
    if (backend == Name(language)) return Status::Ok();
    for (const auto& other : backends) {
      if (other->name() != Name(language)) continue;
      for (const DeviceReport& report : other->Devices()) {
        if (report.reason.empty()) usable.push_back(report.spec);
      }
    }
  }
  return Unsupported(
      fmt::format("The device '{}' runs no kernels of a program's own: OpenCL and CUDA devices do "
                  "(opencl:0, cuda:0). Here {}.",
                  device,
                  usable.empty() ? "there is none of them"
                                 : fmt::format("there is {}", fmt::join(usable, ", "))));
}

}  // namespace

Result<std::unique_ptr<KernelHandle>> KernelHandle::Open(const fs::path& file,
                                                         const KernelHandleOptions& options) {
  std::error_code error;
  const fs::path path = fs::absolute(file, error);
  ATTUNE_ASSIGN_OR_RETURN(kernel::KernelFile loaded, kernel::LoadOwnKernel(path));
  // Before a backend looks for kernels.
  PutFirst(path);
  const bool has_own_openmp = host::SetThreadWaitPolicyInProgram().has_value();
  const std::string device =
      options.device.empty() ? fmt::format("{}:0", Name(loaded.language)) : options.device;
  BackendList backends = LazyBackends();
  ATTUNE_RETURN_IF_ERROR(CheckRunsKernels(backends, device));
  ATTUNE_ASSIGN_OR_RETURN(Place place, FindPlace(backends, device));
  if (place.target.backend != Name(loaded.language)) {
    ATTUNE_ASSIGN_OR_RETURN(loaded, kernel::LoadOwnKernel(path, place.target.backend));
  }
  // What this process has loaded has no part in what children measure.
  const auto waiting = place.environment.find(host::kWaitPolicyField);
  const bool tells_children = has_own_openmp && waiting != place.environment.end();
  if (tells_children) waiting->second = kChildrenWait;
  std::unique_ptr<KernelHandle> handle(
      new KernelHandle(std::move(backends), std::move(place), std::move(loaded), options));
  if (tells_children) {
    handle->child_variables_ = {fmt::format("{}={}", host::kWaitPolicyVariable, kChildrenWait)};
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string database, DatabaseOf(options.database));
  ATTUNE_ASSIGN_OR_RETURN(const fs::path absolute, SqlStorePath(database));
  handle->database_ = absolute.string();
  // Opened now, so that a program learns of problems at once.
  ATTUNE_RETURN_IF_ERROR(OpenSqlStore(handle->database_).status());
  return handle;
}

kernel::OwnSizes KernelHandle::WithUsual(const kernel::OwnSizes& sizes) const {
  kernel::OwnSizes all = sizes;
  all.insert(file_.own->usual_sizes.begin(), file_.own->usual_sizes.end());
  return all;
}

void KernelHandle::Forget() {
  checks_.Stop();
  tuned_.reset();
  winners_.clear();
}

Status KernelHandle::Constrain(Constraint constraint) {
  const auto& sizes = file_.own->sizes;
  for (const std::string& name : constraint.names) {
    const bool is_size = std::find(sizes.begin(), sizes.end(), name) != sizes.end();
    const bool is_parameter =
        std::any_of(file_.parameters.begin(), file_.parameters.end(),
                    [&](const Parameter& parameter) { return parameter.name == name; });
    if (is_size || is_parameter) continue;
    return InvalidArgument(fmt::format(
        "The constraint '{}' reads '{}', which is neither a size nor a parameter of the "
        "kernel {}.",
        constraint.text, name, file_.own->name));
  }
  file_.predicates.push_back(std::move(constraint));
  Forget();
  return Status::Ok();
}

Status KernelHandle::Tune(const kernel::OwnSizes& sizes) {
  TuneOptions options;
  options.per_problem_ns = options_.per_size_ns;
  options.seed = options_.seed;
  // Checks would disturb what is timed, and what is chosen may change.
  Forget();
  ATTUNE_ASSIGN_OR_RETURN(const auto store, OpenSqlStore(database_));
  const OwnKernelPlace place = {
      *place_.backend, place_.device_spec, place_.target, place_.environment, *store, {},
      child_variables_};
  ATTUNE_ASSIGN_OR_RETURN(const TuneReport report,
                          TuneOwnKernel(place, file_, WithUsual(sizes), options));
  if (report.choice.has_value()) return Status::Ok();
  return Unavailable(fmt::format("Kernel {}: {}", file_.own->name, NothingTimedNote(report)));
}

Result<std::vector<TunedSize>> KernelHandle::ReadTuned() const {
  SqlStoreOptions options;
  options.use = StoreUse::kReadAsGuest;
  const auto store = OpenSqlStore(database_, options);
  if (store.status().code() == StatusCode::kNotFound) return std::vector<TunedSize>();
  if (!store.ok()) return store.error();
  return TunedSizesOf(**store, file_, place_.target, place_.environment);
}

Result<std::optional<ServedConfig>> KernelHandle::NearestFor(const kernel::OwnSizes& sizes,
                                                             const Problem& problem,
                                                             const SolverId& solver) {
  // Here, because the program is asked by the thread that calls.
  std::vector<TunedSize> allowed;
  for (const TunedSize& tuned : *tuned_) {
    if (CheckAllowed(file_, problem, tuned.config, place_.target).ok()) allowed.push_back(tuned);
  }
  if (allowed.empty()) return std::optional(ServedConfig());
  ATTUNE_ASSIGN_OR_RETURN(ChildOptions children,
                          ChildrenOn(*place_.backend, place_.device_spec, {}, child_variables_));
  children.run_deadline_ns = CheckDeadlineNs(allowed, sizes, problem);
  const auto find = [=](const std::stop_token& stop) {
    OwnKernelCheck check(children, solver, problem, stop);
    return ChooseConfig(allowed, sizes,
                        [&](const Config& config, ServedBy) { return check(config); });
  };
  return checks_.Ask(sizes, find, options_.check_wait_ns);
}

Status KernelHandle::Serve(const kernel::OwnSizes& sizes, const Problem& problem,
                           KernelWinner& winner) {
  ATTUNE_ASSIGN_OR_RETURN(const Solver* found,
                          FindOwnKernelSolver(file_, place_.backend->solvers(), place_.target));
  ATTUNE_RETURN_IF_ERROR(found->IsApplicable(problem, place_.target));
  if (!tuned_.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(tuned_, ReadTuned());
  }
  for (const TunedSize& tuned : *tuned_) {
    if (tuned.sizes != sizes) continue;
    winner.served = {tuned.config, ServedBy::kExact, sizes, {}};
    winner.time_ns = tuned.time_ns;
    winner.default_time_ns = tuned.default_time_ns;
    return Status::Ok();
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto nearest, NearestFor(sizes, problem, found->id()));
  winner.is_pending = !nearest.has_value();
  winner.served = nearest.value_or(ServedConfig());
  if (winner.served.by == ServedBy::kDefault) {
    const auto solver = MakeConstrainedSolver(*found, file_);
    ATTUNE_ASSIGN_OR_RETURN(winner.served.config, solver->DefaultConfig(problem, place_.target));
  }
  return Status::Ok();
}

Result<const KernelWinner*> KernelHandle::Choose(const kernel::OwnSizes& given) {
  const kernel::OwnSizes sizes = WithUsual(given);
  const auto known = winners_.find(sizes);
  if (known != winners_.end()) return &known->second;
  ATTUNE_ASSIGN_OR_RETURN(const Problem problem, kernel::MakeOwnProblem(file_, sizes));
  KernelWinner winner;
  ATTUNE_RETURN_IF_ERROR(Serve(sizes, problem, winner));
  const ServedConfig& served = winner.served;
  ATTUNE_ASSIGN_OR_RETURN(winner.plan, kernel::MakePlan(file_, problem, served.config));
  if (!file_.is_binary) {
    ATTUNE_ASSIGN_OR_RETURN(winner.source, kernel::MakeSource(file_, problem, served.config));
    winner.compile_options = fmt::format("{}", fmt::join(file_.all_compile_options(), " "));
  }
  if (winner.is_pending) {
    pending_ = std::move(winner);
    return &pending_;
  }
  if (winners_.size() >= kMaxWinners) winners_.clear();
  return &winners_.emplace(sizes, std::move(winner)).first->second;
}

}  // namespace attune
