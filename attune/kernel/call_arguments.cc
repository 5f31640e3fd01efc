#include "attune/kernel/call_arguments.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune::kernel {

bool DependsOnCall(const PlannedArgument& argument) {
  return argument.kind == KernelArgument::Kind::kOperand ||
         argument.kind == KernelArgument::Kind::kOffset ||
         std::holds_alternative<CallScalar>(argument.value);
}

double RealValue(const PlannedArgument& argument, const Arguments& arguments) {
  if (const double* value = std::get_if<double>(&argument.value)) return *value;
  const CallScalar* scalar = std::get_if<CallScalar>(&argument.value);
  return scalar != nullptr && *scalar == CallScalar::kBeta ? arguments.beta : arguments.alpha;
}

std::vector<unsigned char> BytesOf(const PlannedArgument& argument) {
  const auto digit = [&](size_t i) {
    const char c = argument.name[i];
    return c >= 'a' ? c - 'a' + 10 : c - '0';
  };
  std::vector<unsigned char> bytes(argument.name.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(digit(2 * i) * 16 + digit(2 * i + 1));
  }
  return bytes;
}

std::vector<std::string> OperandNames(const Problem& problem) {
  std::vector<std::string> names;
  for (const Operand& operand : Operands(problem)) names.push_back(operand.name);
  return names;
}

Status CallOperands::Check(const Arguments& arguments) const {
  if (arguments.operands.size() == names_.size()) return Status::Ok();
  return InvalidArgument(fmt::format("The problem has {} operands, the call passes {}.",
                                     names_.size(), arguments.operands.size()));
}

BufferView CallOperands::ViewOf(const std::string& name, const Arguments& arguments) const {
  if (name == kWorkspaceName) return arguments.workspace;
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return {};
  return arguments.operands[static_cast<size_t>(found - names_.begin())];
}

}  // namespace attune::kernel
