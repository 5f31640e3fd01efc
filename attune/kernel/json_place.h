// A JSON value together with its position, so that errors can name it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "attune/base/status.h"
#include "attune/space/expression.h"

namespace attune::kernel {

// True if `text` is a C identifier of at most 64 bytes.
bool IsIdentifier(std::string_view text);

// Borrows the document.
class JsonPlace {
 public:
  // Parses its expressions in `dialect`.
  explicit JsonPlace(const nlohmann::json& root, ExpressionDialect dialect = ExpressionDialect::kC)
      : value_(&root), dialect_(dialect) {}

  const nlohmann::json& value() const { return *value_; }
  // "/launches/0/local", or "(the whole file)".
  std::string Where() const { return pointer_.empty() ? "(the whole file)" : pointer_; }
  // kInvalidArgument: "<place>: <reason>".
  Status Error(std::string_view reason) const;

  // REQUIRES: an object that has the key; an array that is long enough.
  JsonPlace Member(std::string_view key) const;
  JsonPlace Element(size_t index) const;
  bool Has(std::string_view key) const { return value_->contains(key); }
  size_t Size() const { return value_->size(); }

  // An object with exactly these keys, but for those of `optional` that are absent.
  Status CheckObject(std::initializer_list<std::string_view> required,
                     std::initializer_list<std::string_view> optional = {}) const;
  // An array of `least` to `most` elements.
  Status CheckArray(size_t least, size_t most) const;

  // A text of one to `most` bytes.
  Result<std::string> Text(size_t most) const;
  // A C identifier of at most 64 bytes.
  Result<std::string> Identifier() const;
  Result<int64_t> Integer(int64_t least, int64_t most) const;
  // A text, or an integer as its own text.
  Result<Expression> ParsedExpression() const;

 private:
  JsonPlace(const nlohmann::json& value, std::string pointer, ExpressionDialect dialect)
      : value_(&value), pointer_(std::move(pointer)), dialect_(dialect) {}

  const nlohmann::json* value_;
  std::string pointer_;
  ExpressionDialect dialect_;
};

}  // namespace attune::kernel
