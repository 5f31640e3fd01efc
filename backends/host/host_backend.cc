#include "backends/host/host_backend.h"

#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "attune/base/process_room.h"
#include "attune/base/process_variables.h"
#include "attune/ops/registry.h"
#include "attune/solver/plugin.h"
#include "backends/host/absent_solver.h"
#include "backends/host/cpu.h"
#include "backends/host/execution_environment.h"
#include "backends/host/gemm/gemm_solvers.h"
#include "backends/host/host_device.h"
#include "backends/host/kernels/kernel_choice.h"
#include "backends/host/library_report.h"
#include "backends/host/operators.h"
#include "backends/host/own_kernels.h"
#include "backends/host/peaks.h"
#include "backends/host/perf_counters.h"
#include "backends/host/symbol_scope.h"
#include "backends/host/thread_binding.h"
#include "backends/host/threads/thread_pool.h"

#ifdef ATTUNE_WITH_HOST_CONV
#include "backends/host/conv/conv_solvers.h"
#endif

namespace attune {
namespace host {
namespace {

// `dialect` with the file of the option, or of the environment variable, in place of Debian's
// names.
BlasDialect Redirected(BlasDialect dialect, const std::string& path, const char* variable) {
  const std::string named = VariableOr(variable, "");
  const std::string chosen = path.empty() ? named : path;
  if (!chosen.empty()) dialect.file_names = {chosen};
  dialect.may_be_programs_own = chosen.empty();
  if (path.empty() && !named.empty()) dialect.chosen_by = variable;
  return dialect;
}

struct Plugin {
  std::string name;
  const PluginDescription* description = nullptr;
  LibraryReport report;
  Status kept_out;  // Why limits of this process prevent loading; else Ok.
};

// If the program links another copy of the library behind a plug-in, the plug-in would bind to that
// copy.
Status CheckLibraryOf(const std::string& plugin) {
#ifdef ATTUNE_ONEDNN_FILE
  if (plugin != "onednn") return Status::Ok();
  const Definition global = FindInGlobalScope({"dnnl_version"});
  if (global.name.empty() || SharedLibrary::PathOfLoaded(ATTUNE_ONEDNN_FILE) == global.path) {
    return Status::Ok();
  }
  return Unavailable(
      fmt::format("cannot load {} beside {}, which the program uses and which defines {}, too",
                  ATTUNE_ONEDNN_FILE, global.path, global.name));
#else
  (void)plugin;
  return Status::Ok();
#endif
}

Plugin OpenPlugin(const std::string& name) {
  if (const char* scarce = ScarceForLoading()) {
    const Status kept_out = ResourceExhausted(
        fmt::format("cannot load the plug-in {}: too little is left of {}", name, scarce));
    return {name, nullptr, MissingLibrary(name, kept_out.message()), kept_out};
  }
  if (const Status fits = CheckLibraryOf(name); !fits.ok()) {
    return {name, nullptr, MissingLibrary(name, fits.message()), {}};
  }
  const Result<const PluginDescription*> loaded = LoadPlugin(name);
  if (!loaded.ok()) return {name, nullptr, MissingLibrary(name, loaded.error().message()), {}};
  Plugin plugin{name, *loaded, FoundLibrary(name, "", "", ""), {}};
  if (plugin.description->report != nullptr) plugin.report = plugin.description->report();
  return plugin;
}

void MoveAll(SolverList& from, std::string_view operator_name, SolverList& to) {
  for (auto& solver : from) {
    if (solver != nullptr && solver->traits().operator_name == operator_name) {
      to.push_back(std::move(solver));
    }
  }
}

class HostBackend final : public Backend {
 public:
  explicit HostBackend(const HostBackendOptions& options)
      : cpu_(DescribeCpu()),
        pool_(cpu_.usable_cores),
        resources_{&pool_, &KernelsFor(cpu_.level)},
        openblas_(Redirected(OpenBlasDialect(), options.openblas_path, "ATTUNE_OPENBLAS")),
        blis_(Redirected(BlisDialect(), options.blis_path, "ATTUNE_BLIS")) {
    for (const std::string& name : options.plugins) plugins_.push_back(OpenPlugin(name));
    MakeSolvers();
  }

  std::string_view name() const override { return "host"; }
  const SolverList& solvers() const override { return solvers_; }

