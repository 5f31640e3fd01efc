#include "backends/cuda/replayed_executable.h"

#include <algorithm>
#include <limits>
#include <list>
#include <utility>
#include <vector>

#include "attune/base/steady_time.h"
#include "backends/cuda/addresses.h"
#include "backends/cuda/captured_graph.h"

namespace attune::cuda {
namespace {

// What a launch depends on.
struct LaunchKey {
  std::vector<const void*> addresses;  // Of the operands and the workspace.
  double alpha = 1;
  double beta = 0;
  void* queue = nullptr;

  friend bool operator==(const LaunchKey&, const LaunchKey&) = default;
};

class ReplayedExecutable final : public Executable {
 public:
  ReplayedExecutable(CudaDevice& device, std::unique_ptr<Executable> executable, int64_t least_ns)
      : device_(device), executable_(std::move(executable)), least_ns_(least_ns) {}
  ReplayedExecutable(const ReplayedExecutable&) = delete;
  ReplayedExecutable& operator=(const ReplayedExecutable&) = delete;
  ~ReplayedExecutable() override {
    if (seen_.empty()) return;
    (void)device_.Enter();
    const DuringCapture allowed(device_.driver());
    seen_.clear();  // Graphs that are executed are gone when that is over.
  }

  size_t workspace_bytes() const override { return executable_->workspace_bytes(); }
  bool is_concurrent() const override { return false; }
  bool is_needed_by_graphs() const override { return executable_->is_needed_by_graphs(); }

  Status Run(const Arguments& arguments) override {
    if (!may_replay_ || arguments.queue == nullptr || IsCaptured(arguments.queue)) {
      return executable_->Run(arguments);
    }
    Seen& seen = SeenOf(arguments);
    if (seen.graph != nullptr) return Replay(seen, arguments);
    if (seen.launches < kDirectLaunches) return RunDirectly(seen, arguments);
    if (!Capture(seen, arguments).ok()) {
      may_replay_ = false;
      return executable_->Run(arguments);
    }
    return Replay(seen, arguments);
  }

 private:
  struct Seen {
    LaunchKey key;
    int launches = 0;  // Direct ones.
    std::unique_ptr<ExecutableGraph> graph;
  };

  // A queue of which that cannot be told is launched into, which says what is wrong with it.
  bool IsCaptured(void* queue) const {
    const Result<uint64_t> recording = device_.RecordingOf(queue);
    return !recording.ok() || *recording != 0;
  }

  // What is known of launches with `arguments`, which is first of all then.
  Seen& SeenOf(const Arguments& arguments) {
    asked_.addresses.clear();
    for (const BufferView& operand : arguments.operands) {
      asked_.addresses.push_back(AddressOf(operand));
    }
    asked_.addresses.push_back(AddressOf(arguments.workspace));
    asked_.alpha = arguments.alpha;
    asked_.beta = arguments.beta;
    asked_.queue = arguments.queue;
    const auto found = std::ranges::find(seen_, asked_, &Seen::key);
    if (found != seen_.end()) {
      seen_.splice(seen_.begin(), seen_, found);
      return seen_.front();
    }
    if (seen_.size() == kMostReplayedGraphs) Forget();
    seen_.push_front({asked_, 0, nullptr});
    return seen_.front();
  }

  void Forget() {
    const DuringCapture allowed(device_.driver());
    seen_.pop_back();
  }

  Status RunDirectly(Seen& seen, const Arguments& arguments) {
    const int64_t begin_ns = SteadyNowNs();
    ATTUNE_RETURN_IF_ERROR(executable_->Run(arguments));
    quickest_ns_ = std::min(quickest_ns_, SteadyNowNs() - begin_ns);
    ++seen.launches;
    ++timed_launches_;
    if (timed_launches_ == kDirectLaunches && quickest_ns_ < least_ns_) may_replay_ = false;
    return Status::Ok();
  }

  Status Capture(Seen& seen, const Arguments& arguments) {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const DuringCapture allowed(device_.driver());
    auto graph = std::make_unique<ExecutableGraph>(device_.driver());
    const auto queue = static_cast<CUstream>(arguments.queue);
    ATTUNE_RETURN_IF_ERROR(device_.capture_streams().With(queue, [&](CUstream stream) {
      Arguments captured = arguments;
      captured.queue = stream;
      return graph->Capture(stream, [&] { return executable_->Run(captured); });
    }));
    seen.graph = std::move(graph);
    return Status::Ok();
  }

  Status Replay(const Seen& seen, const Arguments& arguments) {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    return seen.graph->Replay(static_cast<CUstream>(arguments.queue));
  }

  CudaDevice& device_;
  const std::unique_ptr<Executable> executable_;
  const int64_t least_ns_;
  bool may_replay_ = true;
  int timed_launches_ = 0;
  int64_t quickest_ns_ = std::numeric_limits<int64_t>::max();
  LaunchKey asked_;       // Kept for its memory.
  std::list<Seen> seen_;  // The latest one first.
};

}  // namespace

std::unique_ptr<Executable> ReplayIfSlow(CudaDevice& device, std::unique_ptr<Executable> executable,
                                         int64_t least_ns) {
  return std::make_unique<ReplayedExecutable>(device, std::move(executable), least_ns);
}

}  // namespace attune::cuda
