#include "backends/cuda/conv/unfolded_product.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/conv/pointwise_product.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

// The kernels use 31-bit signed positions, and some positions are outside of the image.
constexpr int64_t kMostPosition = int64_t{1} << 30;
constexpr int64_t kMostImageElements = (int64_t{1} << 31) - 1;
// Each costs two or three launches.
constexpr int64_t kMostRounds = 256;

void Assign(const Spatial& from, int (&to)[3]) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<int>(from[i]);
}

void Assign(const Spatial& from, long long (&to)[3]) { std::copy(from.begin(), from.end(), to); }

Status CheckPositions(const Conv& conv, const ConvImages& images) {
  for (size_t i = 0; i < conv.in.size(); ++i) {
    const int64_t farthest =
        images.small.extents[i] * conv.stride[i] + conv.pad[i] + conv.filter[i] * conv.dilation[i];
    if (farthest < kMostPosition && images.large.extents[i] < kMostPosition) continue;
    return Unsupported(
        fmt::format("Windows that reach to position {} are not unfolded; {} is the most.", farthest,
                    kMostPosition));
  }
  if (images.large.image_stride() <= kMostImageElements) return Status::Ok();
  return Unsupported(fmt::format("Images of {} elements are not unfolded; {} is the most.",
                                 images.large.image_stride(), kMostImageElements));
}

Windows WindowsOf(const Conv& conv, const ConvImages& images) {
  Windows windows = {};
  Assign(images.large.extents, windows.large);
  Assign(images.small.extents, windows.small);
  Assign(conv.filter, windows.filter);
  Assign(conv.stride, windows.stride);
  Assign(conv.pad, windows.pad);
  Assign(conv.dilation, windows.dilation);
  windows.channels = static_cast<int>(images.large.channels);
  const bool is_one_tap = conv.filter == Spatial{1, 1, 1};
  windows.is_tap_inner = !IsChannelsLast(conv.weights_layout) && !is_one_tap;
  return windows;
}

// Each pixel of `extents` is a window of `channels` values.
Windows SinglePixels(const Spatial& extents, int64_t channels) {
  Windows windows = {};
  Assign(extents, windows.large);
  Assign(extents, windows.small);
  for (const auto field : {&Windows::filter, &Windows::stride, &Windows::dilation}) {
    Assign(Spatial{1, 1, 1}, windows.*field);
  }
  windows.channels = static_cast<int>(channels);
  return windows;
}

// Puts the plan together step by step; every method leaves `plan_` one step more complete.
class Planner {
 public:
  Planner(const Conv& conv, int64_t limit_bytes)
      : conv_(conv),
        images_(ImagesOf(conv)),
        limit_bytes_(limit_bytes),
        element_bytes_(BytesOf(conv.type)) {
    plan_.computed = images_.computed;
    factors_.computed = images_.computed;
    factors_.small = PixelsOf(images_.small, 1);
    values_ = WindowValues(conv);
    pixels_ = images_.small.pixels();
    // The storage order of the image itself, so that neighbours are read and written together.
    factors_.windows.is_values_inner = images_.large.is_channels_last && images_.large.channels > 1;
    windows_type_ = computes(ConvTensor::kLarge) ? SumTypeOf(conv.type) : conv.type;
  }

  Result<UnfoldedProduct> Plan() {
    ATTUNE_RETURN_IF_ERROR(DivideIntoRounds());
    LayWindowsOut();
    if (computes(ConvTensor::kWeights)) {
      GatherSmall();
      LaySumsOut();
    } else {
      LayWeightsOut();
    }
    ATTUNE_RETURN_IF_ERROR(Multiply());
    return std::move(plan_);
  }

 private:
  static int64_t BytesOf(DataType type) { return static_cast<int64_t>(SizeBytes(type)); }
  static int64_t Scratch(int64_t bytes) {
    return static_cast<int64_t>(ScratchBytes(static_cast<size_t>(bytes)));
  }

  bool computes(ConvTensor tensor) const { return images_.computed == tensor; }

  // True if the windows of all images of a round are one matrix: the small image's are one, or are
  // copied to one.
  bool IsMerged() const { return factors_.small.is_values_inner || computes(ConvTensor::kWeights); }

  bool CopiesSmall() const {
    return computes(ConvTensor::kWeights) && !factors_.small.is_values_inner && conv_.batch > 1;
  }