  std::vector<DeviceReport> Devices() const override {
    return {{.spec = "cpu",
             .target = TargetOf(cpu_),
             .reason = "",
             .cache_bytes = cpu_.l3_bytes,
             .no_counters = CheckPerfCounters().message()}};
  }

  std::vector<LibraryReport> Libraries() const override {
    std::vector<LibraryReport> reports = {openblas_.Report(), blis_.Report(), ReportXsmm(),
                                          ReportEigen(cpu_.level)};
    for (const Plugin& plugin : plugins_) reports.push_back(plugin.report);
    return reports;
  }

  Environment DescribeEnvironment() const override {
    Environment environment;
    for (const LibraryReport& report : Libraries()) {
      if (!report.available) continue;
      environment["library." + report.name] = report.version;
      environment["library." + report.name + ".build_id"] = report.build_id;
    }
    const Result<BlasLibrary*> openblas = openblas_.Get();
    if (openblas.ok()) environment["library.openblas.core"] = (*openblas)->core();
    environment.merge(DescribeOwnKernels(cpu_.level));
    environment.merge(DescribeOperators(cpu_.level));
    environment.merge(DescribeExecution());
    return environment;
  }

  bool OpensAfterFork() const override { return true; }
  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override {
    if (spec != "cpu") {
      return NotFound(fmt::format("Backend host has no device '{}'. It has: cpu.", spec));
    }
    return std::unique_ptr<Device>(std::make_unique<HostDevice>(cpu_, pool_));
  }

  Result<Peaks> MeasurePeaks(Device& device) const override {
    if (device.target() != TargetOf(cpu_)) {
      return InvalidArgument(
          fmt::format("Device {} was not opened by backend host.", Text(device.target())));
    }
    return MeasureHostPeaks(cpu_, resources_);
  }

 private:
  void MakeSolvers() {
    SolverList brought;
    for (const Plugin& plugin : plugins_) {
      if (!plugin.kept_out.ok()) {
        for (const std::string_view operator_name : OperatorNames()) {
          brought.push_back(std::make_unique<AbsentSolver>(
              fmt::format("host.{}-{}", plugin.name, operator_name), plugin.kept_out));
        }
      }
      if (plugin.description == nullptr || plugin.description->make_solvers == nullptr) continue;
      for (auto& solver : plugin.description->make_solvers()) brought.push_back(std::move(solver));
    }
    SolverList own;
    own.push_back(MakeXsmmGemm(resources_));
    own.push_back(MakeEigenGemm(cpu_.level, resources_));
    own.push_back(MakePackedGemm(resources_));
    own.push_back(MakeSkinnyGemm(resources_));
    own.push_back(MakeReferenceGemm(resources_));
    // OpenBLAS is the default and comes first, because programs on this system call it unless the
    // user chooses another library.
    solvers_.push_back(MakeBlasGemm(openblas_, resources_));
    solvers_.push_back(MakeBlasGemm(blis_, resources_));
    MoveAll(brought, "gemm", solvers_);
    MoveAll(own, "gemm", solvers_);
    MakeConvSolvers(brought);
    // Solvers of attune come first: the default of an unverified shape must be accurate.
    AddOperatorSolvers({&pool_, cpu_.level}, solvers_);
    for (auto& solver : brought) {
      if (solver != nullptr) solvers_.push_back(std::move(solver));
    }
  }

  // Those of libraries first, then ours, which compute with any of the products.
  void MakeConvSolvers(SolverList& brought) {
    std::vector<const Solver*> products;
    for (const auto& solver : solvers_) products.push_back(solver.get());
    MoveAll(brought, "conv", solvers_);
#ifdef ATTUNE_WITH_HOST_CONV
    SolverList convolutions = MakeHostConvSolvers(products, pool_, cpu_.level);
    MoveAll(convolutions, "conv", solvers_);
#endif
  }

  const CpuDescription cpu_;
  // Thread-safe. Const methods lend it out, because objects of the backend compute on it.
  mutable ThreadPool pool_;
  const HostResources resources_;
  const LazyBlas openblas_;
  const LazyBlas blis_;
  std::vector<Plugin> plugins_;
  SolverList solvers_;
};

}  // namespace
}  // namespace host

std::unique_ptr<const Backend> MakeHostBackend(HostBackendOptions options) {
  host::LeaveThreadsUnbound();
  return std::make_unique<host::HostBackend>(options);
}

}  // namespace attune
