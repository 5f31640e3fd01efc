#include "backends/cuda/driver/replayed_executable.h"

#include <algorithm>
#include <limits>
#include <list>
#include <utility>
#include <vector>

#include "attune/base/steady_time.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/captured_graph.h"
#include "backends/cuda/driver/graph_nodes.h"

namespace attune::cuda {
namespace {

// The inputs of a launch.
struct LaunchKey {
  std::vector<const void*> addresses;  // Operands and workspace.
  double alpha = 1;
  double beta = 0;
  void* queue = nullptr;

  friend bool operator==(const LaunchKey&, const LaunchKey&) = default;
};

// The element of `list` with `key`, which is its first one then; null if there is none.
template <class Element>
Element* Bring(std::list<Element>& list, const LaunchKey& key) {
  const auto found = std::ranges::find(list, key, &Element::key);
  if (found == list.end()) return nullptr;
  list.splice(list.begin(), list, found);
  return &list.front();
}

class ReplayedExecutable final : public Executable {
 public:
  ReplayedExecutable(CudaDevice& device, std::unique_ptr<Executable> executable,
                     const ReplayTerms& terms)
      : device_(device),
        executable_(std::move(executable)),
        terms_(terms),
        may_replay_(device.replays()) {}
  ReplayedExecutable(const ReplayedExecutable&) = delete;
  ReplayedExecutable& operator=(const ReplayedExecutable&) = delete;
  ~ReplayedExecutable() override { ForgetGraphs(); }

  size_t workspace_bytes() const override { return executable_->workspace_bytes(); }
  bool is_needed_by_graphs() const override { return executable_->is_needed_by_graphs(); }

  Status Run(const Arguments& arguments) override {
    if (!may_replay_ || arguments.queue == nullptr || IsCaptured(arguments.queue)) {
      return executable_->Run(arguments);
    }
    ++launches_;
    NoteKey(arguments);
    if (Graphed* graphed = Bring(graphs_, key_)) return Replay(*graphed, arguments);
    Counted& counted = CountedNow();
    if (counted.launches < kDirectLaunches || !HasRoom()) return RunDirectly(counted, arguments);
    if (!Capture(arguments).ok()) {
      StopReplaying();
      return executable_->Run(arguments);
    }
    counted_.pop_front();
    return Replay(graphs_.front(), arguments);
  }

 private:
  struct Counted {
    LaunchKey key;
    int launches = 0;
  };
  struct Graphed {
    LaunchKey key;
    std::unique_ptr<ExecutableGraph> graph;
    int64_t last_launch = 0;
  };

  // A queue without a known capture state is launched into: the launch reports its error.
  bool IsCaptured(void* queue) const {
    const Result<uint64_t> recording = device_.RecordingOf(queue);
    return !recording.ok() || *recording != 0;
  }

  void NoteKey(const Arguments& arguments) {
    key_.addresses.clear();
    for (const BufferView& operand : arguments.operands) {
      key_.addresses.push_back(AddressOf(operand));
    }
    key_.addresses.push_back(AddressOf(arguments.workspace));
    key_.alpha = arguments.alpha;
    key_.beta = arguments.beta;
    key_.queue = arguments.queue;
  }

  Counted& CountedNow() {
    if (Counted* counted = Bring(counted_, key_)) return *counted;
    if (counted_.size() == kMostCountedArguments) counted_.pop_back();
    counted_.push_front({key_, 0});
    return counted_.front();
  }

  // True if there is room for one more graph, after removing a stale one if needed.
  bool HasRoom() {
    if (graphs_.size() < kMostReplayedGraphs) return true;
    if (launches_ - graphs_.back().last_launch <= kStaleAfterLaunches) return false;
    (void)device_.Enter();
    const DuringCapture allowed(device_.driver());
    graphs_.pop_back();
    return true;
  }

  Status RunDirectly(Counted& counted, const Arguments& arguments) {
    const int64_t begin_ns = SteadyNowNs();
    ATTUNE_RETURN_IF_ERROR(executable_->Run(arguments));
    quickest_ns_ = std::min(quickest_ns_, SteadyNowNs() - begin_ns);
    counted.launches = std::min(counted.launches + 1, kDirectLaunches);
    ++direct_launches_;
    if (direct_launches_ == kDirectLaunches && quickest_ns_ < terms_.least_ns) StopReplaying();
    return Status::Ok();
  }

  Status Capture(const Arguments& arguments) {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    CapturedGraph captured(device_.driver());
    {
      std::unique_lock<std::recursive_mutex> alone;
      if (terms_.library != nullptr) alone = std::unique_lock(*terms_.library);
      ATTUNE_RETURN_IF_ERROR(device_.capture_stream().With([&](CUstream stream) {
        Arguments elsewhere = arguments;
        elsewhere.queue = stream;
        return captured.Capture(stream, [&] { return executable_->Run(elsewhere); });
      }));
    }
    ATTUNE_RETURN_IF_ERROR(CheckComputesOnly(device_.driver(), captured.graph()));
    const DuringCapture allowed(device_.driver());
    auto graph = std::make_unique<ExecutableGraph>(device_.driver());
    ATTUNE_RETURN_IF_ERROR(graph->Make(captured.graph()));
    ATTUNE_RETURN_IF_ERROR(graph->Upload(static_cast<CUstream>(arguments.queue)));
    graphs_.push_front({key_, std::move(graph), launches_});
    return Status::Ok();
  }

  Status Replay(Graphed& graphed, const Arguments& arguments) {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    graphed.last_launch = launches_;
    const Status replayed = graphed.graph->Replay(static_cast<CUstream>(arguments.queue));
    // A lost device would fail on the direct path, too.
    if (replayed.ok() || replayed.code() == StatusCode::kUnavailable) return replayed;
    StopReplaying();
    return executable_->Run(arguments);
  }

  void StopReplaying() {
    may_replay_ = false;
    counted_.clear();
    ForgetGraphs();
  }

  // Graphs in execution are freed after it.
  void ForgetGraphs() {
    if (graphs_.empty()) return;
    (void)device_.Enter();
    const DuringCapture allowed(device_.driver());
    graphs_.clear();
  }

  CudaDevice& device_;
  const std::unique_ptr<Executable> executable_;
  const ReplayTerms terms_;
  bool may_replay_;
  int64_t launches_ = 0;  // On queues of the program.
  int direct_launches_ = 0;
  int64_t quickest_ns_ = std::numeric_limits<int64_t>::max();
  LaunchKey key_;  // For the launch in progress; kept to reuse its memory.
  // Most recently used first.
  std::list<Counted> counted_;
  std::list<Graphed> graphs_;
};

}  // namespace

std::unique_ptr<Executable> ReplayIfSlow(CudaDevice& device, std::unique_ptr<Executable> executable,
                                         const ReplayTerms& terms) {
  return std::make_unique<ReplayedExecutable>(device, std::move(executable), terms);
}

}  // namespace attune::cuda
