// Calls every exported name as programs call it. The BLAS behind is tests/blas/plain_blas.cc, the
// runtime tests/blas/runtime_double.cc; both count, so that a test knows which has computed.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "tests/blas/all_names.h"

extern "C" int plain_blas_calls();
extern "C" int plain_blas_complaints();

namespace attune::blas {
namespace {

int Served() {
  void* library = ::dlopen(std::getenv("ATTUNE_BLAS_RUNTIME"), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;  // No product came yet.
  const auto served = reinterpret_cast<int (*)()>(::dlsym(library, "double_served"));
  const int count = served();
  ::dlclose(library);
  return count;
}

// Counts since its construction.
class Counts {
 public:
  int served() const { return Served() - served_; }
  int passed() const { return plain_blas_calls() - passed_; }
  int complaints() const { return plain_blas_complaints() - complaints_; }

 private:
  int served_ = Served();
  int passed_ = plain_blas_calls();
  int complaints_ = plain_blas_complaints();
};

template <class T>
std::vector<T> RandomNumbers(int64_t count, Random& random) {
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T& number : numbers) number = static_cast<T>(random.Uniform() - 0.5);
  return numbers;
}

// Where element (i, j) of a matrix is.
int64_t At(bool row_major, int64_t i, int64_t j, int64_t ld) {
  return row_major ? i * ld + j : i + j * ld;
}

// The number of elements between the starts of two lines of a stored matrix.
int64_t Lead(bool row_major, int64_t rows, int64_t columns, int64_t extra) {
  return (row_major ? columns : rows) + extra;
}

template <class T>
std::vector<T> NaiveGemm(const GemmArguments<T>& x, std::vector<T> c) {
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t j = 0; j < x.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < x.k; ++l) {
        const bool ta = x.trans_a != 'N';
        const bool tb = x.trans_b != 'N';
        sum += double{x.a[At(x.row_major, ta ? l : i, ta ? i : l, x.lda)]} *
               x.b[At(x.row_major, tb ? j : l, tb ? l : j, x.ldb)];
      }
      T& out = c[static_cast<size_t>(At(x.row_major, i, j, x.ldc))];
      out = static_cast<T>(x.alpha * sum + (x.beta == 0 ? 0 : x.beta * out));
    }
  }
  return c;
}

template <class T>
std::vector<T> NaiveGemv(const GemvArguments<T>& x, std::vector<T> y) {
  const bool turned = x.trans != 'N';
  for (int64_t i = 0; i < (turned ? x.n : x.m); ++i) {
    double sum = 0;
    for (int64_t l = 0; l < (turned ? x.m : x.n); ++l) {
      sum += double{x.a[At(x.row_major, turned ? l : i, turned ? i : l, x.lda)]} * x.x[l * x.incx];
    }
    T& out = y[static_cast<size_t>(i * x.incy)];
    out = static_cast<T>(x.alpha * sum + (x.beta == 0 ? 0 : x.beta * out));
  }
  return y;
}

template <class T>
void ExpectClose(const std::vector<T>& got, const std::vector<T>& wanted) {
  constexpr double kTolerance = sizeof(T) == sizeof(float) ? 1e-5 : 1e-13;
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "at " << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], kTolerance) << "at " << i;
    }
  }
}

// beta 0 meets an output of NaN, of which nothing may remain; the room between lines keeps its NaN.
template <class T>
std::vector<T> Output(int64_t count, T beta, Random& random) {
  if (beta != 0) return RandomNumbers<T>(count, random);
  return std::vector<T>(static_cast<size_t>(count), std::numeric_limits<T>::quiet_NaN());
}

struct Scales {
  double alpha, beta;
};
constexpr Scales kScales[] = {{1, 0}, {1, 1}, {-0.5, 0}, {2, -0.25}};
constexpr char kFlags[] = {'N', 'T', 'C'};

