// How functions of attune.h fail in C++: they throw.
#ifndef ATTUNE_ERROR_HPP_
#define ATTUNE_ERROR_HPP_

#include <stdexcept>

#include "attune/attune.h"

namespace attune {
inline namespace v1 {

class Error : public std::runtime_error {
 public:
  explicit Error(attune_code code) : std::runtime_error(attune_last_message()), code_(code) {}
  attune_code code() const { return code_; }

 private:
  attune_code code_;
};

inline void Check(attune_code code) {
  if (code != ATTUNE_OK) throw Error(code);
}

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_ERROR_HPP_
