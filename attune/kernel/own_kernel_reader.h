// What a kernel file of the operator `kernel` has beside what all have: operands, reference and
// tolerance.
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

// The key `binary`, which stands in place of `sources`: the name of code that somebody else
// compiled. REQUIRES: the languages are read.
Status ReadBinaryName(const JsonPlace& root, KernelFile& file);

// Its reference, whose launches are in `launches`. REQUIRES: the parameters are read.
Status ReadOwnReference(const JsonPlace& place, KernelFile& file);

// A value of a parameter: an identifier or a whole number; of a user's kernel also a real number,
// or true and false, which are 1 and 0.
Result<ParameterValue> ReadParameterValue(const JsonPlace& place, bool is_own);

// All values of a parameter, which stand at `place`, of one kind: beside reals integers are reals.
// Fails where texts and numbers are mixed, or an integer is no real.
Status MakeOneKind(const JsonPlace& place, std::vector<ParameterValue>& values);

// Integers, texts, and numbers as JSON has them.
Result<Expression> ReadNumberOrExpression(const JsonPlace& place);

// The bytes of an argument, in hexadecimal: lower case, two digits for each.
Result<std::string> ReadArgumentBytes(const JsonPlace& place);

// What expressions of `file` may read about its problem.
FieldNames FieldNamesFor(const KernelFile& file);

}  // namespace attune::kernel
