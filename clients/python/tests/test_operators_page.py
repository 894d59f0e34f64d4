"""Tests that the page about operators shows the examples as they are."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
PAGE = (FOLDER / "docs" / "operators.md").read_text()
README = (FOLDER / "README.md").read_text()
EXAMPLES = [FOLDER / "examples" / name for name in ("websites.py", "websites_kopf.py")]


def code_lines(source: str) -> int:
    """Return the number of lines that have code: no blank lines, comments or docstrings."""
    ignored = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in (*ignored, tokenize.ENDMARKER)
        for line in range(token.start[0], token.end[0] + 1)
    }
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node):
            text = node.body[0]
            lines -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def test_only_code_is_counted() -> None:
    source = (
        '"""A module."""\n\n# A comment.\nx = [\n    1,\n]  # three\n\n\ndef f():\n    """F."""\n'
    )
    assert code_lines(source) == 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_numbers_of_lines_are_true(path: Path) -> None:
    count = code_lines(path.read_text())
    for text in (PAGE, README):
        assert f"`{path.name}` has {count} lines of code" in " ".join(text.split())


def test_all_programs_are_parts_of_the_examples() -> None:
    sources = [words(path.read_text()) for path in EXAMPLES]
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(programs) > 4
    for program in programs:
        assert any(words(program) in source for source in sources), program


def words(source: str) -> str:
    """Return a program without its indentation and blank lines, which differ on the page."""
    return " ".join(source.split())
