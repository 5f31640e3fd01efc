"""Tests of commands.py, which lines of a page are commands and how marks apply, and of run_commands.py, which
commands run."""

import os
import pathlib
import tempfile
import types
import unittest
import unittest.mock

import commands
import requirements
import run_commands
import sandbox

GPU = "an NVIDIA GPU"


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text)
        return commands.page_commands(pathlib.Path(folder), page.name)


def texts(page):
    return [command.text for command in read(page)]


class Commands(unittest.TestCase):
    def test_fenced_shell_blocks_have_commands_only(self):
        self.assertEqual(texts("```sh\n# remark\nunknown --option   # remark\n```\n"),
                         ["unknown --option"])

    def test_lines_behind_prompts_are_commands_and_others_are_output(self):
        self.assertEqual(texts("    $ unknown 1\n    attune devices\n"), ["unknown 1"])

    def test_indented_blocks_have_known_programs(self):
        self.assertEqual(texts("text\n\n    A=1 attune devices\n    device  backend\n"),
                         ["A=1 attune devices"])

    def test_messages_of_attune_are_no_commands(self):
        self.assertEqual(texts("    attune capture: step, launch 1 of 500\n"), [])

    def test_other_languages_are_no_commands(self):
        self.assertEqual(texts("```text\nattune devices\n```\n"), [])

    def test_commands_continue_on_the_next_line(self):
        self.assertEqual(texts("    attune tune \\\n      --tag a\n    for i in 1 2; do\n      echo\n    done\n"),
                         ["attune tune --tag a", "for i in 1 2; do\n  echo\ndone"])

    def test_a_fence_ends_with_the_same_fence(self):
        self.assertEqual(texts("~~~sh\na '\n```\n'\n~~~\n"), ["a '\n```\n'"])


class Marks(unittest.TestCase):
    def test_a_mark_applies_to_the_next_block(self):
        page = "<!-- commands: not run, needs a GPU -->\n\n    attune devices\n\ntext\n\n    attune best\n"
        self.assertEqual([command.not_run for command in read(page)], ["needs a GPU", None])

    def test_a_mark_with_a_text_applies_to_commands_that_contain_it(self):
        page = '<!-- commands with "best": exit status 3, no trial -->\n```sh\nattune best\nattune run\n```\n'
        self.assertEqual([command.statuses for command in read(page)], [(3,), (0,)])

    def test_marks_of_a_block_add_up(self):
        page = ('<!-- commands: need PostgreSQL and NATS -->\n<!-- commands with "run": need Octave -->\n'
                '<!-- commands with "run": interrupted, exit status 3, jobs are left -->\n'
                "```sh\nattune best\nattune run\n```\n")
        best, run = read(page)
        self.assertEqual((best.needs, best.statuses, best.interrupted), (("PostgreSQL", "NATS"), (0,), False))
        self.assertEqual((run.needs, run.statuses, run.interrupted), (("PostgreSQL", "NATS", "Octave"), (3,), True))

    def test_the_first_status_counts(self):
        page = ('<!-- commands with "best": exit status 3, no trial -->\n<!-- commands: exit status 0 or 1, by the device -->\n'
                "```sh\nattune best\nattune run\n```\n")
        self.assertEqual([command.statuses for command in read(page)], [(3,), (0, 1)])

    def test_an_unknown_requirement_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "there is no requirement 'a typewriter'"):
            read("<!-- commands: need a typewriter -->\n    attune devices\n")

    def test_marks_that_match_nothing_are_errors(self):
        for page in ('<!-- commands with "x": not run, no -->\n    attune devices\n',
                     "<!-- commands: not run, no -->\ntext\n", "<!-- commands: not run, no -->\n",
                     "<!-- commands: skipped -->\n    attune devices\n"):
            with self.assertRaises(SystemExit):
                read(page)