  int64_t ImageBytes() const {
    int64_t image_bytes = BytesOf(windows_type_);
    image_bytes *= factors_.windows.is_values_inner
                       ? RoundUpToWords(values_, windows_type_) * pixels_
                       : RoundUpToWords(pixels_, windows_type_) * values_;
    if (CopiesSmall()) {
      image_bytes += RoundUpToWords(pixels_, conv_.type) * images_.small.channels * element_bytes_;
    }
    return image_bytes;
  }

  // The part of the workspace that does not depend on the number of images at once.
  int64_t LastingBytes(bool in_rounds) const {
    // Windows and a copy of the small image each end within a unit.
    const auto ends_bytes = static_cast<int64_t>((CopiesSmall() ? 2 : 1) * (kScratchUnit - 1));
    return ends_bytes + (computes(ConvTensor::kWeights) ? SumsBytes(in_rounds) : WeightsBytes());
  }

  Status DivideIntoRounds() {
    const int64_t image_bytes = ImageBytes();
    plan_.images = conv_.batch;
    if (image_bytes > (limit_bytes_ - LastingBytes(false)) / conv_.batch) {
      const int64_t lasting_bytes = LastingBytes(conv_.batch > 1);
      if (image_bytes > limit_bytes_ - lasting_bytes) {
        return Unsupported(fmt::format(
            "The windows of one image take {} bytes, copies of weights and sums beside them {}, "
            "and both together may take {} of the workspace. Solvers that unfold nothing compute "
            "this convolution.",
            image_bytes, lasting_bytes, limit_bytes_));
      }
      plan_.images = ImagesAtOnce(conv_.batch, image_bytes, limit_bytes_ - lasting_bytes);
    }
    plan_.rounds = conv_.batch / plan_.images;
    if (plan_.rounds > kMostRounds) {
      return Unsupported(fmt::format("{} rounds of {} images are more than {}.", plan_.rounds,
                                     plan_.images, kMostRounds));
    }
    plan_.large_step = plan_.images * images_.large.image_stride();
    plan_.small_step = plan_.images * images_.small.image_stride();
    return Status::Ok();
  }

  void LayWindowsOut() {
    PixelMatrix& windows = factors_.windows;
    windows.values = values_;
    windows.pixels = IsMerged() ? plan_.images * pixels_ : pixels_;
    factors_.small.pixels = windows.pixels;
    factors_.images = IsMerged() ? 1 : plan_.images;
    const int64_t inner = windows.is_values_inner ? windows.values : windows.pixels;
    const int64_t columns = windows.is_values_inner ? windows.pixels : windows.values;
    windows.batch.leading = RoundUpToWords(inner, windows_type_);
    windows.batch.image_stride = windows.batch.leading * columns;
    plan_.windows_bytes = ScratchBytes(
        static_cast<size_t>(windows.batch.image_stride * factors_.images * BytesOf(windows_type_)));
    if (computes(ConvTensor::kLarge)) {
      plan_.fold = FoldOf(windows);
    } else {
      plan_.unfold = UnfoldOf(images_.large, WindowsOf(conv_, images_), windows);
    }
  }

  // The pixels of `image`, windows of it or single ones, as `matrix` for each image of a round, or
  // as one matrix of all.
  Unfold UnfoldOf(const ConvImage& image, const Windows& windows, const PixelMatrix& matrix) const {
    Unfold task = {};
    task.windows = windows;
    task.from_image = task.from_matrix = image.image_stride();
    task.from_channel = image.channel_stride();
    Assign(image.pixel_strides(), task.from_pixel);
    task.to_matrix = matrix.batch.image_stride;
    task.to_leading = matrix.batch.leading;
    task.matrices = factors_.images;
    task.pixels = static_cast<unsigned>(matrix.pixels);
    task.values = static_cast<unsigned>(matrix.values);
    task.is_values_inner = matrix.is_values_inner;
    return task;
  }

  Fold FoldOf(const PixelMatrix& matrix) const {
    Fold task = {};
    task.windows = WindowsOf(conv_, images_);
    task.from_pixel = matrix.is_values_inner ? matrix.batch.leading : 1;
    task.from_value = matrix.is_values_inner ? 1 : matrix.batch.leading;
    task.from_image = IsMerged() ? pixels_ * task.from_pixel : matrix.batch.image_stride;
    task.images = plan_.images;
    task.elements = static_cast<unsigned>(images_.large.image_stride());
    task.is_channels_last = images_.large.is_channels_last;
    return task;
  }

