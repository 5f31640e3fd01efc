"""Tests of commands.py: which lines of a page are commands, and how marks apply."""

import pathlib
import tempfile
import unittest

import commands


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
        self.assertEqual([command.mark and command.mark.reason for command in read(page)],
                         ["needs a GPU", None])

    def test_a_mark_with_a_text_applies_to_commands_that_contain_it(self):
        page = '<!-- commands with "best": exit status 3, no trial -->\n```sh\nattune best\nattune run\n```\n'
        self.assertEqual([command.mark and command.mark.status for command in read(page)], [3, None])

    def test_marks_that_match_nothing_are_errors(self):
        for page in ('<!-- commands with "x": not run, no -->\n    attune devices\n',
                     "<!-- commands: not run, no -->\ntext\n", "<!-- commands: not run, no -->\n",
                     "<!-- commands: skipped -->\n    attune devices\n"):
            with self.assertRaises(SystemExit):
                read(page)


if __name__ == "__main__":
    unittest.main()
