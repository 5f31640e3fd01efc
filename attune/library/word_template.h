// A word of a command line with names in it: "--n={n}".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

class WordTemplate {
 public:
  // Names are [A-Za-z_][A-Za-z0-9_]* in braces; "{{" and "}}" are braces. kInvalidArgument for any
  // other brace, with the column (from 1).
  static Result<WordTemplate> Parse(std::string_view text);

  // In order, each as often as it occurs.
  const std::vector<std::string>& names() const { return names_; }
  // The word, with `value_of` called for each name. It stays one word for any values.
  std::string Fill(const std::function<std::string(std::string_view name)>& value_of) const;

 private:
  // literals_[0] names_[0] literals_[1] ... literals_[n]: one literal more than names.
  std::vector<std::string> literals_;
  std::vector<std::string> names_;
};

}  // namespace attune
