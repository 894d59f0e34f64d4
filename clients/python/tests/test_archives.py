"""Tests of the archives of files that are copied."""

import io
import logging
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from kubeconnect import CopyError
from kubeconnect._containers.archives import pack, split_remote, unpack


@pytest.mark.parametrize(
    ("remote", "parts"),
    [
        ("/etc/hosts", ("/etc", "hosts")),
        ("/etc/", ("/", "etc")),
        ("hosts", (".", "hosts")),
        ("/", ("/", ".")),
        (".", (".", ".")),
        ("a/..", (".", ".")),
        ("..", ("..", ".")),
        ("a/./b//c", ("a/b", "c")),
    ],
)
def test_splits_the_path_in_a_container(remote: str, parts: tuple[str, str]) -> None:
    folder, name = split_remote(remote)
    assert (str(Path(folder)), name) == parts


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "a").mkdir(parents=True)
    (source / "a" / ("long" * 50)).write_bytes(b"long")
    (source / "run").write_bytes(b"#!")
    (source / "run").chmod(0o700)
    (source / "hard").hardlink_to(source / "run")
    archive = io.BytesIO()
    pack(source, "name", archive)
    unpack(archive, "name", tmp_path / "target")
    copies = {p.relative_to(tmp_path / "target"): p for p in (tmp_path / "target").rglob("*")}
    assert {str(name) for name in copies} == {"a", f"a/{'long' * 50}", "run", "hard"}
    assert (tmp_path / "target/hard").read_bytes() == b"#!"
    assert (tmp_path / "target/run").stat().st_mode & 0o777 == 0o700


def test_a_symbolic_link_is_skipped_and_none_is_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub/file").write_bytes(b"new")
    (source / "link").symlink_to("/etc")
    archive = io.BytesIO()
    pack(source, "name", archive)
    with caplog.at_level(logging.WARNING, "kubeconnect"):
        unpack(archive, "name", tmp_path / "first")
    assert "skipped 'name/link'" in caplog.text
    assert not (tmp_path / "first/link").is_symlink()
    (tmp_path / "outside").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "second/sub").symlink_to(tmp_path / "outside")
    with pytest.raises(CopyError, match="a symbolic link leads out of the target"):
        unpack(archive, "name", tmp_path / "second")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_hard_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        link = tarfile.TarInfo("name")
        link.type, link.linkname = tarfile.LNKTYPE, "/etc/passwd"
        writer.addfile(link)
    with pytest.raises(CopyError, match="invalid"):
        unpack(archive, "name", tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_says_what_to_install() -> None:
    program = """
import sys
sys.modules["websockets"] = None
import kubeconnect
with kubeconnect.Client("http://127.0.0.1:1") as client:
    client.exec("web", ["ls"], namespace="demo")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ImportError: connections into containers need websockets" in ran.stderr
    assert "pip install 'kubeconnect[exec]'" in ran.stderr
