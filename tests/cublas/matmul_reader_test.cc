// Descriptors made by the real cuBLASLt, which needs no GPU for that.

#include "extensions/interposers/cublas/matmul_reader.h"

#include <dlfcn.h>

#include <string>

#include <gtest/gtest.h>

namespace attune::cublas {
namespace {

template <class Function>
Function* Find(const char* name) {
  static void* library =
      ::dlopen(("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR)).c_str(), RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

#define ATTUNE_FIND(NAME) Find<decltype(NAME)>(#NAME)

class MatmulReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ATTUNE_FIND(cublasLtMatmul) == nullptr) GTEST_SKIP() << "There is no cuBLASLt here.";
    ATTUNE_FIND(cublasLtMatmulDescCreate)(&operation_, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);
    ATTUNE_FIND(cublasLtMatrixLayoutCreate)(&layout_, CUDA_R_16BF, 6, 5, 8);
  }
  void TearDown() override {
    if (layout_ != nullptr) ATTUNE_FIND(cublasLtMatrixLayoutDestroy)(layout_);
    if (operation_ != nullptr) ATTUNE_FIND(cublasLtMatmulDescDestroy)(operation_);
  }

  template <class T>
  void Set(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(
        ATTUNE_FIND(cublasLtMatmulDescSetAttribute)(operation_, attribute, &value, sizeof value),
        CUBLAS_STATUS_SUCCESS);
  }
  template <class T>
  void Set(cublasLtMatrixLayoutAttribute_t attribute, T value) {
    ASSERT_EQ(
        ATTUNE_FIND(cublasLtMatrixLayoutSetAttribute)(layout_, attribute, &value, sizeof value),
        CUBLAS_STATUS_SUCCESS);
  }

  const MatmulReader reader_ = {ATTUNE_FIND(cublasLtMatmulDescGetAttribute),
                                ATTUNE_FIND(cublasLtMatrixLayoutGetAttribute)};
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
};

TEST_F(MatmulReaderTest, ANewOperationIsAPlainOne) {
  MatmulOperation read;

  ASSERT_TRUE(reader_.Read(operation_, read));

  EXPECT_EQ(read.compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(read.scale_type, CUDA_R_32F);
  EXPECT_EQ(read.pointer_mode, CUBLASLT_POINTER_MODE_HOST);
  EXPECT_EQ(read.trans_a, CUBLAS_OP_N);
  EXPECT_EQ(read.trans_c, CUBLAS_OP_N);
  EXPECT_EQ(read.fill_mode, CUBLAS_FILL_MODE_FULL);
  EXPECT_EQ(read.epilogue, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_FALSE(read.has_scales);
}

TEST_F(MatmulReaderTest, WhatWasSetIsRead) {
  const float bias = 0;
  Set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  Set(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t{CUBLASLT_POINTER_MODE_DEVICE});
  Set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
  Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(&bias));
  Set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, int64_t{6});
  Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(&bias));
  MatmulOperation read;

  ASSERT_TRUE(reader_.Read(operation_, read));

  EXPECT_EQ(read.trans_a, CUBLAS_OP_T);
  EXPECT_EQ(read.pointer_mode, CUBLASLT_POINTER_MODE_DEVICE);
  EXPECT_EQ(read.epilogue, uint32_t{CUBLASLT_EPILOGUE_BIAS});
  EXPECT_EQ(read.bias, &bias);
  EXPECT_EQ(read.bias_type, -1);
  EXPECT_EQ(read.bias_stride, 6);
  EXPECT_TRUE(read.has_scales);
}

TEST_F(MatmulReaderTest, ANewLayoutIsAPlainOne) {
  MatrixLayout read;

  ASSERT_TRUE(reader_.Read(layout_, read));

  MatrixLayout wanted;
  wanted.type = CUDA_R_16BF;
  wanted.rows = 6;
  wanted.columns = 5;
  wanted.leading = 8;
  EXPECT_EQ(read, wanted);
}

TEST_F(MatmulReaderTest, BatchesAndOrdersAreRead) {
  Set(CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_ROW});
  Set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{3});
  Set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{40});
  Set(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, uint32_t{CUBLASLT_BATCH_MODE_POINTER_ARRAY});
  MatrixLayout read;

  ASSERT_TRUE(reader_.Read(layout_, read));

  EXPECT_EQ(read.order, CUBLASLT_ORDER_ROW);
  EXPECT_EQ(read.batch_count, 3);
  EXPECT_EQ(read.stride, 40);
  EXPECT_EQ(read.batch_mode, uint32_t{CUBLASLT_BATCH_MODE_POINTER_ARRAY});
}

TEST_F(MatmulReaderTest, NothingIsReadOfNoDescriptor) {
  MatmulOperation operation;
  MatrixLayout layout;

  EXPECT_FALSE(reader_.Read(cublasLtMatmulDesc_t{nullptr}, operation));
  EXPECT_FALSE(reader_.Read(cublasLtMatrixLayout_t{nullptr}, layout));
}

}  // namespace
}  // namespace attune::cublas