template <class T>
void CheckGemm(const NamedEntry<GemmArguments<T>>& entry, GemmArguments<T> x, Random& random) {
  const bool ta = x.trans_a != 'N';
  const bool tb = x.trans_b != 'N';
  x.m = 5, x.n = 3, x.k = 4;
  x.lda = Lead(x.row_major, ta ? x.k : x.m, ta ? x.m : x.k, 2);
  x.ldb = Lead(x.row_major, tb ? x.n : x.k, tb ? x.k : x.n, 1);
  x.ldc = Lead(x.row_major, x.m, x.n, 3);
  constexpr int64_t kRoom = 100;
  const auto a = RandomNumbers<T>(kRoom, random);
  const auto b = RandomNumbers<T>(kRoom, random);
  auto c = Output<T>(kRoom, x.beta, random);
  x.a = a.data(), x.b = b.data(), x.c = c.data();
  const auto wanted = NaiveGemm(x, c);
  SCOPED_TRACE(testing::Message() << entry.name << " " << x.trans_a << x.trans_b << " alpha "
                                  << x.alpha << " beta " << x.beta << " row major " << x.row_major);
  const Counts counts;

  entry.call(x);

  ExpectClose(c, wanted);
  EXPECT_EQ(counts.served(), 1);
  EXPECT_EQ(counts.passed(), 0);
}

template <class T>
void CheckAllOfGemm(const NamedEntry<GemmArguments<T>>& entry) {
  Random random(7);
  for (const bool row_major : {false, true}) {
    if (row_major && !entry.takes_order) continue;
    for (const char trans_a : kFlags) {
      for (const char trans_b : kFlags) {
        for (const Scales& scales : kScales) {
          GemmArguments<T> x;
          x.row_major = row_major;
          x.trans_a = trans_a;
          x.trans_b = trans_b;
          x.alpha = static_cast<T>(scales.alpha);
          x.beta = static_cast<T>(scales.beta);
          CheckGemm(entry, x, random);
        }
      }
    }
  }
}

template <class T>
void CheckGemv(const NamedEntry<GemvArguments<T>>& entry, GemvArguments<T> x, Random& random) {
  x.m = 5, x.n = 3;
  x.lda = Lead(x.row_major, x.m, x.n, 2);
  constexpr int64_t kRoom = 100;
  const auto a = RandomNumbers<T>(kRoom, random);
  const auto v = RandomNumbers<T>(kRoom, random);
  auto y = Output<T>(kRoom, x.beta, random);
  x.a = a.data(), x.x = v.data(), x.y = y.data();
  const auto wanted = NaiveGemv(x, y);
  SCOPED_TRACE(testing::Message() << entry.name << " " << x.trans << " alpha " << x.alpha
                                  << " beta " << x.beta << " row major " << x.row_major
                                  << " increments " << x.incx << " " << x.incy);
  const Counts counts;

  entry.call(x);

  const bool is_served = x.incx == 1 && x.incy == 1;
  ExpectClose(y, wanted);
  EXPECT_EQ(counts.served(), is_served ? 1 : 0);
  EXPECT_EQ(counts.passed(), is_served ? 0 : 1);
}

template <class T>
void CheckAllOfGemv(const NamedEntry<GemvArguments<T>>& entry) {
  Random random(8);
  for (const bool row_major : {false, true}) {
    if (row_major && !entry.takes_order) continue;
    for (const char trans : kFlags) {
      for (const Scales& scales : kScales) {
        for (const int64_t increment : {1, 2}) {
          GemvArguments<T> x;
          x.row_major = row_major;
          x.trans = trans;
          x.alpha = static_cast<T>(scales.alpha);
          x.beta = static_cast<T>(scales.beta);
          x.incx = x.incy = increment;
          CheckGemv(entry, x, random);
        }
      }
    }
  }
}

TEST(BlasEntryTest, EveryGemmComputesEveryFormOfItsProduct) {
  const AllNames all = TakeAllNames();

  for (const auto& entry : all.sgemm) CheckAllOfGemm(entry);
  for (const auto& entry : all.dgemm) CheckAllOfGemm(entry);

  EXPECT_EQ(all.sgemm.size(), 9u);
  EXPECT_EQ(all.dgemm.size(), 9u);
}

TEST(BlasEntryTest, EveryGemvComputesEveryFormOfItsProduct) {
  const AllNames all = TakeAllNames();

  for (const auto& entry : all.sgemv) CheckAllOfGemv(entry);
  for (const auto& entry : all.dgemv) CheckAllOfGemv(entry);

  EXPECT_EQ(all.sgemv.size(), 9u);
  EXPECT_EQ(all.dgemv.size(), 9u);
}

