#!/usr/bin/env python3
"""Every function of the C interface with every argument hostile: nulls, numbers at the ends of
their types, texts that mean nothing, structs whose fields are each wrong. None may crash or hang,
and what fails has a message. Functions and structs are read out of the headers, so that new ones
are called too.

  hostile_calls.py --library libattune.so --include FOLDER

A call that kills its process costs itself: the next process goes on behind it.
"""

import argparse
import ctypes as C
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HEADERS = ("attune.h", "operators.h", "observe.h", "plans.h", "questions.h", "capture.h", "kernels.h",
           "profile.h", "tunable.h")
NUMBERS = {"size_t": C.c_size_t, "int64_t": C.c_int64, "uint64_t": C.c_uint64, "int32_t": C.c_int32,
           "double": C.c_double, "int": C.c_int, "unsigned": C.c_uint}
CALL_LIMIT_S = 30
SOFTMAX_BYTES = 64  # sizeof(attune_softmax)

# Arguments that may be null, and the reason: everything else that points has to be refused.
MAY_BE_NULL = {
    "attune_runtime_create.options": "the defaults",
    "attune_kernel_open.options": "the defaults",
    "attune_tunable_tune_on_devices.options": "the defaults",
    "attune_profile_create.terms": "the defaults",
    "attune_set_listener.listener": "ends it",
    "attune_set_listener.context": "is the program's",
    "attune_profile_push.callback": "nothing is called",
    "attune_profile_push.user": "is the program's",
    "attune_profile_join.postprocess": "nothing is called",
    "attune_profile_join.user": "is the program's",
    "attune_profile_join.complaints": "is not wanted",
    "attune_capture_launch.kernel_file": "is not wanted",
    "attune_tunable_load_results.report": "is not wanted",
    "attune_tunable_tune_in_file.report": "is not wanted",
    "attune_tunable_tune_in_files.report": "is not wanted",
    "attune_tunable_tune_on_devices.report": "is not wanted",
    "attune_tunable_read_file.filename": "the file of the run time",
    "attune_tunable_write_file.filename": "the file of the run time",
    "attune_kernel_tune.sizes": "there are none of them",
    "attune_kernel_choose.sizes": "there are none of them",
    "attune_gemm_solutions.solutions": "there is no room for any",
    "attune_conv_solutions.solutions": "there is no room for any",
    "attune_gemm_solutions_within.solutions": "there is no room for any",
    "attune_conv_solutions_within.solutions": "there is no room for any",
}
TEXTS = [b"", b"x" * 100_000, b"%s%n%99999d", b"\xff\xfe\x80", b"a\nb\tc", b"gemm@1{", b"../../..",
         b"gemm@1{m=99999999999999999999,n=1,k=1}", b"gemm@1{m=-1,n=1,k=1}", b"/dev/null", b":::",
         b"cpu:7", b"opencl:-1", b"cuda:99999999999999999999", b"[", b"*"]
REALS = [math.nan, math.inf, -math.inf, -1.0, 0.5, 1e308]
# Less than any limit, and more than memory.
INTEGERS = [-1, 3, 1 << 20, (1 << 31) - 1, -(1 << 31), (1 << 62), (1 << 63) - 1, -(1 << 63)]

