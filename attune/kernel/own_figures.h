// Figures of a user's kernel: values that it writes beside its results or prints, for users to
// choose by.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/json_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/own_kernel.h"
#include "attune/trial/figure.h"

namespace attune::kernel {

inline constexpr size_t kMaxOwnFigures = 16;

// Reads the key `figures` at `place`. REQUIRES: the operands and sizes of file.own were read.
Status ReadOwnFigures(const JsonPlace& place, KernelFile& file);

// The figure of `file` called `name`; null if it has none.
const OwnFigure* FindFigure(const KernelFile& file, std::string_view name);

// The source of `figure` for `sizes`. kInvalidArgument, with the expression, if it has no value for
// them or an impossible one.
Result<FigureSource> SourceOf(const OwnFigure& figure, const KernelFile& file,
                              const OwnSizes& sizes);

}  // namespace attune::kernel
