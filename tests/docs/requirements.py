"""Requirements of commands in the documentation, by the names in their marks.

Each provider gets the sandbox of a page, before the first command that needs it runs. It prepares the
sandbox, or returns the reason why this machine cannot.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import fake_package  # noqa: E402

# Only these tests run commands with these needs, and nothing else.
TESTS = {"an NVIDIA GPU": "docs_commands_gpu", "minutes": "docs_commands_slow", "a build": "docs_commands_build",
         "hours": "docs_commands_long"}
NOT_INSTALLED = 77


def program(name):
    def provide(_):
        return None if shutil.which(name) else f"{name} is not installed"
    return provide


def python_modules(*names):
    def provide(_):
        lacks = [name for name in names if importlib.util.find_spec(name) is None]
        return f"Python lacks {', '.join(lacks)}" if lacks else None
    return provide


def nvidia_gpu(sandbox):
    return None if "cuda:0" in sandbox.options.devices else "there is no usable cuda:0"


def cudnn(sandbox):
    return None if "cudnn" in sandbox.options.libraries else "there is no cuDNN"


def minutes(_):
    return None


def a_build(sandbox):
    sandbox.copy_sources()
    return None


def hours(sandbox):
    """The scripts of these commands install missing packages, which a test does not."""
    missing = subprocess.run(
        ["bash", "-c", ". tools/packages.sh && "
         'missing_packages "${build_packages[@]}" "${tuned_libraries[@]}" "${test_packages[@]}"'],
        cwd=sandbox.options.repository, capture_output=True, text=True, check=True).stdout.split()
    if missing:
        return f"packages are missing: {' '.join(missing)}"
    return a_build(sandbox)


def pypi(sandbox):
    folder = sandbox.path / "home/pypi"
    asks = subprocess.run(
        ["bash", "-c", f"python3 -m venv {folder} && {folder}/bin/pip download --no-deps --dest {folder} xlsx2csv"],
        env=sandbox.environment, capture_output=True, text=True, check=False)
    return None if asks.returncode == 0 else asks.stderr.strip().rsplit("\n", 1)[-1]


def recordings(sandbox):
    folder = pathlib.Path(os.environ.get("ATTUNE_DATA_DIR", sandbox.options.repository.parent / "shared/data"))
    if not folder.is_dir():
        return f"there is no {folder}"
    sandbox.names["recordings"] = folder.resolve()
    return None


def energy_counter(sandbox):
    counter = sandbox.resources.enter_context(fake_package.FakePackage(sandbox.path / "home/powercap"))
    sandbox.environment["ATTUNE_POWERCAP"] = str(counter.root)
    return None


# ---- servers on loopback ------------------------------------------------------------------------------

def start(sandbox, name):
    """Starts a server that ends with the sandbox. Returns (what its clients need, reason of a failure)."""
    binary = sandbox.options.bin / "attune_docs_serve"
    if not binary.exists():
        return None, f"{binary.name} is not built"
    server = subprocess.Popen([binary, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    sandbox.resources.callback(lambda: server.communicate())  # Closes its input.
    line = server.stdout.readline()
    if line:
        return json.loads(line), None
    _, printed = server.communicate()
    if server.returncode != NOT_INSTALLED:
        raise SystemExit(f"cannot start '{binary} {name}': {printed}")
    return None, printed.strip()


def write_secret(path, text):
    path.write_text(text + "\n")
    path.chmod(0o600)


def postgres(sandbox):
    terms, lacks = start(sandbox, "postgres")
    if lacks:
        return lacks
    host, port = terms["url"].split("@")[1].split("/")[0].split(":")
    sandbox.names["database"] = f"{host}:{port}"
    shutil.copy(terms["authority"], sandbox.path / "certs/db.pem")
    write_secret(sandbox.path / "home/.attune-password", terms["password"])
    # For psql, and for commands of pages that tell nothing about passwords.
    sandbox.environment.update({"PGHOST": host, "PGPORT": port, "PGUSER": "attune", "PGPASSWORD": terms["password"],
                                "ATTUNE_DB_PASSWORD": terms["password"]})
    return None


def maria(sandbox):
    terms, lacks = start(sandbox, "maria")
    if lacks:
        return lacks
    host, port = terms["url"].split("@")[1].split("/")[0].split(":")
    (sandbox.path / "home/.my.cnf").write_text(f"[client]\nprotocol=tcp\nhost={host}\nport={port}\nuser=root\n")
    return None


def nats(sandbox):
    terms, lacks = start(sandbox, "nats")
    if not lacks:
        sandbox.names["queue"] = terms["hosts"]
    return lacks


def nats_cluster(sandbox):
    terms, lacks = start(sandbox, "nats_cluster")
    if lacks:
        return lacks
    sandbox.names["queue_cluster"] = terms["hosts"]
    shutil.copy(terms["authority"], sandbox.path / "certs/queue.pem")
    write_secret(sandbox.path / "home/.attune-queue-password", terms["password"])
    return None


PROVIDERS = {
    "PostgreSQL": postgres,
    "MariaDB": maria,
    "NATS": nats,
    "a cluster of NATS": nats_cluster,
    "Octave": program("octave"),
    "xlsx2csv": program("xlsx2csv"),
    "PyTorch": python_modules("torch"),
    "PyPI": pypi,
    "recordings": recordings,
    "an energy counter": energy_counter,
    "an NVIDIA GPU": nvidia_gpu,
    "cuDNN": cudnn,
    "minutes": minutes,
    "a build": a_build,
    "hours": hours,
}
