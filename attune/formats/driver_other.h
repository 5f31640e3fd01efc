// Commands of MIOpenDriver for operators that attune does not know. Private to this module.
#pragma once

#include <vector>

#include "attune/ops/driver_attributes.h"
#include "attune/ops/driver_line.h"

namespace attune {

// Their flags are kept as attributes of an OtherOp. The problem is validated.
Parsed<std::vector<Problem>> ReadDriverOther(const DriverLine& line, const DriverOperator& op);

// The attributes of `pool`, without its type.
Parsed<Attributes> ReadDriverPool(const DriverLine& line);

}  // namespace attune
