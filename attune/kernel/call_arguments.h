// Operands and scalars that a call of a planned kernel binds, by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {

// True if the value differs from call to call.
bool DependsOnCall(const PlannedArgument& argument);

// The value of a float or double. REQUIRES: an argument of one of these kinds.
double RealValue(const PlannedArgument& argument, const Arguments& arguments);

// The bytes of an argument of the kind kBytes, as they lie in memory.
std::vector<unsigned char> BytesOf(const PlannedArgument& argument);

// The names of Operands(problem), in order.
std::vector<std::string> OperandNames(const Problem& problem);

// The operands of one problem's calls.
class CallOperands {
 public:
  // `names` are those of Arguments::operands, in order: OperandNames.
  explicit CallOperands(std::vector<std::string> names) : names_(std::move(names)) {}

  // kInvalidArgument if the call passes another number of operands than the problem has.
  Status Check(const Arguments& arguments) const;
  // The view of the operand `name`, of the workspace too; null if the problem has none.
  // REQUIRES: Check() is ok.
  BufferView ViewOf(const std::string& name, const Arguments& arguments) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace attune::kernel
