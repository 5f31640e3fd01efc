#include "backends/cuda/driver/sample.h"

#include <memory>
#include <optional>
#include <utility>

#include "backends/cuda/driver/captured_graph.h"

namespace attune::cuda {
namespace {

// Begin and end of one timed span.
class Span {
 public:
  explicit Span(const Driver& driver) : driver_(driver) {}
  Span(Span&& other) noexcept
      : driver_(other.driver_),
        begin_(std::exchange(other.begin_, nullptr)),
        end_(std::exchange(other.end_, nullptr)) {}
  Span& operator=(Span&&) = delete;
  ~Span() {
    if (begin_ != nullptr) driver_.cuEventDestroy(begin_);
    if (end_ != nullptr) driver_.cuEventDestroy(end_);
  }

  Status Create() {
    for (CUevent* event : {&begin_, &end_}) {
      ATTUNE_RETURN_IF_ERROR(CudaStatus(driver_, driver_.cuEventCreate(event, CU_EVENT_DEFAULT),
                                        "Cannot create an event"));
    }
    return Status::Ok();
  }

  // CU_EVENT_RECORD_EXTERNAL inside of a capture: the graph then records the event at every replay.
  Status Begin(CUstream stream, unsigned flags) const { return Record(begin_, stream, flags); }
  Status End(CUstream stream, unsigned flags) const { return Record(end_, stream, flags); }

  // REQUIRES: the span is over.
  Result<double> LengthNs() const {
    float ms = 0;
    ATTUNE_RETURN_IF_ERROR(CudaStatus(driver_, driver_.cuEventElapsedTime(&ms, begin_, end_),
                                      "Cannot read the time between two events"));
    return double{ms} * 1e6;
  }

 private:
  Status Record(CUevent event, CUstream stream, unsigned flags) const {
    return CudaStatus(driver_, driver_.cuEventRecordWithFlags(event, stream, flags),
                      "Cannot record an event");
  }

  const Driver& driver_;
  CUevent begin_ = nullptr;
  CUevent end_ = nullptr;
};

// One span over all launches, or with displacement one for each.
Result<std::vector<Span>> MakeSpans(const Driver& driver, const SamplePlan& plan) {
  std::vector<Span> spans;
  const int count = plan.displace ? plan.launches : 1;
  for (int i = 0; i < count; ++i) {
    ATTUNE_RETURN_IF_ERROR(spans.emplace_back(driver).Create());
  }
  return spans;
}

Status Enqueue(CUstream stream, const SamplePlan& plan, const std::vector<Span>& spans,
               unsigned flags) {
  if (!plan.displace) {
    ATTUNE_RETURN_IF_ERROR(spans[0].Begin(stream, flags));
    for (int i = 0; i < plan.launches; ++i) ATTUNE_RETURN_IF_ERROR(plan.launch());
    return spans[0].End(stream, flags);
  }
  for (const Span& span : spans) {
    ATTUNE_RETURN_IF_ERROR(plan.displace());
    ATTUNE_RETURN_IF_ERROR(span.Begin(stream, flags));
    ATTUNE_RETURN_IF_ERROR(plan.launch());
    ATTUNE_RETURN_IF_ERROR(span.End(stream, flags));
  }
  return Status::Ok();
}

// Makes `graph` out of the work that `enqueue` enqueues, or returns the reason for a failure.
Status MakeGraph(const Driver& driver, CUstream stream, const std::function<Status()>& enqueue,
                 ExecutableGraph& graph) {
  CapturedGraph captured(driver);
  ATTUNE_RETURN_IF_ERROR(captured.Capture(stream, enqueue));
  return graph.Make(captured.graph());
}

// Waits for the `launches` launches of all `spans`.
Result<double> AwaitLaunchNs(const Driver& driver, CUstream stream, const std::vector<Span>& spans,
                             int launches) {
  ATTUNE_RETURN_IF_ERROR(
      CudaStatus(driver, driver.cuStreamSynchronize(stream), "A timed launch did not complete"));
  double total_ns = 0;
  for (const Span& span : spans) {
    ATTUNE_ASSIGN_OR_RETURN(const double ns, span.LengthNs());
    total_ns += ns;
  }
  return total_ns / launches;
}

class RecordedSample final : public TimedBlock {
 public:
  RecordedSample(const Driver& driver, CUstream stream, int launches, std::vector<Span> spans)
      : driver_(driver),
        stream_(stream),
        launches_(launches),
        spans_(std::move(spans)),
        graph_(driver) {}

  Status Capture(const SamplePlan& plan) {
    return MakeGraph(
        driver_, stream_, [&] { return Enqueue(stream_, plan, spans_, CU_EVENT_RECORD_EXTERNAL); },
        graph_);
  }
  Status Upload() const { return graph_.Upload(stream_); }

  Result<double> TimeNs() override {
    ATTUNE_RETURN_IF_ERROR(graph_.Replay(stream_));
    return AwaitLaunchNs(driver_, stream_, spans_, launches_);
  }

 private:
  const Driver& driver_;
  const CUstream stream_;
  const int launches_;
  const std::vector<Span> spans_;  // The graph records their events.
  ExecutableGraph graph_;
};

}  // namespace

Result<std::unique_ptr<TimedBlock>> RecordSample(const Driver& driver, CUstream stream,
                                                 const SamplePlan& plan) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Span> spans, MakeSpans(driver, plan));
  auto sample = std::make_unique<RecordedSample>(driver, stream, plan.launches, std::move(spans));
  if (!sample->Capture(plan).ok()) return std::unique_ptr<TimedBlock>();
  ATTUNE_RETURN_IF_ERROR(sample->Upload());
  return std::unique_ptr<TimedBlock>(std::move(sample));
}

Result<double> TakeSampleNs(const Driver& driver, CUstream stream, const SamplePlan& plan) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Span> spans, MakeSpans(driver, plan));
  ExecutableGraph graph(driver);
  const Status captured = MakeGraph(
      driver, stream, [&] { return Enqueue(stream, plan, spans, CU_EVENT_RECORD_EXTERNAL); },
      graph);
  if (captured.ok()) {
    ATTUNE_RETURN_IF_ERROR(graph.Upload(stream));
    ATTUNE_RETURN_IF_ERROR(graph.Replay(stream));
  } else {
    ATTUNE_RETURN_IF_ERROR(Enqueue(stream, plan, spans, CU_EVENT_RECORD_DEFAULT));
  }
  return AwaitLaunchNs(driver, stream, spans, plan.launches);
}

Status TryCapture(const Driver& driver, CUstream stream, const std::function<Status()>& launch) {
  ExecutableGraph graph(driver);
  return MakeGraph(driver, stream, launch, graph);
}

}  // namespace attune::cuda
