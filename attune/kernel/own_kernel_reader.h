// Keys that only kernel files of the operator `kernel` have: operands, reference and tolerance.
#pragma once

#include "attune/base/status.h"
#include "attune/kernel/json_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/problem_fields.h"

namespace attune::kernel {

// An error if `place` has `key` and `file` is of an earlier version of the format than `version`.
Status CheckKeyOfVersion(const JsonPlace& place, std::string_view key, int version,
                         const KernelFile& file);

// Sizes, operands, tolerance and options of `root` into `file.own` and `file`. REQUIRES: the head
// is read.
Status ReadOwnKernel(const JsonPlace& root, KernelFile& file);

// Reads the key `binary`, which replaces `sources`: the name of precompiled code. REQUIRES: the
// languages are read.
Status ReadBinaryName(const JsonPlace& root, KernelFile& file);

// Reads its reference; its launches are in `launches`. REQUIRES: the parameters are read.
Status ReadOwnReference(const JsonPlace& place, KernelFile& file);

// A value of a parameter: an identifier or a whole number; of a user's kernel also a real number,
// or true and false, which are 1 and 0.
Result<ParameterValue> ReadParameterValue(const JsonPlace& place, bool is_own);

// All values of a parameter, read at `place`, as one kind: beside reals integers become reals.
// Fails if texts and numbers are mixed, or if a real cannot represent an integer.
Status MakeOneKind(const JsonPlace& place, std::vector<ParameterValue>& values);

// Integers, texts, and numbers as JSON has them.
Result<Expression> ReadNumberOrExpression(const JsonPlace& place);

// The bytes of an argument, in hexadecimal: lower case, two digits for each.
Result<std::string> ReadArgumentBytes(const JsonPlace& place);

// Names of problem fields that expressions of `file` may read.
FieldNames FieldNamesFor(const KernelFile& file);

}  // namespace attune::kernel
