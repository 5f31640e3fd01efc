#include "backends/host/gemm/blis_calls.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/blas_library.h"

namespace attune::host {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// C = op(A) * op(B) with a zero in the last row of op(A) that meets NaN in op(B), and the other way
// round in its last column, packed and column-major.
struct SpecialProduct {
  SpecialProduct(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b)
      : a(static_cast<size_t>(m * k), 1),
        b(static_cast<size_t>(k * n), 1),
        c(static_cast<size_t>(m * n), 7) {
    product = {.m = m,
               .n = n,
               .k = k,
               .transpose_a = transpose_a,
               .transpose_b = transpose_b,
               .lda = transpose_a ? k : m,
               .ldb = transpose_b ? n : k,
               .ldc = m};
    product.a = reinterpret_cast<const std::byte*>(a.data());
    product.b = reinterpret_cast<const std::byte*>(b.data());
    product.c = reinterpret_cast<std::byte*>(c.data());
  }
  double& A(int64_t i, int64_t l) {
    return a[static_cast<size_t>(product.transpose_a ? l + i * product.lda : i + l * product.lda)];
  }
  double& B(int64_t l, int64_t j) {
    return b[static_cast<size_t>(product.transpose_b ? j + l * product.ldb : l + j * product.ldb)];
  }
  double C(int64_t i, int64_t j) const { return c[static_cast<size_t>(i + j * product.m)]; }

  std::vector<double> a, b, c;
  MatrixProduct product;
};

class BlisCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = BlasLibrary::Open(BlisDialect());
    if (!opened.ok()) GTEST_SKIP() << opened.error().message();
    library_ = std::move(*opened);
  }

  std::unique_ptr<BlasLibrary> library_;
};

TEST_F(BlisCallsTest, ZeroTimesNanIsNanInTheLastRow) {
  for (const int64_t m : {1, 3, 5, 13, 33, 201}) {
    for (const int64_t k : {1, 2, 3, 13, 31, 300}) {
      for (const int flags : {0, 1, 2, 3}) {
        SpecialProduct special(m, 9, k, (flags & 1) != 0, (flags & 2) != 0);
        special.A(m - 1, k - 1) = 0;
        special.B(k - 1, 4) = kNan;

        library_->Gemm(DataType::kF64, special.product, 1);

        EXPECT_TRUE(std::isnan(special.C(m - 1, 4))) << m << ' ' << k << ' ' << flags;
        EXPECT_EQ(special.C(m - 1, 3), static_cast<double>(k - 1)) << m << ' ' << k << ' ' << flags;
      }
    }
  }
}

TEST_F(BlisCallsTest, ZeroTimesInfinityIsNanInAMatrixTimesAVector) {
  for (const int64_t m : {1, 2, 7, 700}) {
    for (const int64_t k : {1, 3, 31, 51, 102}) {
      for (const bool transpose : {false, true}) {
        SpecialProduct special(m, 1, k, transpose, false);
        for (int64_t i = 0; i < m; ++i) {
          special.A(i, k - 1) = std::numeric_limits<double>::infinity();
        }
        special.B(k - 1, 0) = 0;

        library_->Gemv(DataType::kF64, special.product, 1);

        for (int64_t i = 0; i < m; ++i) {
          ASSERT_TRUE(std::isnan(special.C(i, 0))) << m << ' ' << k << ' ' << transpose;
        }
      }
    }
  }
}

TEST_F(BlisCallsTest, TheNumberOfThreadsOfAProgramThatUsesItIsPutBack) {
  const auto mine = BlasLibrary::Open(BlisDialect());  // Loaded already, so it has other users.
  ASSERT_TRUE(mine.ok());
  const auto get = library_->object().FindFunction<int64_t()>("bli_thread_get_num_threads");
  const auto set = library_->object().FindFunction<void(int64_t)>("bli_thread_set_num_threads");
  const int64_t before = get();
  for (const int64_t threads : {int64_t{-1}, int64_t{3}}) {
    set(threads);
    SpecialProduct special(64, 64, 64, false, false);

    (*mine)->Gemm(DataType::kF64, special.product, 2);

    EXPECT_EQ(get(), threads);
  }
  set(before);
}

}  // namespace
}  // namespace attune::host