# Calls to refuse, and the words of the error: function, {argument or struct.field: value}, words.
REFUSED = [
    ("attune_run_gemm", {"gemm.m": 0}, "m of the gemm is 0"),
    ("attune_run_gemm", {"gemm.k": -1}, "k of the gemm is -1"),
    ("attune_run_gemm", {"gemm.n": 1 << 31}, "outside of [1, 2147483647]"),
    ("attune_run_gemm", {"gemm.lda": 7}, "Leading dimension 7 of A"),
    ("attune_run_gemm", {"gemm.ldc": -8}, "Leading dimension -8 of C"),
    ("attune_run_gemm", {"gemm.batch_count": -2}, "batch"),
    ("attune_run_gemm", {"gemm.batch_count": 2, "gemm.stride_a": -64}, "Batch stride -64 of A"),
    ("attune_run_gemm", {"gemm.batch_count": 2, "gemm.stride_b": (1 << 63) - 1}, "of B"),
    ("attune_run_gemm", {"gemm.batch_count": 2, "gemm.stride_c": 8}, "overlap"),
    ("attune_run_gemm", {"gemm.type": 5}, "'type' is 5"),
    ("attune_run_gemm", {"gemm.trans_a": 2}, "'trans_a' is 2"),
    ("attune_run_gemm", {"gemm.bias": -1}, "'bias' is -1"),
    ("attune_run_gemm", {"gemm.activation": 5}, "'activation' is 5"),
    ("attune_run_gemm", {"gemm.deterministic": 2}, "'deterministic' is 2"),
    ("attune_run_gemm", {"gemm.math": 3}, "'math' is 3"),
    ("attune_run_gemm", {"gemm.alignment_bytes": 3}, "3"),
    ("attune_run_gemm", {"arguments.a": None}, "null"),
    ("attune_run_gemm", {"arguments.bias": "memory"}, "bias"),
    ("attune_run_gemm", {"gemm.bias": 1}, "bias"),
    ("attune_run_gemm", {"arguments.queue": "memory"}, "'queue' has to be null"),
    ("attune_run_gemm", {"arguments.struct_size": (1 << 64) - 1}, "ATTUNE_ARGUMENTS_INIT"),
    ("attune_run_gemm", {"gemm.type": 4, "arguments.alpha": 0.5}, "alpha is 0.5"),
    ("attune_run_gemm", {"gemm.type": 4, "arguments.beta": -1.25}, "beta is -1.25"),
    ("attune_run_gemm", {"gemm.type": 4, "arguments.alpha": math.nan}, "alpha is nan"),
    ("attune_run_gemm", {"gemm.type": 4, "arguments.alpha": math.inf}, "alpha is inf"),
    ("attune_run_gemm", {"gemm.type": 4, "arguments.alpha": 2147483648.0}, "to 2147483647"),
    ("attune_run_conv", {"conv.type": 4}, "'type' is 4"),
    ("attune_run_conv", {"conv.direction": 3}, "'direction' is 3"),
    ("attune_run_conv", {"conv.spatial_rank": 4}, "4"),
    ("attune_run_conv", {"conv.groups": 3}, "groups"),
    ("attune_run_conv", {"conv.in_layout": 4}, "'in_layout' is 4"),
    ("attune_plan_gemm", {"alpha_class": 3}, "'alpha_class' is 3"),
    ("attune_plan_gemm", {"beta_class": -1}, "'beta_class' is -1"),
    ("attune_plan_run", {"arguments.alpha": 0.5}, "alpha"),
    ("attune_runtime_create", {"options.policy": 5}, "'policy' is 5"),
    ("attune_runtime_create", {"options.scope": -1}, "'scope' is -1"),
    ("attune_runtime_create", {"options.max_plans": -1}, "'max_plans' (-1)"),
    ("attune_runtime_create", {"options.tuning_cpu_share": math.nan}, "'tuning_cpu_share' is nan"),
    ("attune_runtime_create", {"options.device": b"gpu"}, "gpu"),
    ("attune_runtime_create", {"options.device": b""}, "device"),
    ("attune_runtime_create", {"options.preset": b"fastest"}, "fastest"),
    ("attune_runtime_create", {"options.struct_size": 20}, "ATTUNE_OPTIONS_INIT"),
    # Would cut a pointer in two.
    ("attune_runtime_create", {"options.struct_size": 44}, "ATTUNE_OPTIONS_INIT"),
    ("attune_get_counters", {"counters.struct_size": 3}, "ATTUNE_COUNTERS_INIT"),
    ("attune_tunable_set_numerical_check_tolerances", {"atol": math.nan}, "nan"),
    ("attune_tunable_set_numerical_check_tolerances", {"rtol": -1.0}, "-1"),
    ("attune_tunable_push_dynamic_dims", {"mask": 64}, "64"),
    ("attune_tunable_tune_in_files", {"count": (1 << 64) - 1}, "18446744073709551615"),
    ("attune_capture_launch", {"capture.dimensions": 4}, "4"),
]


