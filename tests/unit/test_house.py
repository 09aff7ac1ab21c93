"""Rules of the house that no tool checks: rooms are ours, deviations are listed, links in documents lead somewhere."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from docs.make_deviations import DOCUMENT, document

ROOT = Path(__file__).parents[2]
ROOMS = ("wddm", "runtime", "umd", "kernel", "miniport", "vgpu")


@pytest.mark.parametrize("room", ROOMS)
def test_the_package_of_that_name_is_ours(room: str) -> None:
    module = importlib.import_module(room)
    assert module.__file__ is not None
    assert Path(module.__file__).parent == ROOT / room
    assert (ROOT / room / "py.typed").exists()


def test_every_deviation_in_the_code_is_listed() -> None:
    assert DOCUMENT.read_text() == document(), "run: ./dev python docs/make_deviations.py"


def test_links_in_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_no_document_or_source_names_a_machine() -> None:
    forbidden = re.compile(r"/work/|/root/|/tmp/wddm|/home/[a-z]")
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".md", ".toml", ".yml"} and not any(p.startswith(".") or p == "results" for p in path.parts[len(ROOT.parts) :]):
            if path != Path(__file__):
                found = forbidden.search(path.read_text(errors="replace"))
                assert not found, f"{path.relative_to(ROOT)}: {found}"