// Calls that attune does not handle reach the BLAS behind, with unchanged arguments.
template <class Arguments>
void ExpectPassed(const NamedEntry<Arguments>& entry, const Arguments& x, int complaints) {
  SCOPED_TRACE(entry.name);
  const Counts counts;

  entry.call(x);

  EXPECT_EQ(counts.served(), 0);
  EXPECT_EQ(counts.passed(), 1);
  EXPECT_EQ(counts.complaints(), complaints);
}

TEST(BlasEntryTest, WrongArgumentsReachTheComplaintOfTheRealGemm) {
  const double a[16] = {};
  double c[16] = {};
  GemmArguments<double> good;
  good.m = good.n = good.k = good.lda = good.ldb = good.ldc = 4;
  good.a = good.b = a;
  good.c = c;

  for (const auto& entry : TakeAllNames().dgemm) {
    GemmArguments<double> x = good;
    x.m = -1;
    ExpectPassed(entry, x, 1);
    x = good;
    x.lda = 3;
    ExpectPassed(entry, x, 1);
    x = good;
    x.trans_b = 'Q';
    ExpectPassed(entry, x, 1);
  }
}

TEST(BlasEntryTest, WrongArgumentsReachTheComplaintOfTheRealGemv) {
  const float a[16] = {};
  float y[16] = {};
  GemvArguments<float> good;
  good.m = good.n = good.lda = 4;
  good.a = good.x = a;
  good.y = y;

  for (const auto& entry : TakeAllNames().sgemv) {
    GemvArguments<float> x = good;
    x.n = -1;
    ExpectPassed(entry, x, 1);
    x = good;
    x.incy = 0;
    ExpectPassed(entry, x, 1);
  }
}

TEST(BlasEntryTest, ProductsWithoutDepthStillScaleTheirOutput) {
  const double a[4] = {};
  for (const auto& entry : TakeAllNames().dgemm) {
    std::vector<double> c = {1, 2, 3, 4};
    GemmArguments<double> x;
    x.m = x.n = x.lda = x.ldb = x.ldc = 2;
    x.a = x.b = a;
    x.c = c.data();
    x.beta = 3;

    ExpectPassed(entry, x, 0);

    EXPECT_THAT(c, testing::ElementsAre(3, 6, 9, 12)) << entry.name;
  }
}

TEST(BlasEntryTest, NegativeIncrementsAreTheRealOnesBusiness) {
  const float a[4] = {1, 2, 3, 4};  // Columns (1, 2) and (3, 4).
  const float v[2] = {10, 1};
  for (const auto& entry : TakeAllNames().sgemv) {
    std::vector<float> y = {0, 0};
    GemvArguments<float> x;
    x.m = x.n = x.lda = 2;
    x.a = a;
    x.x = v;
    x.incx = -1;
    x.y = y.data();

    ExpectPassed(entry, x, 0);

    EXPECT_THAT(y, testing::ElementsAre(31, 42)) << entry.name;
  }
}

TEST(BlasEntryTest, ManyThreadsComputeAtOnce) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 50;
  const AllNames all = TakeAllNames();
  const Counts counts;

  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&all, t] {
      const std::vector<float> a(64, static_cast<float>(t));
      for (int round = 0; round < kRounds; ++round) {
        std::vector<float> c(64);
        GemmArguments<float> x;
        x.m = x.n = x.k = x.lda = x.ldb = x.ldc = 8;
        x.a = x.b = a.data();
        x.c = c.data();
        all.sgemm[static_cast<size_t>(round) % all.sgemm.size()].call(x);
        EXPECT_THAT(c, testing::Each(static_cast<float>(8 * t * t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(counts.served(), kThreads * kRounds);
  EXPECT_EQ(counts.passed(), 0);
}

TEST(BlasEntryTest, ChildOfAForkComputesWithTheRealBlas) {
  const float one = 1;
  float result = 0;
  GemmArguments<float> x;
  x.m = x.n = x.k = x.lda = x.ldb = x.ldc = 1;
  x.a = x.b = &one;
  x.c = &result;
  const auto entry = TakeAllNames().sgemm[0];
  entry.call(x);

  const pid_t child = ::fork();
  if (child == 0) {
    const Counts counts;
    entry.call(x);
    ::_exit(counts.served() == 0 && counts.passed() == 1 && result == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  const Counts counts;
  entry.call(x);
  EXPECT_EQ(counts.served(), 1) << "the parent goes on as before";
}

}  // namespace
}  // namespace attune::blas