# ---- the headers ---------------------------------------------------------------------------------

def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


class Field:
    def __init__(self, name, kind, is_pointer, is_text, count):
        self.name, self.kind, self.count = name, kind, count
        self.is_pointer, self.is_text = is_pointer, is_text

    def type(self):
        base = C.c_void_p if self.is_pointer else NUMBERS.get(self.kind, C.c_int)
        if self.kind == "char" and not self.is_pointer:
            base = C.c_char
        return base * self.count if self.count > 1 else base


def field_of(text, callbacks):
    """"const char* device" or "int64_t in[3]"."""
    found = re.fullmatch(r"(?:const )?(\w+)((?:\s*\*|\s+const)*)\s*(\w+)(?:\[(\w+)\])?", text.strip())
    kind, stars, name, count = found.groups()
    pointers = stars.count("*")
    return Field(name, kind, pointers > 0 or kind in callbacks, kind == "char" and pointers == 1,
                 int(count or 1))


class Interface:
    def __init__(self, include):
        text = without_comments("".join(pathlib.Path(include, "attune", name).read_text()
                                        for name in HEADERS))
        self.callbacks = re.findall(r"typedef[^;]*\(\*(attune_\w+)\)", text)
        self.structs = {}
        for name, body in re.findall(r"typedef struct (attune_\w+) {(.*?)}\s*\1;", text, re.DOTALL):
            self.structs[name] = self.fields_of(body)
        self.functions = {}
        for result, name, parameters in re.findall(
                r"ATTUNE_API\s+([^;()]*?)(attune_\w+)\(([^;]*)\);", text):
            given = [] if parameters.strip() == "void" else parameters.split(",")
            self.functions[name] = (result.strip(), [self.parameter(one) for one in given])

    def fields_of(self, body):
        fields = []
        for declaration in filter(None, map(str.strip, body.split(";"))):
            first, *others = declaration.split(",")
            fields.append(field_of(re.sub(r"\s+", " ", first), self.callbacks))
            for other in others:
                name, count = re.fullmatch(r"\s*(\w+)(?:\[(\w+)\])?\s*", other).groups()
                fields.append(Field(name, fields[-1].kind, fields[-1].is_pointer,
                                    fields[-1].is_text, int(count or 1)))
        return fields

    def parameter(self, text):
        text = re.sub(r"\s+", " ", text).strip()
        return field_of(text, self.callbacks), text

    def layout(self, name):
        """With room behind it: a larger struct_size says that there is."""
        fields = [(field.name, field.type()) for field in self.structs[name]]
        known = type(name, (C.Structure,), {"_fields_": fields})
        beyond = [("_beyond", C.c_char * 4096)]
        return type(name, (C.Structure,), {"_fields_": fields + beyond, "known": C.sizeof(known)})


# ---- calls ---------------------------------------------------------------------------------------

