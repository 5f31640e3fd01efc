#!/usr/bin/env python3
"""The files of a deployment mean what they should, as far as the tools of this machine can tell, and
no password is in any of them.

  deploy_test.py DEPLOY_FOLDER BUILD_FOLDER

A tool that is missing is named and leaves its check out; the rest is checked all the same.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile

KNOWN = {"ATTUNE_DB", "ATTUNE_QUEUE", "ATTUNE_DB_PASSWORD_FILE", "ATTUNE_QUEUE_PASSWORD_FILE"}
OPTIONS = {"--compile", "--device"}


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def run(*command, **settings):
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


def has(tool):
    if shutil.which(tool):
        return True
    print(f"without {tool}, which is not here")
    return False


def check_worker(words, where):
    """`attune worker` with options that it has, and no address: those are in the environment."""
    check(words[:2] == ["attune", "worker"], f"{where}: {words}")
    options = words[2:]
    check(len(options) % 2 == 0 and set(options[::2]) <= OPTIONS, f"{where}: {words}")


def check_settings(settings, where):
    check(KNOWN <= set(settings), f"{where} lacks {KNOWN - set(settings)}")
    for name in ("ATTUNE_DB", "ATTUNE_QUEUE"):
        check(re.fullmatch(r"(postgresql|nats)://attune@[\w.-]+(/attune)?", settings[name]),
              f"{where}: {settings[name]}")


def no_password_is_anywhere(deploy):
    for path in filter(pathlib.Path.is_file, deploy.rglob("*")):
        if "secrets" in path.parts:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            check(not re.search(r"://[^/@\s]*:[^/@\s]*@", line), f"{path}:{number}: {line}")
            check(not re.search(r"PASSWORD\s*[:=]", line), f"{path}:{number}: {line}")


def compose(deploy, yaml):
    document = yaml.safe_load((deploy / "compose.yaml").read_text())
    services = document["services"]
    check(set(services) == {"database", "queue", "compile", "measure"}, services)
    for name in ("compile", "measure"):
        check_worker(services[name]["command"], name)
        check_settings(services[name]["environment"], name)
        build = services[name]["build"]
        check((deploy / build["context"] / build["dockerfile"]).samefile(deploy / "Dockerfile"), build)
        for secret in services[name]["secrets"]:
            check(document["secrets"][secret]["file"] == f"./secrets/{secret}", secret)
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            check(source in document["volumes"] or source == "./secrets/nats_users.conf" or
                  (deploy / source).is_file(), f"there is no {source}")
    compose_is_here = shutil.which("docker") and run("docker", "compose", "version").returncode == 0
    if not compose_is_here:
        print("without docker compose, which is not here")
        return
    said = run("docker", "compose", "-f", str(deploy / "compose.yaml"), "config", "-q",
               env={"ATTUNE_USER": "1000:1000", "PATH": "/usr/local/bin:/usr/bin:/bin"})
    check(said.returncode == 0, said.stderr)


def kubernetes(deploy, yaml):
    documents = list(yaml.safe_load_all((deploy / "kubernetes.yaml").read_text()))
    kinds = [document["kind"] for document in documents]
    check(kinds == ["ConfigMap", "Deployment", "Deployment"], kinds)
    check_settings(documents[0]["data"], "ConfigMap")
    for deployment in documents[1:]:
        pod = deployment["spec"]["template"]
        name = deployment["metadata"]["name"]
        check(pod["metadata"]["labels"] == deployment["spec"]["selector"]["matchLabels"], name)
        (container,) = pod["spec"]["containers"]
        check_worker(container["command"], name)
        check(container["envFrom"] == [{"configMapRef": {"name": documents[0]["metadata"]["name"]}}], name)
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        check(set(mounts) == volumes, name)
        check(documents[0]["data"]["ATTUNE_DB_PASSWORD_FILE"].startswith(mounts["passwords"] + "/"), name)
        # Not readable to all users: attune refuses such a file.
        secret = next(v["secret"] for v in pod["spec"]["volumes"] if v["name"] == "passwords")
        check(secret["defaultMode"] & stat.S_IROTH == 0, name)


def systemd(deploy, work):
    for path in sorted((deploy / "systemd").glob("*.service")):
        text = path.read_text()
        command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1).split()
        check_worker([pathlib.Path(command[0]).name, *command[1:]], path.name)
        # Instances with users of their own would take their common folders away from each other.
        check("@" not in path.name or re.search(r"^User=\w+$", text, re.MULTILINE), path.name)
        # A drain that gives jobs back is no failure.
        check("\nSuccessExitStatus=3\n" in text, path.name)
        # There is no attune in /usr/bin of a machine that tests it.
        (work / path.name).write_text(text.replace("/usr/bin/attune", "/bin/true"))
    if not has("systemd-analyze"):
        return
    # Instances have names that a unit can have.
    (work / "attune-worker@cpu.service").symlink_to(work / "attune-worker@.service")
    for name in ("attune-worker@cpu.service", "attune-compile.service"):
        said = run("systemd-analyze", "verify", "--man=no", str(work / name))
        # Messages about units of the machine itself do not matter.
        ours = [line for line in said.stderr.splitlines() if "attune" in line]
        check(not ours, ours)


def scripts(deploy, work):
    for path in (deploy / "attune-workers.sbatch", deploy / "make_secrets.sh"):
        check(run("bash", "-n", str(path)).returncode == 0, path)
        if has("shellcheck"):
            said = run("shellcheck", str(path))
            check(said.returncode == 0, said.stdout)
    batch = (deploy / "attune-workers.sbatch").read_text()
    for option in ("--gres=gpu:", "--ntasks-per-node=1", "--signal=TERM@"):
        check(f"#SBATCH {option}" in batch, option)
    # Uses an srun that prints its arguments.
    bin_folder = work / "bin"
    bin_folder.mkdir()
    (bin_folder / "srun").write_text("#!/bin/sh\necho \"$@\"\n")
    (bin_folder / "srun").chmod(0o755)
    password = work / "password"
    password.write_text("x\n")
    settings = {"PATH": f"{bin_folder}:/usr/bin:/bin", "ATTUNE_DB": "postgresql://attune@db/attune",
                "ATTUNE_QUEUE": "nats://attune@queue", "ATTUNE_DB_PASSWORD_FILE": str(password),
                "ATTUNE_QUEUE_PASSWORD_FILE": str(password)}
    said = run("bash", str(deploy / "attune-workers.sbatch"), "--compile", "1", env=settings)
    words = said.stdout.split()
    check(said.returncode == 0 and words[0].startswith("--kill-on-bad-exit"), said)
    check_worker(words[1:], "attune-workers.sbatch")
    del settings["ATTUNE_QUEUE_PASSWORD_FILE"]
    said = run("bash", str(deploy / "attune-workers.sbatch"), env=settings)
    check(said.returncode != 0 and "ATTUNE_QUEUE_PASSWORD_FILE" in said.stderr, said)


def secrets(deploy, work):
    folder = work / "secrets"
    for _ in range(2):
        said = run("bash", str(deploy / "make_secrets.sh"), str(folder))
        check(said.returncode == 0, said.stderr)
    kept = {path.name: path.read_text() for path in folder.iterdir()}
    check(set(kept) == {"db_password", "queue_password", "nats_users.conf"}, kept.keys())
    for path in folder.iterdir():
        check(stat.S_IMODE(path.stat().st_mode) == 0o600, path)
    check(re.fullmatch(r"[A-Za-z0-9]{40}\n", kept["db_password"]), "db_password")
    check(kept["queue_password"].strip() in kept["nats_users.conf"], "nats_users.conf")
    if not has("nats-server"):
        return
    shutil.copy(deploy / "nats.conf", folder / "nats.conf")
    said = run("nats-server", "-c", str(folder / "nats.conf"), "-t")
    check(said.returncode == 0, said.stderr)


def stages_of(dockerfile):
    """The instructions of each stage, as (name, words)."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.startswith("#")]
    stages = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        name, words = line.split(maxsplit=1)
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, shlex.split(words)))
    return stages


