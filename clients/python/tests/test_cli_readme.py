"""Tests of the command lines that the documentation prints: each is parsed, and not run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from kubeconnect._cli._program import NAME, SECTIONS, program

README = Path(__file__).parents[1] / "README.md"
_, _, SECTION = README.read_text().partition("## Command line\n")
SECTION = SECTION.partition("\n## ")[0]
LINES = re.findall(r"^kubeconnect .*$", SECTION, re.MULTILINE)


def examples() -> list[str]:
    """Return the examples in the help of the commands."""
    ctx = program.make_context(NAME, [], resilient_parsing=True)
    helps = [
        getattr(program.get_command(ctx, name), "help", "")
        for commands in SECTIONS.values()
        for name in commands
    ]
    return [line.strip() for text in helps for line in text.splitlines() if "kubeconnect " in line]


def words_of(line: str) -> list[str]:
    """Return the words after the program, without the pipes and redirections around it."""
    command = re.split(r" \| (?=kubeconnect)", line)[-1]
    words = shlex.split(re.split(r" [|>]+ (?!\d)", command)[0])
    return words[words.index(NAME) + 1 :]


def parse(line: str) -> None:
    """Parse a command line as click does before it runs a command. Raises UsageError."""
    words = words_of(line)
    with program.make_context(NAME, words) as ctx:
        name, command, arguments = program.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
        assert command is not None
        with command.make_context(name, arguments, parent=ctx):
            pass


def test_all_commands_are_in_the_readme() -> None:
    shown = {words_of(line)[0] for line in LINES}
    assert {name for commands in SECTIONS.values() for name in commands} - shown == {
        "uncordon",
        "version",
    }


@pytest.mark.parametrize("line", LINES)
def test_lines_of_the_readme_are_parsed(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.yaml").touch()
    parse(line)


def test_examples_of_the_help_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.yaml").touch()
    Path("config").mkdir()
    found = [line for line in examples() if line.startswith(("kubeconnect", "cat "))]
    assert len(found) > 20
    for line in found:
        parse(line)


def test_each_command_has_an_example() -> None:
    ctx = program.make_context(NAME, [], resilient_parsing=True)
    for name in program.list_commands(ctx):
        text = getattr(program.get_command(ctx, name), "help", "")
        assert f"kubeconnect {name} " in f"{text} ".replace("\n", " "), name


def test_a_wrong_line_is_rejected() -> None:
    with pytest.raises(click.UsageError):
        parse("kubeconnect get pods --frobnicate")
