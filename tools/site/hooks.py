"""Hooks of MkDocs for the site of the documentation.

Documents of the repository that are not in docs/ are pages of the site too. A document has the
links that work in the repository. On the site, a link to a file that is no page leads to the
repository. The site also has each page as Markdown, and lists them in llms.txt.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from textwrap import indent

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

# The documents outside of docs/ that are pages.
DOCUMENTS = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "bench/README.md",
    "clients/python/README.md",
    "clients/python/docs/coming-from.md",
    "clients/python/docs/operators.md",
    "clients/ts/README.md",
]

# The references that other programs write as HTML: folders of the site, and of the checkout.
REFERENCES = {"reference/python": ".cache/docs/python", "reference/ts": ".cache/docs/ts"}

FENCE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)\s#]+)(#[^)\s]*)?", re.MULTILINE)
SNIPPET = re.compile(r'^( *)--8<-- "([^"]+)"$', re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages that the navigation does not list to its section Operate."""
    docs = Path(config.docs_dir)
    existing = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    operate = next(item["Operate"] for item in config.nav if "Operate" in item)
    operate.extend(sorted(existing - set(listed(config.nav))))
    return config


def listed(nav: object) -> list[str]:
    """Return the pages of a navigation as mkdocs.yml has it."""
    if isinstance(nav, str):
        return [nav]
    children = nav.values() if isinstance(nav, dict) else nav
    return [page for child in children for page in listed(child)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents and references that are not in docs/."""
    for name in DOCUMENTS:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    for folder, source in REFERENCES.items():
        for path in sorted((ROOT / source).rglob("*")):
            if path.is_file():
                uri = f"{folder}/{path.relative_to(ROOT / source).as_posix()}"
                files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files of the repository by links that work on the site."""
    repository = config.extra["repository"]

    def replace(link: re.Match[str]) -> str:
        before, target, anchor = link[1], link[2], link[3] or ""
        return before + resolve(target, page.file.src_uri, files, repository) + anchor

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def resolve(target: str, page: str, files: Files, repository: str) -> str:
    """Return the link on the site for a link of a document, or the link itself."""
    own = f"{repository}/blob/main/"
    if target.startswith(own):
        path = target.removeprefix(own)
    elif ":" in target:
        return target
    else:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository(page)), target))
    uri = path.removeprefix("docs/")
    if files.get_file_from_path(uri):
        return posixpath.relpath(uri, posixpath.dirname(page) or ".")
    if not (ROOT / path).exists():
        return target  # which fails the build
    return f"{repository}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"


def in_repository(page: str) -> str:
    """Return the path of a page's document in the repository."""
    return page if page in DOCUMENTS else f"docs/{page}"


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Remember the navigation for llms.txt, which is written after the build."""
    config.extra["navigation"] = nav
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write each page as Markdown, and llms.txt, which lists them."""
    site, nav = Path(config.site_dir), config.extra["navigation"]
    lines = [f"# {config.site_name}", "", f"> {config.site_description}.", ""]
    for item in nav.items:
        if isinstance(item, Section):
            lines += ["", f"## {item.title}", ""]
        for page in pages(item):
            lines.append(f"- [{page.title}]({page.file.src_uri}): {summary(page.markdown)}")
            (site / page.file.src_uri).write_text(included(page.markdown))
    (site / "llms.txt").write_text("\n".join(lines) + "\n")


def pages(item: object) -> list[Page]:
    """Return the pages of an item of the navigation."""
    if isinstance(item, Section):
        return [page for child in item.children for page in pages(child)]
    return [item] if isinstance(item, Page) else []


def summary(markdown: str) -> str:
    """Return the first sentence of the first paragraph."""
    for paragraph in re.split(r"\n\s*\n", FENCE.sub(lambda code: code[0][:60], markdown)):
        text = " ".join(paragraph.split())
        if text and text[0] not in "#!|<`->:=[":
            text = re.sub(r"\[([^\]]+)\](\([^)]*\)|\[[^\]]*\])?", r"\1", text).replace("**", "")
            return re.split(r"(?<=[.:]) ", text)[0]
    return ""


def included(markdown: str) -> str:
    """Return a page with the programs that it includes."""

    def replace(snippet: re.Match[str]) -> str:
        text = (ROOT / "docs/snippets" / snippet[2]).read_text().rstrip()
        return indent(text, snippet[1])

    return SNIPPET.sub(replace, markdown)
