#!/usr/bin/env python3
"""The files of a deployment mean what they should, as far as the tools of this machine can tell, and
no password is in any of them.

  deploy_test.py DEPLOY_FOLDER

A tool that is missing is named and leaves its check out; the rest is checked all the same.
"""

import pathlib
import re
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
               env={"ATTUNE_IMAGE": "attune", "PATH": "/usr/local/bin:/usr/bin:/bin"})
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
        # Not for everybody: attune refuses a file that everybody may read.
        secret = next(v["secret"] for v in pod["spec"]["volumes"] if v["name"] == "passwords")
        check(secret["defaultMode"] & stat.S_IROTH == 0, name)


def systemd(deploy, work):
    for path in sorted((deploy / "systemd").glob("*.service")):
        text = path.read_text()
        command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1).split()
        check_worker([pathlib.Path(command[0]).name, *command[1:]], path.name)
        # Instances with users of their own would take their common folders away from each other.
        check("@" not in path.name or re.search(r"^User=\w+$", text, re.MULTILINE), path.name)
        # There is no attune in /usr/bin of a machine that tests it.
        (work / path.name).write_text(text.replace("/usr/bin/attune", "/bin/true"))
    if not has("systemd-analyze"):
        return
    # Instances have names that a unit can have.
    (work / "attune-worker@cpu.service").symlink_to(work / "attune-worker@.service")
    for name in ("attune-worker@cpu.service", "attune-compile.service"):
        said = run("systemd-analyze", "verify", "--man=no", str(work / name))
        # Of units of the machine itself it may say what it likes.
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
    # With an srun that says what it was asked for.
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


def main():
    deploy = pathlib.Path(sys.argv[1])
    no_password_is_anywhere(deploy)
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