def of(stage, wanted):
    return [words for name, words in stage if name == wanted]


def programs_that_install_puts(root):
    """Where `cmake --install` puts programs, below the prefix."""
    text = (root / "apps/attune/CMakeLists.txt").read_text()
    found = re.findall(r"install\(TARGETS ([\w -]+) RUNTIME DESTINATION ([\w/]+)\)", text)
    return {f"{folder}/{name}" for names, folder in found for name in names.split()}


def libraries_are_in(packages, build):
    """Each library that the program and its plug-ins are linked to is of one of them."""
    made = [build / "bin/attune", *sorted((build / "lib/attune").glob("attune_*.so"))]
    if "VERSION_ID=\"12\"" not in pathlib.Path("/etc/os-release").read_text() or not made[0].is_file():
        print("without the libraries of a program, which is not here or not for Debian 12")
        return
    for path in made:
        for library in re.findall(r"=> (/\S+)", run("ldd", str(path)).stdout):
            name = pathlib.Path(library).name
            if name not in run("readelf", "-d", str(path)).stdout:
                continue  # Another library needs it, and its package brings it.
            owner = run("dpkg", "-S", str(pathlib.Path(library).resolve())).stdout.split(":")[0]
            # The program that a test has built may be instrumented.
            check(owner in packages | {"libc6", ""} or re.match(r"lib([alt]san|ubsan)", owner),
                  f"{path.name} needs {name} of {owner}, which the image lacks")