class Mentions(unittest.TestCase):
    VERBS = {(): " --db URL", ("tune",): " --tag T"}

    def mentions(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "page.md").write_text(text)
            return [text for _, text in commands.mentions(pathlib.Path(folder), "page.md")]

    def errors(self, text):
        root = pathlib.Path(__file__).resolve().parents[2]
        options = types.SimpleNamespace(repository=root, bin=root / "none")
        return run_commands.mention_errors(options, "page.md:1", text, self.VERBS)

    def test_commands_within_text_are_found_without_variables_before_them(self):
        self.assertEqual(self.mentions("`A=$PWD/b attune tune --tag a`, `attune --db f tune`, `attune --help`, `b`"),
                         ["attune tune --tag a", "attune --db f tune"])
        self.assertEqual(self.mentions("`A=b build/release/bin/search --repeats 9` and `bench/search.py --x`"),
                         ["build/release/bin/search --repeats 9", "bench/search.py --x"])

    def test_their_verbs_and_options_exist(self):
        self.assertEqual(self.errors("attune --db f tune --tag a"), [])
        self.assertEqual(len(self.errors("attune tune --tags a")), 1)
        self.assertEqual(len(self.errors("attune tuna")), 1)

    def test_their_programs_and_scripts_exist(self):
        self.assertEqual(self.errors("bench/ops_torch.py --set softmax"), [])
        self.assertEqual(self.errors("build/dev/bin/cuda_ops --set softmax"), [])  # Not built.
        self.assertEqual(len(self.errors("bench/ops_torch.py --sets softmax")), 1)
        self.assertEqual(len(self.errors("build/dev/bin/no_such_bench --set softmax")), 1)


class FakeSandbox:
    """Runs nothing: each command ends with status 0."""

    path = pathlib.Path("/none")

    def __init__(self, lacking=()):
        self.lacking, self.ran = lacking, []

    def lacks(self, needs):
        return next((name for name in needs if name in self.lacking), None)

    def adapted(self, command):
        return command

    def prepare(self, _):
        return None

    def run(self, command, *_):
        self.ran.append(command)
        return 0, ""


class Running(unittest.TestCase):
    def run_commands(self, page, folder, needing=None):
        options = types.SimpleNamespace(needing=needing, devices=set(), verbose=False,
                                        repository=pathlib.Path(__file__).resolve().parents[2])
        report = run_commands.Report("page")
        for command in read(page):
            run_commands.run_command(options, folder, command, report)
        return report

    def test_a_command_runs_if_the_machine_has_what_it_needs(self):
        folder = FakeSandbox()
        report = self.run_commands("<!-- commands: need Octave -->\n    octave script.m\n", folder)
        self.assertEqual((folder.ran, report.run, report.not_run), (["octave script.m"], 1, 0))

    def test_a_command_is_skipped_with_the_reason_if_the_machine_lacks_what_it_needs(self):
        folder = FakeSandbox(lacking={"Octave"})
        report = self.run_commands("<!-- commands: need Octave -->\n    octave script.m\n", folder)
        self.assertEqual((folder.ran, report.lines), ([], ["not run, needs Octave: octave script.m"]))

    def test_commands_with_a_test_of_their_own_run_only_there(self):
        page = f"<!-- commands: need {GPU} -->\n    octave script.m\n"
        self.assertEqual(self.run_commands(page, FakeSandbox()).lines,
                         [f"not run, needs {GPU}, see docs_commands_gpu: octave script.m"])
        self.assertEqual(self.run_commands(page, FakeSandbox(), needing=GPU).run, 1)

    def test_commands_that_do_not_run_name_files_and_services_that_exist(self):
        for text, failures in (("docker compose -f deploy/compose.yaml up -d --scale compile=2", 0),
                               ("docker compose -f deploy/compose.yaml logs -f measures", 1),
                               ("docker compose -f deploy/compose.yml build", 1),
                               ("python3 bench/no_such_bench.py", 1)):
            report = self.run_commands(f"<!-- commands: not run, why -->\n    {text}\n", FakeSandbox())
            self.assertEqual((report.not_run, report.failed), (1, failures), text)

    def test_another_status_than_that_of_the_mark_fails(self):
        report = self.run_commands("<!-- commands: exit status 3, why -->\n    octave script.m\n", FakeSandbox())
        self.assertEqual(report.failed, 1)

    def test_a_test_of_a_need_selects_whole_blocks(self):
        page = (f'<!-- commands with "run": need {GPU} -->\n```sh\nattune tune\nattune run\n```\n'
                "```sh\nattune best\n```\n")
        groups = {"page": read(page), "other": read("    attune devices\n")}
        chosen = run_commands.selected(groups, [], GPU)
        self.assertEqual({name: [command.text for command in group] for name, group in chosen.items()},
                         {"page": ["attune tune", "attune run"]})
        self.assertEqual(run_commands.selected(groups, ["other"], None), {"other": groups["other"]})
        self.assertEqual(run_commands.selected(groups, ["other"], GPU), {})