  // Merges all images of a round into one matrix, as the windows are.
  void GatherSmall() {
    if (!CopiesSmall() || plan_.images == 1) return;
    PixelMatrix& small = factors_.small;
    small.batch.leading = RoundUpToWords(small.pixels, conv_.type);
    small.batch.image_stride = small.batch.leading * small.values;
    plan_.copy_small =
        UnfoldOf(images_.small, SinglePixels(images_.small.extents, images_.small.channels), small);
    plan_.small_bytes =
        ScratchBytes(static_cast<size_t>(small.batch.image_stride * element_bytes_));
  }

  // True if the columns of the weights are contiguous.
  bool AreWeightsWhole() const { return values_ % WordElements(conv_.type) == 0; }

  // Size of the copy of the weights; 0 if there is none.
  int64_t WeightsBytes() const {
    if (AreWeightsWhole()) return 0;
    const int64_t elements = RoundUpToWords(values_, conv_.type) * images_.small.channels;
    return Scratch(elements * element_bytes_);
  }

  void LayWeightsOut() {
    factors_.weights.leading = RoundUpToWords(values_, conv_.type);
    if (AreWeightsWhole()) return;
    const int64_t columns = images_.small.channels;
    Unfold task = {};
    task.windows = SinglePixels({1, 1, columns}, values_);
    task.from_channel = 1;
    task.from_pixel[2] = values_;
    task.to_leading = factors_.weights.leading;
    task.matrices = 1;
    task.pixels = static_cast<unsigned>(columns);
    task.values = static_cast<unsigned>(values_);
    task.is_values_inner = 1;
    plan_.copy_weights = task;
    plan_.weights_bytes = static_cast<size_t>(WeightsBytes());
  }

  // Size of the sums that are not the weights themselves; 0 if there are none.
  int64_t SumsBytes(bool in_rounds) const {
    const DataType type = SumTypeOf(conv_.type);
    if (type == conv_.type || (!in_rounds && AreWeightsWhole())) return 0;
    return Scratch(RoundUpToWords(values_, type) * images_.small.channels * BytesOf(type));
  }

  void LaySumsOut() {
    factors_.weights.leading = values_;
    sums_type_ = conv_.type;
    plan_.sums_bytes = static_cast<size_t>(SumsBytes(plan_.rounds > 1));
    if (plan_.sums_bytes == 0) return;
    sums_type_ = SumTypeOf(conv_.type);
    PartialSums task = {};
    task.parts = 1;
    task.rows = task.to_leading = values_;
    task.columns = images_.small.channels;
    task.from_leading = factors_.weights.leading = RoundUpToWords(values_, sums_type_);
    plan_.round_sums = task;
  }

  Status Multiply() {
    Gemm terms = TermsOf(conv_);
    if (computes(ConvTensor::kLarge)) terms.c_type = windows_type_;
    if (computes(ConvTensor::kWeights)) terms.c_type = sums_type_;
    if (plan_.rounds > 1) {
      // The small image stays in place; the large one is no operand.
      terms.alignment_bytes =
          AlignmentBehind(terms.alignment_bytes, plan_.small_step * element_bytes_);
    }
    ATTUNE_ASSIGN_OR_RETURN(plan_.product, ProductOf(factors_, terms));
    if (computes(ConvTensor::kSmall)) ATTUNE_RETURN_IF_ERROR(AddBias(conv_, plan_.product));
    return CheckCublasLtTakes(plan_.product.gemm);
  }

  const Conv& conv_;
  const ConvImages images_;
  const int64_t limit_bytes_;
  const int64_t element_bytes_;
  ConvFactors factors_;
  UnfoldedProduct plan_;
  int64_t values_ = 0;  // Per window.
  int64_t pixels_ = 0;  // Per small image.
  DataType windows_type_ = DataType::kF32;
  DataType sums_type_ = DataType::kF32;
};

}  // namespace

Result<UnfoldedProduct> UnfoldedProductOf(const Conv& conv, int64_t limit_bytes) {
  ATTUNE_RETURN_IF_ERROR(CheckConvType(conv.type));
  if (conv.groups > 1) {
    return Unsupported(
        fmt::format("Windows of convolutions with {} groups are not unfolded.", conv.groups));
  }
  if (IsPointwise(conv) && PointwiseProduct(conv).ok()) {
    return Unsupported("This convolution is a product of its operands as they are.");
  }
  ATTUNE_RETURN_IF_ERROR(CheckPositions(conv, ImagesOf(conv)));
  return Planner(conv, limit_bytes).Plan();
}

}  // namespace attune::cuda
