// The table of an operator: one entry for each property of its problems. Texts, variables of kernel
// files, the reading of C structs, small problems for tests, distances, model features and labels
// follow from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attune/base/data_type.h"
#include "attune/base/status.h"
#include "attune/problem/limits.h"
#include "attune/problem/text_error.h"

namespace attune {

struct TextFields;

// A kernel can read a size at run time. A class is always known when the kernel is compiled.
enum class FieldKind { kSize, kClass };

// ProblemField::fallback returns this if a text must name the field.
inline constexpr int64_t kRequired = std::numeric_limits<int64_t>::min();

// The member of a C struct that holds a field.
struct CallMember {
  size_t offset = 0;
  size_t bytes = 0;  // 4 or 8; 0: the struct has no such member.
  int64_t zero = 0;  // The value of the field if the member is 0.
  // Values of the field by those of a C enumeration. Empty: both are the same.
  std::span<const int64_t> values = {};
  std::string_view name = {};  // In messages; empty for that of the field.

  constexpr CallMember Named(std::string_view member) const {
    CallMember named = *this;
    named.name = member;
    return named;
  }
};

// A member of type int64_t or int32_t.
constexpr CallMember WideMember(size_t offset, int64_t zero = 0) {
  return {offset, sizeof(int64_t), zero, {}};
}
constexpr CallMember NarrowMember(size_t offset, int64_t zero = 0) {
  return {offset, sizeof(int32_t), zero, {}};
}
// A member of type int32_t that holds an attune_type. `types` are the element types that it allows.
constexpr CallMember TypeMember(size_t offset, std::span<const int64_t> types) {
  return {offset, sizeof(int32_t), 0, types};
}

constexpr int64_t TypeNumber(DataType type) { return static_cast<int64_t>(type); }
// Element types by attune_type. Integers are last.
inline constexpr int64_t kCallTypes[] = {TypeNumber(DataType::kF32), TypeNumber(DataType::kF64),
                                         TypeNumber(DataType::kF16), TypeNumber(DataType::kBf16),
                                         TypeNumber(DataType::kI8)};
inline constexpr std::span<const int64_t> kFloatCallTypes = std::span(kCallTypes).first<4>();

// Values are integers: enumerators and flags count as their numbers. SizeField() and ClassField()
// make a field; the functions below return a copy with one property changed.
struct ProblemField {
  using Get = int64_t (*)(const void* value);
  using Set = void (*)(void* value, int64_t number);

  std::string_view key;  // In texts: "ta". Empty: texts do not have it.
  // In kernel files and messages about C structs: "trans_a". Empty: kernel files do not have it.
  std::string_view name;
  FieldKind kind = FieldKind::kSize;
  Get get = nullptr;
  Set set = nullptr;
  // The value if a text leaves the field out. May read fields above this one in the table.
  Get fallback = nullptr;
  int64_t low = 1, high = kMaxExtent;                           // Limits of integers in texts.
  std::string_view expected = "an integer in [1, 2147483647]";  // For messages.
  // Words for the values 0, 1, ... in texts, and in kernel files. Empty: integers.
  std::span<const std::string_view> words = {};
  std::span<const std::string_view> kernel_words = {};
  int64_t smallest = 1;        // The value of a size in a small problem.
  bool is_coordinate = false;  // Distances between problems use this size.
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
};

// A member of `value`, or element kIndex of a member that is an array.
template <auto kMember, int kIndex>
constexpr auto& MemberOf(auto& value) {
  if constexpr (kIndex < 0) {
    return value.*kMember;
  } else {
    return (value.*kMember)[kIndex];
  }
}

// The field falls back to the initial value of the member.
template <auto kMember, int kIndex = -1>
constexpr ProblemField FieldOf(std::string_view key, std::string_view name, FieldKind kind) {
  using T = typename MemberTraits<decltype(kMember)>::Class;
  ProblemField field;
  field.key = key;
  field.name = name;
  field.kind = kind;
  field.get = [](const void* value) {
    return static_cast<int64_t>(MemberOf<kMember, kIndex>(*static_cast<const T*>(value)));
  };
  field.set = [](void* value, int64_t number) {
    auto& member = MemberOf<kMember, kIndex>(*static_cast<T*>(value));
    member = static_cast<std::remove_reference_t<decltype(member)>>(number);
  };
  field.fallback = [](const void*) {
    const T initial;
    return static_cast<int64_t>(MemberOf<kMember, kIndex>(initial));
  };
  return field;
}
template <auto kMember, int kIndex = -1>
constexpr ProblemField SizeField(std::string_view key, std::string_view name) {
  return FieldOf<kMember, kIndex>(key, name, FieldKind::kSize);
}
template <auto kMember>
constexpr ProblemField ClassField(std::string_view key, std::string_view name) {
  return FieldOf<kMember>(key, name, FieldKind::kClass);
}

// Appends `{key=value,...}` in the order of the table. Fields that have their fallback are left
// out.
void AppendFields(std::span<const ProblemField> fields, const void* value, std::string& text);

// Reads a text into `value`. Returns an error if the text is malformed.
std::optional<TextError> ReadFields(const TextFields& text, std::span<const ProblemField> fields,
                                    void* value);

// Sets the fields that are members of `call`, a C struct. kInvalidArgument, with the field, its
// value and the limit, for a value that the field cannot hold.
Status ReadCallMembers(std::span<const ProblemField> fields, const void* call, void* value);

// Names of fields that mean the same in every operator that has them.
inline constexpr std::string_view kAlignmentField = "alignment_bytes";
inline constexpr std::string_view kDeterministicField = "deterministic";
inline constexpr std::string_view kTypeField = "type";
inline constexpr std::string_view kMathField = "math";
inline constexpr std::string_view kBatchField = "batch";

// The field that kernel files call `name`; null if there is none.
const ProblemField* FindField(std::span<const ProblemField> fields, std::string_view name);

inline constexpr size_t kPositionSize = 8;
using Position = std::array<float, kPositionSize>;
// Logarithms to base 2 of the first kPositionSize sizes that are coordinates.
Position PositionOfFields(std::span<const ProblemField> fields, const void* value);
// "softmax dir=fwd mask=none": every field of texts but coordinates and the alignment.
std::string FamilyOfFields(std::string_view operator_name, std::span<const ProblemField> fields,
                           const void* value);
// "softmax outer=8 length=64 bwd": fields that do not have their fallback. Classes print their word
// alone.
std::string LabelOfFields(std::string_view operator_name, std::span<const ProblemField> fields,
                          const void* value);
// Two features for a size: its logarithm, and how often 2 divides it. One for a class: its number.
std::vector<std::string> FeatureNamesOfFields(std::span<const ProblemField> fields);
std::vector<double> FeatureValuesOfFields(std::span<const ProblemField> fields, const void* value);

// Words and messages that tables of several operators share.
std::span<const std::string_view> FlagWords();  // "0", "1".
inline constexpr std::string_view kFlagText = "0 or 1";
inline constexpr std::string_view kTypeText = "f64, f32, f16, bf16, i32, i8, f8e4m3 or f8e5m2";
inline constexpr std::string_view kMathText = "strict, tf32 or bf16";
inline constexpr std::string_view kLayoutText = "nchw, nhwc, ncdhw or ndhwc";
inline constexpr std::string_view kAlignmentText =
    "a power of two from the size of an element to 4096";

}  // namespace attune
