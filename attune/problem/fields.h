// The table of an operator: every property of its problems, once. Texts, the variables of kernel
// files, the reading of C structs, the smallest problem like another one, distances, model features
// and labels follow from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/limits.h"
#include "attune/problem/text_error.h"

namespace attune {

struct TextFields;

// What a kernel may do with a field: sizes may be known when it runs only, classes are always known
// when it is compiled.
enum class FieldKind { kSize, kClass };

// What ProblemField::fallback returns if a text has to name the field.
inline constexpr int64_t kRequired = std::numeric_limits<int64_t>::min();

// Where a field is in the C struct of a call.
struct CallMember {
  size_t offset = 0;
  size_t bytes = 0;  // 4 or 8; 0: the struct has no such member.
  int64_t zero = 0;  // What 0 in the struct means.
  // Of an enumeration of C: the values of the field by those of C. Empty: they are the same.
  std::span<const int64_t> values = {};
};

// Values are integers: those of enumerations and flags are their numbers. Made by SizeField() and
// ClassField(), whose results the functions below change one by one.
struct ProblemField {
  using Get = int64_t (*)(const void* value);
  using Set = void (*)(void* value, int64_t number);

  std::string_view key;  // In texts: "ta". Empty: texts do not have it.
  // In kernel files and messages about C structs: "trans_a". Empty: kernel files do not have it.
  std::string_view name;
  FieldKind kind = FieldKind::kSize;
  Get get = nullptr;
  Set set = nullptr;
  // What the field is where a text leaves it out. May look at the fields above it in the table.
  Get fallback = nullptr;
  int64_t low = 1, high = kMaxExtent;                           // Limits of integers in texts.
  std::string_view expected = "an integer in [1, 2147483647]";  // For messages.
  // Words for the values 0, 1, ... in texts, and in kernel files. Empty: integers.
  std::span<const std::string_view> words = {};
  std::span<const std::string_view> kernel_words = {};
  int64_t smallest = 1;        // Of sizes: what a small problem has.
  bool is_coordinate = false;  // Of sizes: distances between problems are taken over it.
  CallMember call = {};