def image(deploy, build):
    root = deploy.parent
    making, running = stages_of(deploy / "Dockerfile")
    check(of(making, "FROM") == [["debian:12", "AS", "build"]], making)
    check(of(running, "FROM") == [["debian:12"]], running)
    for *sources, _ in of(making, "COPY"):
        for source in sources:
            check((root / source).exists(), f"there is no {source}")
    # The packages are those of tools/packages.sh, which the script reads.
    runs = of(making, "RUN")
    check(runs[0] == ["./quickstart.sh", "--deps-only"], runs)
    check(os.access(root / "quickstart.sh", os.X_OK), "quickstart.sh")
    script = (root / "quickstart.sh").read_text()
    check('--deps-only)\n    install_packages "${build_packages[@]}" "${tuned_libraries[@]}"\n' in script, script)
    presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
    check(runs[1][:3] == ["cmake", "--preset", "release"], runs)
    check("release" in [preset["name"] for preset in presets], presets)
    check(runs[2] == ["cmake", "--build", "--preset", "release"], runs)
    check(runs[3][:6] == ["DESTDIR=/image", "cmake", "--install", "build/release", "--prefix", "/usr/local"], runs)
    # Installed files are where programs are looked for, and the unit has them where a package
    # would.
    check(of(running, "COPY") == [["--from=build", "/image/usr/local", "/usr/local"]], running)
    check("bin/attune" in programs_that_install_puts(root), "bin/attune")
    check(of(running, "USER") == [["10001:10001"]] and of(running, "ENV") == [["HOME=/scratch"]], running)
    last = of(running, "RUN")[-1]
    check(last[:3] == ["!", "ldd", "/usr/local/bin/attune"] and last[-2:] == ["attune", "devices"], last)
    installing = of(running, "RUN")[0]
    begin = installing.index("--no-install-recommends") + 1
    packages = set(installing[begin:installing.index("&&", begin)])
    libraries_are_in(packages, build)
    # Passwords are in no layer.
    check("deploy/secrets" in (deploy / "Dockerfile.dockerignore").read_text().split(), "deploy/secrets")


def main():
    deploy = pathlib.Path(sys.argv[1])
    no_password_is_anywhere(deploy)
    image(deploy, pathlib.Path(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        secrets(deploy, work)
        scripts(deploy, work)
        systemd(deploy, work)
    try:
        import yaml
    except ImportError:
        print("without yaml for Python, which is not here")
    else:
        compose(deploy, yaml)
        kubernetes(deploy, yaml)
    print("passed")


main()