class World:
    """A run time, a plan and memory: good arguments for every parameter."""

    def __init__(self, options, interface):
        self.interface, self.folder, self.kernel_file = interface, options.work, options.kernel
        self.c = C.CDLL(options.library)
        self.c.attune_last_message.restype = C.c_char_p
        self.memory = C.create_string_buffer(1 << 20)
        self.kept = []
        self.callback = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p, C.c_void_p)(lambda *_: 0)
        self.words = (C.c_char_p * 1)(b"true")
        self.devices = (C.c_char_p * 1)(b"0")
        self.runtime = self.made("attune_runtime_create")
        self.plan = self.made("attune_plan_gemm")
        self.runner = self.made("attune_profile_create")
        self.kernel = self.made("attune_kernel_open")
        self.runtimes = (C.c_void_p * 1)(self.runtime)

    def made(self, function):
        """A handle; None if this machine cannot make it."""
        arguments = self.arguments(function)
        if self.call(function, arguments) == 0:
            return arguments[-1]._obj.value
        print("missing", function, self.message().replace("\n", " "), flush=True)
        return None

    def message(self):
        return self.c.attune_last_message().decode(errors="replace")

    def address(self):
        return C.addressof(self.memory) + 63 & ~63

    def struct(self, name):
        made = self.interface.layout(name)()
        if hasattr(made, "struct_size"):
            made.struct_size = made.known
        values = {
            "attune_gemm": dict(m=8, n=8, k=8),
            "attune_conv": dict(in_channels=2, out_channels=2),
            "attune_arguments": dict(a=self.address(), b=self.address() + 65536,
                                     c=self.address() + 131072, alpha=1.0),
            "attune_operands": dict(data=self.operands(), count=2, alpha=1.0),
            "attune_options": dict(device=self.text(b"cpu"), database=self.text(b""), policy=1),
            "attune_kernel_options": dict(device=self.text(b"opencl:0"), database=self.text(b""),
                                          per_size_ns=10**7, check_wait_ns=-1),
            "attune_kernel_size": dict(name=self.text(b"n"), value=64),
            "attune_profile_terms": dict(deadline_ns=10**9, max_output_bytes=4096, attempts=1,
                                         faults_to_retire=1),
            "attune_profile_command": dict(words=C.addressof(self.words), word_count=1),
            "attune_capture": dict(function=self.text(b"f"), source=self.text(b"f"), dimensions=1,
                                   read=self.callback_address(), launch=self.callback_address()),
            "attune_kernel_constraint": dict(text=self.text(b"true"),
                                             holds=self.callback_address()),
        }.get(name, {})
        for field, value in values.items():
            setattr(made, field, value)
        if name == "attune_conv":
            getattr(made, "in")[1] = getattr(made, "in")[2] = 8
            made.filter[1] = made.filter[2] = 1
        return made

    def operands(self):
        made = (C.c_void_p * 2)(self.address(), self.address() + 65536)
        self.kept.append(made)
        return C.addressof(made)

    def softmax(self):
        """An attune_softmax of 8 lines of 8 elements; what is not set is 0."""
        made = (C.c_int64 * (SOFTMAX_BYTES // 8))(8, 8, 1, 1)
        self.kept.append(made)
        return C.addressof(made)

    def callback_address(self):
        return C.cast(self.callback, C.c_void_p).value

    def text(self, value):
        self.kept.append(C.create_string_buffer(value))
        return C.addressof(self.kept[-1])

    def argument(self, function, field, declared):
        name, kind = field.name, field.kind
        if field.is_text:
            return C.c_void_p(self.text(self.usual_text(name)))
        if field.kind == "void" and name == "problem":
            return C.c_void_p(self.softmax())
        if not field.is_pointer:
            value = {"alpha_class": 1, "problem_bytes": SOFTMAX_BYTES, "count": 1, "device_count": 1,
                     "capacity": 0, "timeout_ms": 0, "atol": 1e-3, "rtol": 1e-3, "mask": 0}.get(name, 0)
            return NUMBERS[kind](value)
        if kind in self.interface.structs and declared.count("*") == 1:
            return C.byref(self.struct(kind))
        handles = {"attune_runtime": "runtime", "attune_plan": "plan", "attune_kernel": "kernel",
                   "attune_profile_runner": "runner"}
        if kind in handles and declared.count("*") == 1:
            return C.c_void_p(getattr(self, handles[kind]))
        if kind == "attune_runtime" and name == "runtimes":
            return C.cast(self.runtimes, C.c_void_p)
        if name == "devices":
            return C.cast(self.devices, C.c_void_p)
        if kind in self.interface.callbacks:
            return C.c_void_p(None if "listener" in kind else self.callback_address())
        if function in ("attune_free",):
            return C.c_void_p(None)
        self.kept.append(C.create_string_buffer(512))
        return C.byref(C.c_void_p(0xdead)) if declared.count("*") == 2 else C.byref(self.kept[-1])

    def usual_text(self, name):
        return {"operator_name": b"softmax", "problem": b"gemm@1{m=8,n=8,k=8}",
                "target": b"gfx906_60", "library": b"openblas", "mode": b"device_events", "kind": b"cpu", "folder": self.folder.encode(),
                "filename": f"{self.folder}/file.csv".encode(), "file": self.kernel_file.encode(), "device": b"0",
                "pattern": f"{self.folder}/none*.csv".encode(), "lines": b""}[name]

    def arguments(self, function):
        return [self.argument(function, field, declared)
                for field, declared in self.interface.functions[function][1]]

    def call(self, function, arguments):
        called = getattr(self.c, function)
        called.argtypes = None
        return called(*arguments)


def without_end(functions):
    """Those that end what others use, once more at the end."""
    last = ("attune_runtime_destroy", "attune_plan_release", "attune_profile_destroy",
            "attune_profile_stop", "attune_kernel_close")
    return [name for name in functions if name not in last] + [
        name for name in last if name in functions]


def with_field(arguments, at, field, value, world):
    struct = arguments[at]._obj
    kind = dict(struct._fields_)[field.name]
    if issubclass(kind, C.Array):
        for i in range(len(getattr(struct, field.name))):
            getattr(struct, field.name)[i] = value
        return
    if value == "memory":
        value = world.address()
    setattr(struct, field.name, world.text(value) if isinstance(value, bytes) else value)


def hostile_values(field):
    if field.is_text:
        return [None] + TEXTS
    if field.is_pointer:
        return [None]
    if field.name == "struct_size":
        return [0, 1, 7, 8, 9, 20, 44, 4096, 4097, (1 << 63), (1 << 64) - 1]
    if field.kind == "double":
        return REALS
    return [] if field.kind == "char" else INTEGERS


class Case:
    """One call: what differs from the good one, and whether it has to fail."""

    def __init__(self, function, changes, must_fail=False, words=""):
        self.function, self.changes = function, changes
        self.must_fail, self.words = must_fail, words

    def __str__(self):
        def shown(value):
            text = repr(value)
            return text if len(text) < 60 else text[:57] + "..."
        return f"{self.function}({', '.join(f'{k}={shown(v)}' for k, v in self.changes.items())})"

    def needs(self, world):
        """A handle that this call gets and that cannot be made here."""
        handles = {"attune_runtime": world.runtime, "attune_plan": world.plan,
                   "attune_kernel": world.kernel, "attune_profile_runner": world.runner}
        return [field.kind for field, declared in world.interface.functions[self.function][1]
                if declared.count("*") == 1 and handles.get(field.kind, 1) is None]

    def run(self, world):
        parameters = world.interface.functions[self.function][1]
        arguments = world.arguments(self.function)
        for key, value in self.changes.items():
            name, _, inner = key.partition(".")
            at = next(i for i, (field, _) in enumerate(parameters) if field.name == name)
            field = parameters[at][0]
            if inner:
                fields = world.interface.structs[field.kind]
                with_field(arguments, at, next(f for f in fields if f.name == inner), value, world)
            elif value is None:
                arguments[at] = C.c_void_p(None)
            elif isinstance(value, bytes):
                arguments[at] = C.c_void_p(world.text(value))
            else:
                arguments[at] = NUMBERS.get(field.kind, C.c_int)(value)
        code = world.call(self.function, arguments)
        if world.interface.functions[self.function][0] != "attune_code":
            return None
        if code == 0:
            return "is taken" if self.must_fail else None
        for (field, declared), argument in zip(parameters, arguments):
            # The run times of attune_tunable_tune_in_files are not given out.
            is_out = declared.count("*") == 2 and hasattr(argument, "_obj")
            if is_out and argument._obj.value is not None:
                return f"fails with {code} and leaves '{field.name}' as it was"
        message = world.message()
        if not message:
            return f"fails with {code} and no message"
        if self.words not in message:
            return f"says {message!r}, without {self.words!r}"
        return None


def cases_of(interface):
    cases = [Case(function, changes, True, words) for function, changes, words in REFUSED]
    for function in without_end(interface.functions):
        parameters = interface.functions[function][1]
        for field, declared in parameters:
            if field.is_pointer:
                key = f"{function}.{field.name}"
                has_code = interface.functions[function][0] == "attune_code"
                cases.append(Case(function, {field.name: None},
                                  has_code and key not in MAY_BE_NULL))
            if field.is_text or not field.is_pointer:
                cases += [Case(function, {field.name: value})
                          for value in hostile_values(field) if value is not None]
            # A number of elements that are not there cannot be told from one that is right.
            if field.kind in interface.structs and declared.count("*") == 1:
                cases += [Case(function, {f"{field.name}.{inner.name}": value})
                          for inner in interface.structs[field.kind]
                          for value in hostile_values(inner)]
    return [case for case in cases if not is_unknowable(case)]


def is_unknowable(case):
    """Counts of an array that is shorter, and operands that are: nothing can tell."""
    for key, value in case.changes.items():
        name = key.split(".")[-1]
        bounds = {"device_count": 4096, "word_count": 65536, "variable_count": 65536, "count": 4096,
                  "name_count": 256, "argument_count": 4096, "size_count": 1024, "capacity": 0}
        if name in bounds and isinstance(value, int) and 1 < value <= bounds[name]:
            return True
        # Operands are as large as the sizes say, or the program is wrong.
        runs = case.function in ("attune_run_gemm", "attune_run_conv")
        if runs and name not in ("alpha", "beta") and isinstance(value, int) and value >= 1 << 20:
            return True
    return False


# ---- processes -----------------------------------------------------------------------------------

def work(arguments, interface):
    """Runs cases from --first on, and writes a line before and after each."""
    os.environ.clear()
    os.environ.update({"HOME": arguments.work, "PATH": "/usr/bin:/bin", "ATTUNE_POLICY": "never"})
    os.chdir(arguments.work)
    cases = cases_of(interface)
    world = World(arguments, interface)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for index in range(arguments.first, len(cases)):
        print("begin", index, flush=True)
        if cases[index].needs(world):
            print("skip", index, cases[index].function, flush=True)
            continue
        signal.alarm(CALL_LIMIT_S)
        wrong = cases[index].run(world)
        signal.alarm(0)
        print("end", index, (wrong or "").replace("\n", " "), flush=True)
    os._exit(0)


def run_all(arguments, interface):
    cases = cases_of(interface)
    failures, skipped, first = [], {}, 0
    while first < len(cases):
        command = [sys.executable, __file__, "--library", arguments.library, "--include",
                   arguments.include, "--kernel", arguments.kernel, "--work", arguments.work, "--first", str(first)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
        begun = [int(line[1]) for line in lines if line[0] == "begin"]
        ended = {int(line[1]): line[2] for line in lines if line[0] == "end"}
        skipped.update({int(line[1]): line[2] for line in lines if line[0] == "skip"})
        for line in lines:
            if line[0] == "missing" and first == 0:
                print(" ".join(line))
        failures += [(cases[i], wrong) for i, wrong in ended.items() if wrong]
        if done.returncode == 0:
            break
        if not begun:
            sys.exit(f"The process cannot begin:\n{done.stdout}{done.stderr}")
        last = begun[-1]
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else done.returncode
        failures.append((cases[last], f"ends its process with {how} {done.stderr.strip()[-300:]}"))
        first = last + 1
    for case, wrong in failures:
        print(f"{case} {wrong}")
    print(f"{len(cases) - len(skipped)} calls of {len(interface.functions)} functions, "
          f"{len(failures)} failed; {len(skipped)} skipped: {sorted(set(skipped.values()))}")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--kernel", required=True, help="a kernel file in OpenCL C")
    parser.add_argument("--work")
    parser.add_argument("--first", type=int)
    arguments = parser.parse_args()
    arguments.library = os.path.abspath(arguments.library)
    arguments.kernel = os.path.abspath(arguments.kernel)
    arguments.include = os.path.abspath(arguments.include)
    interface = Interface(arguments.include)
    if arguments.first is not None:
        return work(arguments, interface)
    unknown = [key for key in MAY_BE_NULL if key.split(".")[0] not in interface.functions]
    if unknown:
        sys.exit(f"MAY_BE_NULL names functions that are no more: {unknown}")
    with tempfile.TemporaryDirectory() as arguments.work:
        return run_all(arguments, interface)


if __name__ == "__main__":
    sys.exit(main())
