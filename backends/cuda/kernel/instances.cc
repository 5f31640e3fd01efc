#include "backends/cuda/kernel/instances.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/kernel/cubin.h"

namespace attune::cuda {
namespace {

// The rest of the options are name expressions, with ';' between them.
constexpr std::string_view kMark = "--attune-instances=";

// The end mark of the code, after the table and its size in bytes. The table alternates lines: a
// name expression, its symbol.
constexpr std::string_view kEnding = "attnsym1";

// The data behind the code, without its end mark; empty if there is none.
std::string_view TableOf(std::string_view cubin) {
  uint64_t size = 0;
  if (!cubin.ends_with(kEnding)) return "";
  cubin.remove_suffix(kEnding.size());
  if (cubin.size() < sizeof size) return "";
  std::memcpy(&size, cubin.data() + cubin.size() - sizeof size, sizeof size);
  cubin.remove_suffix(sizeof size);
  return size > cubin.size() ? "" : cubin.substr(cubin.size() - size);
}

// The line at the beginning of `text`, which is taken off.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string Joined(const InstanceOptions& options) {
  if (options.name_expressions.empty()) return options.options;
  return fmt::format("{}{}{}{}", options.options, options.options.empty() ? "" : " ", kMark,
                     fmt::join(options.name_expressions, ";"));
}

InstanceOptions Divided(std::string_view recipe_options) {
  InstanceOptions divided;
  const size_t mark = recipe_options.find(kMark);
  divided.options = recipe_options.substr(0, mark);
  if (mark == std::string_view::npos) return divided;
  if (divided.options.ends_with(' ')) divided.options.pop_back();
  std::string_view names = recipe_options.substr(mark + kMark.size());
  for (size_t end = 0; end != std::string_view::npos;) {
    end = names.find(';');
    divided.name_expressions.emplace_back(names.substr(0, end));
    if (end != std::string_view::npos) names.remove_prefix(end + 1);
  }
  return divided;
}

std::string WithSymbols(std::string cubin, const Symbols& symbols) {
  if (symbols.empty()) return cubin;
  std::string table;
  for (const auto& [name, symbol] : symbols) table += fmt::format("{}\n{}\n", name, symbol);
  const uint64_t size = table.size();
  cubin += table;
  cubin.append(reinterpret_cast<const char*>(&size), sizeof size);
  return cubin.append(kEnding);
}

std::string SymbolOf(std::string_view cubin, const std::string& function) {
  for (std::string_view table = TableOf(cubin); !table.empty();) {
    const std::string_view name = TakeLine(table);
    const std::string_view symbol = TakeLine(table);
    if (name == function) return std::string(symbol);
  }
  return function;
}

Status CheckHasKernels(std::string_view cubin, const std::vector<std::string>& functions) {
  const auto there = FunctionsOf(cubin);
  if (!there.has_value()) return Status::Ok();
  for (const std::string& function : functions) {
    const std::string symbol = SymbolOf(cubin, function);
    if (std::find(there->begin(), there->end(), symbol) != there->end()) continue;
    return NotFound(fmt::format(
        "The compiled code has no kernel '{}', which a launch names; it has {}. Name one that it "
        "has, or put extern \"C\" before the kernel in the source.",
        function, there->empty() ? "none" : fmt::format("{}", fmt::join(*there, ", "))));
  }
  return Status::Ok();
}

}  // namespace attune::cuda