class Sandboxes(unittest.TestCase):
    def setUp(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        options = types.SimpleNamespace(repository=root, bin=root / "none", plugins=root / "none",
                                        devices=set(), libraries=set())
        self.folder = sandbox.Sandbox(options, pathlib.Path(scratch.name))

    def test_a_requirement_is_provided_once(self):
        asked = []
        fake = {"here": lambda _: asked.append("here"), "not here": lambda _: "no device"}
        with unittest.mock.patch.object(requirements, "PROVIDERS", fake):
            self.assertIsNone(self.folder.lacks(("here",)))
            self.assertEqual(self.folder.lacks(("here", "not here")), "not here (no device)")
        self.assertEqual(asked, ["here"])

    def test_a_build_is_one_of_whole_sources_and_no_other_build(self):
        self.assertIsNone(self.folder.lacks(("a build",)))
        self.assertFalse((self.folder.path / "tests/docs").is_symlink())
        self.assertFalse((self.folder.path / "build/dev/bin").exists())
        whole, copy = (root / "tests/data/driver/resnet50.txt"
                       for root in (self.folder.options.repository, self.folder.path))
        self.assertEqual(copy.read_text(), whole.read_text())
        self.assertNotIn("ATTUNE_PLUGINS", self.folder.environment)

    def test_recordings_are_a_folder_beside_the_repository_or_of_the_environment(self):
        with unittest.mock.patch.dict(os.environ, {"ATTUNE_DATA_DIR": str(self.folder.path / "none")}):
            self.assertEqual(self.folder.lacks(("recordings",)), f"recordings (there is no {self.folder.path}/none)")
        self.folder.provided.clear()
        with unittest.mock.patch.dict(os.environ, {"ATTUNE_DATA_DIR": str(self.folder.path)}):
            self.assertIsNone(self.folder.lacks(("recordings",)))
        self.assertEqual(self.folder.adapted("ATTUNE_DATA_DIR=DATA build/dev/bin/models --only h200"),
                         f"ATTUNE_DATA_DIR={self.folder.path} build/dev/bin/models --only h200 --splits 1")

    def test_a_gpu_is_what_attune_lists(self):
        self.assertEqual(self.folder.lacks((GPU,)), f"{GPU} (there is no usable cuda:0)")
        self.folder.provided.clear()
        self.folder.options.devices = {"cpu", "cuda:0"}
        self.assertIsNone(self.folder.lacks((GPU,)))

    def test_what_examples_stand_for_is_replaced(self):
        text = "attune worker --db postgresql://attune@db/attune --job 4711"
        self.assertEqual(self.folder.adapted(text), text + " --per-problem 5s")
        self.folder.names.update(database="127.0.0.1:15432", job=7)
        self.assertEqual(self.folder.adapted(text),
                         "attune worker --db postgresql://attune@127.0.0.1:15432/attune --job 7 --per-problem 5s")

    def test_commands_are_interrupted_by_control_c_or_end_at_their_limit(self):
        with unittest.mock.patch.object(sandbox, "INTERRUPT_S", 0.5):
            self.assertEqual(self.folder.run("sleep 60", interrupted=True)[0], 130)
            self.assertEqual(self.folder.run("true", interrupted=True)[0], sandbox.ENDED_EARLY)
            self.assertEqual(self.folder.run("sleep 60", timeout_s=0.5)[0], sandbox.TIMED_OUT)
            waits = "import signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(3)); signal.pause()"
            self.assertEqual(self.folder.run(f"python3 -c '{waits}'", interrupted=True)[0], 3)

    def test_an_energy_counter_is_provided(self):
        with self.folder:
            self.assertIsNone(self.folder.lacks(("an energy counter",)))
            self.assertTrue(os.path.exists(self.folder.environment["ATTUNE_POWERCAP"]))


if __name__ == "__main__":
    unittest.main()