  constexpr ProblemField Required() const {
    return Else([](const void*) { return kRequired; });
  }
  constexpr ProblemField Else(Get value) const {
    ProblemField field = *this;
    field.fallback = value;
    return field;
  }
  constexpr ProblemField Within(int64_t least, int64_t most, std::string_view text) const {
    ProblemField field = *this;
    field.low = least;
    field.high = most;
    field.expected = text;
    return field;
  }
  constexpr ProblemField Words(std::span<const std::string_view> in_texts,
                               std::string_view text) const {
    ProblemField field = *this;
    field.words = in_texts;
    field.expected = text;
    return field;
  }
  constexpr ProblemField KernelWords(std::span<const std::string_view> in_kernels) const {
    ProblemField field = *this;
    field.kernel_words = in_kernels;
    return field;
  }
  constexpr ProblemField Smallest(int64_t value) const {
    ProblemField field = *this;
    field.smallest = value;
    return field;
  }
  constexpr ProblemField Coordinate() const {
    ProblemField field = *this;
    field.is_coordinate = true;
    return field;
  }
  constexpr ProblemField Call(CallMember member) const {
    ProblemField field = *this;
    field.call = member;
    return field;
  }
};

template <class Member>
struct MemberTraits;
template <class T, class M>
struct MemberTraits<M T::*> {
  using Class = T;
  using Type = M;
};

// The field of a member of T; its fallback is the initial value of the member.
template <auto kMember>
constexpr ProblemField FieldOf(std::string_view key, std::string_view name, FieldKind kind) {
  using T = typename MemberTraits<decltype(kMember)>::Class;
  using M = typename MemberTraits<decltype(kMember)>::Type;
  ProblemField field;
  field.key = key;
  field.name = name;
  field.kind = kind;
  field.get = [](const void* value) {
    return static_cast<int64_t>(static_cast<const T*>(value)->*kMember);
  };
  field.set = [](void* value, int64_t number) {
    static_cast<T*>(value)->*kMember = static_cast<M>(number);
  };
  field.fallback = [](const void*) { return static_cast<int64_t>(T{}.*kMember); };
  return field;
}
template <auto kMember>
constexpr ProblemField SizeField(std::string_view key, std::string_view name) {
  return FieldOf<kMember>(key, name, FieldKind::kSize);
}
template <auto kMember>
constexpr ProblemField ClassField(std::string_view key, std::string_view name) {
  return FieldOf<kMember>(key, name, FieldKind::kClass);
}

// A size that is an element of an array.
template <auto kMember, size_t kIndex>
constexpr ProblemField ElementField(std::string_view key, std::string_view name) {
  using T = typename MemberTraits<decltype(kMember)>::Class;
  ProblemField field;
  field.key = key;
  field.name = name;
  field.get = [](const void* value) { return (static_cast<const T*>(value)->*kMember)[kIndex]; };
  field.set = [](void* value, int64_t number) {
    (static_cast<T*>(value)->*kMember)[kIndex] = number;
  };
  field.fallback = [](const void*) { return (T{}.*kMember)[kIndex]; };
  return field;
}

// `{key=value,...}` in the order of the table, without what has its fallback, behind `text`.
void AppendFields(std::span<const ProblemField> fields, const void* value, std::string& text);

// Reads a text into `value`. Nothing if it is well-formed.
std::optional<TextError> ReadFields(const TextFields& text, std::span<const ProblemField> fields,
                                    void* value);

// Sets the fields that are members of `call`, a C struct. kInvalidArgument names the field, its
// value and the limit.
Status ReadCallMembers(std::span<const ProblemField> fields, const void* call, void* value);

// Names of fields that tell the same of every operator that has them.
inline constexpr std::string_view kAlignmentField = "alignment_bytes";
inline constexpr std::string_view kDeterministicField = "deterministic";
inline constexpr std::string_view kTypeField = "type";
inline constexpr std::string_view kMathField = "math";
inline constexpr std::string_view kBatchField = "batch";

// The field that kernel files call `name`; null if there is none.
const ProblemField* FindField(std::span<const ProblemField> fields, std::string_view name);

// Of sizes that are coordinates: logarithms to base 2, at most kPositionSize of them.
inline constexpr size_t kPositionSize = 8;
using Position = std::array<float, kPositionSize>;
Position PositionOfFields(std::span<const ProblemField> fields, const void* value);
// "a=1 b=word" of the classes that texts have, and of the sizes that are no coordinates.
std::string FamilyOfFields(std::string_view operator_name, std::span<const ProblemField> fields,
                           const void* value);
// "batch=8 channels=64 nhwc": of what has not its fallback, sizes by their keys and classes by
// their words.
std::string LabelOfFields(std::string_view operator_name, std::span<const ProblemField> fields,
                          const void* value);
// Logarithms of sizes, how often 2 divides them, and the numbers of classes.
std::vector<std::string> FeatureNamesOfFields(std::span<const ProblemField> fields);
std::vector<double> FeatureValuesOfFields(std::span<const ProblemField> fields, const void* value);

// Words and messages that tables of several operators have.
std::span<const std::string_view> FlagWords();  // "0", "1".
inline constexpr std::string_view kFlagText = "0 or 1";
inline constexpr std::string_view kTypeText = "f64, f32, f16, bf16, i32, i8, f8e4m3 or f8e5m2";
inline constexpr std::string_view kMathText = "strict, tf32 or bf16";
inline constexpr std::string_view kLayoutText = "nchw, nhwc, ncdhw or ndhwc";
inline constexpr std::string_view kAlignmentText =
    "a power of two from the size of an element to 4096";

}  // namespace attune
