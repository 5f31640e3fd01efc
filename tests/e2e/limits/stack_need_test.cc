// Measures the stack of calls, for every host solver. The first call of a shape decides, loads and
// compiles. kCallStackBytes must exceed the maximum.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/attune.h"
#include "attune/base/stack_room.h"
#include "attune/ops/batch_norm.h"
#include "attune/ops/softmax.h"
#include "backends/host/host_backend.h"

namespace attune {
namespace {

// Leaves a fifth for other processors and other versions of the libraries.
constexpr size_t kMostUsedBytes = kCallStackBytes / 5 * 4;
constexpr size_t kStackBytes = size_t{8} << 20;
constexpr unsigned char kPaint = 0xA5;

// A stack that is painted before each call, to show the part that the call wrote.
class PaintedStack {
 public:
  PaintedStack()
      : memory_(static_cast<unsigned char*>(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~PaintedStack() { ::munmap(memory_, kStackBytes); }
  PaintedStack(const PaintedStack&) = delete;
  PaintedStack& operator=(const PaintedStack&) = delete;

  unsigned char* memory() const { return memory_; }
  // Paints from below the caller's frame to the end.
  [[gnu::noinline]] void Paint() {
    auto* here = static_cast<unsigned char*>(__builtin_frame_address(0));
    constexpr size_t kFrames = 1024;
    std::memset(memory_, kPaint, static_cast<size_t>(here - memory_) - kFrames);
  }
  [[gnu::noinline]] size_t UsedBytes() const {
    const unsigned char* lowest = memory_;
    while (*lowest == kPaint) ++lowest;
    return static_cast<size_t>(static_cast<unsigned char*>(__builtin_frame_address(0)) - lowest);
  }

 private:
  unsigned char* const memory_;
};

// Memory for the operands of any call.
struct Memory {
  double* a;
  double* b;
  double* c;
};

struct Shape {
  std::string name;
  std::function<attune_code(attune_runtime*, const Memory&)> call;
};

attune_arguments ArgumentsIn(const Memory& memory) {
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = memory.a;
  arguments.b = memory.b;
  arguments.c = memory.c;
  return arguments;
}

// A call with the operands a and c.
template <class Run>
Shape ShapeOfTwo(std::string name, const Run& run) {
  return {std::move(name), [run](attune_runtime* runtime, const Memory& memory) {
            void* data[] = {memory.a, memory.c};
            attune_operands operands = ATTUNE_OPERANDS_INIT;
            operands.data = data;
            operands.count = 2;
            return run(runtime, operands);
          }};
}

Shape GemmShape(int64_t m, int64_t n, int64_t k, attune_type type) {
  attune_gemm gemm{};
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.type = type;
  return {fmt::format("gemm {}x{}x{} type {}", m, n, k, static_cast<int>(type)),
          [gemm](attune_runtime* runtime, const Memory& memory) {
            const attune_arguments arguments = ArgumentsIn(memory);
            return attune_run_gemm(runtime, &gemm, &arguments);
          }};
}

Shape ConvShape(int64_t filters, int64_t filter, attune_direction direction) {
  attune_conv conv{};
  conv.batch = 2;
  conv.in_channels = 16;
  conv.out_channels = filters;
  conv.in[1] = conv.in[2] = 20;
  conv.filter[1] = conv.filter[2] = filter;
  conv.pad[1] = conv.pad[2] = filter / 2;
  conv.direction = direction;
  return {fmt::format("conv {}x{}x{} direction {}", filters, filter, filter,
                      static_cast<int>(direction)),
          [conv](attune_runtime* runtime, const Memory& memory) {
            const attune_arguments arguments = ArgumentsIn(memory);
            return attune_run_conv(runtime, &conv, &arguments);
          }};
}

// Vectors, squares and long sums, small and large: solvers have different code for each.
std::vector<Shape> GemmShapes() {
  std::vector<Shape> shapes;
  for (const attune_type type : {ATTUNE_F32, ATTUNE_F64}) {
    constexpr int64_t kSizes[][3] = {{3, 3, 3},       {40, 40, 40},  {127, 131, 93},
                                     {300, 300, 300}, {1, 300, 300}, {300, 1, 300},
                                     {5, 700, 300},   {700, 700, 4}, {16, 16, 4000}};
    for (const auto& size : kSizes) shapes.push_back(GemmShape(size[0], size[1], size[2], type));
  }
  return shapes;
}

// One filter is a product with a vector.
std::vector<Shape> ConvShapes() {
  std::vector<Shape> shapes;
  for (const int64_t filters : {16, 1}) {
    for (const int64_t filter : {1, 3}) {
      for (const auto direction : {ATTUNE_FORWARD, ATTUNE_BACKWARD_DATA, ATTUNE_BACKWARD_WEIGHTS}) {
        shapes.push_back(ConvShape(filters, filter, direction));
      }
    }
  }
  return shapes;
}

// Lines of adjacent elements, and lines with strides.
std::vector<Shape> SoftmaxShapes() {
  std::vector<Shape> shapes;
  for (const int64_t inner : {1, 30}) {
    attune_softmax softmax{};
    softmax.outer = 60;
    softmax.length = 200;
    softmax.inner = inner;
    shapes.push_back(
        ShapeOfTwo(fmt::format("softmax 60x200x{}", inner),
                   [softmax](attune_runtime* runtime, const attune_operands& operands) {
                     return attune_run_softmax(runtime, &softmax, &operands);
                   }));
  }
  return shapes;
}

// Training in both layouts.
std::vector<Shape> BatchNormShapes() {
  std::vector<Shape> shapes;
  for (const int32_t layout : {0, 1}) {
    attune_batch_norm norm{};
    norm.batch = 4;
    norm.channels = 16;
    norm.height = norm.width = 40;
    norm.layout = layout;
    shapes.push_back(ShapeOfTwo(fmt::format("batch norm, layout {}", layout),
                                [norm](attune_runtime* runtime, const attune_operands& operands) {
                                  return attune_run_batch_norm(runtime, &norm, 1e-5, 0.1,
                                                               &operands);
                                }));
  }
  return shapes;
}

std::vector<Shape> Shapes(const std::string& operator_name) {
  if (operator_name == "gemm") return GemmShapes();
  if (operator_name == "conv") return ConvShapes();
  if (operator_name == "softmax") return SoftmaxShapes();
  if (operator_name == "batch_norm") return BatchNormShapes();
  ADD_FAILURE() << "There are no calls of " << operator_name << " yet.";
  return {};
}

// A run time with a forced solver, called in a thread on a painted stack.
class Calls {
 public:
  // `database` may be empty.
  Calls(std::string solver, std::string database)
      : solver_(std::move(solver)),
        database_(std::move(database)),
        a_(kElements),
        b_(kElements),
        c_(kElements) {}

  // Calls each of `shapes` three times.
  void Make(std::vector<Shape> shapes) {
    ::setenv("ATTUNE_FORCE", solver_.c_str(), 1);
    shapes_ = std::move(shapes);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstack(&attributes, stack_.memory(), kStackBytes);
    pthread_t thread;
    ::pthread_create(&thread, &attributes, &Run, this);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&attributes);
  }

  // The maximum of any call, its shape, and the number of shapes that were computed.
  size_t used_bytes() const { return used_bytes_; }
  const std::string& where() const { return where_; }
  int computed() const { return computed_; }
  // The code of the last failed call.
  attune_code failure() const { return failure_; }

 private:
  // Number of doubles of the largest operand.
  static constexpr size_t kElements = 700 * 700;

  static void* Run(void* calls) {
    static_cast<Calls*>(calls)->RunAll();
    return nullptr;
  }
  void RunAll() {
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.database = database_.c_str();
    options.policy = database_.empty() ? ATTUNE_NEVER : ATTUNE_RECORD;
    attune_runtime* runtime = nullptr;
    Measure("attune_runtime_create", [&] { return attune_runtime_create(&options, &runtime); });
    const Memory memory = {a_.data(), b_.data(), c_.data()};
    for (const Shape& shape : shapes_) {
      bool is_ok = true;
      for (int i = 0; i < 3; ++i) {
        is_ok = is_ok && Measure(shape.name, [&] { return shape.call(runtime, memory); });
      }
      computed_ += is_ok ? 1 : 0;
    }
    Measure("attune_runtime_destroy", [&] {
      attune_runtime_destroy(runtime);
      return ATTUNE_OK;
    });
  }
  template <class Step>
  bool Measure(const std::string& what, const Step& step) {
    stack_.Paint();
    const attune_code code = step();
    const bool is_ok = code == ATTUNE_OK;
    if (!is_ok) failure_ = code;
    const size_t used_bytes = stack_.UsedBytes();
    if (used_bytes > used_bytes_) where_ = what;
    used_bytes_ = std::max(used_bytes_, used_bytes);
    return is_ok;
  }

  const std::string solver_;
  const std::string database_;
  std::vector<double> a_, b_, c_;
  std::vector<Shape> shapes_;
  PaintedStack stack_;
  size_t used_bytes_ = 0;
  std::string where_;
  int computed_ = 0;
  attune_code failure_ = ATTUNE_OK;
};

TEST(StackNeedTest, NoCallOfAnySolverComesNearTheBound) {
  size_t most_bytes = 0;
  std::string where;
  const auto backend = MakeHostBackend();
  for (const auto& solver : backend->solvers()) {
    const std::string name = solver->id().name;
    Calls calls(name, "");
    calls.Make(Shapes(solver->traits().operator_name));
    EXPECT_LE(calls.used_bytes(), kMostUsedBytes) << name << " for " << calls.where();
    const bool is_missing = calls.failure() == ATTUNE_UNAVAILABLE;
    EXPECT_TRUE(calls.computed() > 0 || is_missing) << name << " computes nothing";
    if (calls.computed() == 0) fmt::print("skipped: {}: its library is missing\n", name);
    if (calls.used_bytes() <= most_bytes) continue;
    most_bytes = calls.used_bytes();
    where = name + " for " + calls.where();
  }
  fmt::print("most stack: {} bytes, {}\n", most_bytes, where);
}

TEST(StackNeedTest, NorDoesADatabase) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("attune_stack_need_{}", static_cast<int>(::getpid()));
  std::filesystem::create_directories(folder);
  Calls calls("", (folder / "attune.db").string());
  calls.Make(Shapes("gemm"));
  std::filesystem::remove_all(folder);

  EXPECT_LE(calls.used_bytes(), kMostUsedBytes) << calls.where();
  EXPECT_GT(calls.computed(), 0);
}

// The check runs on threads with little stack, so it must not need much itself.
TEST(StackNeedTest, AskingTakesLittle) {
  PaintedStack stack;
  size_t used_bytes = 0;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstack(&attributes, stack.memory(), kStackBytes);
  struct Asked {
    PaintedStack& stack;
    size_t& used_bytes;
  } asked{stack, used_bytes};
  pthread_t thread;
  ::pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        auto* here = static_cast<Asked*>(argument);
        here->stack.Paint();
        (void)HasAmpleStack();
        here->used_bytes = here->stack.UsedBytes();
        return nullptr;
      },
      &asked);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);

  EXPECT_LE(used_bytes, size_t{8} << 10);
}

}  // namespace
}  // namespace attune
