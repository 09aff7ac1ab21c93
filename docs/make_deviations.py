"""Collect what the sources mark as ``DEVIATES:`` into docs/deviations.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "deviations.md"
ROOMS = ("wddm", "runtime", "umd", "kernel", "miniport", "vgpu")
HEAD = """# Where this model is not Windows

Each line is a `DEVIATES` mark in the source, written where the rule is broken; this page is made from them by
`docs/make_deviations.py`, and a test keeps it true. The larger ones have a page in [decisions](decisions/).
"""


def _sentences(text: str) -> list[str]:
    """The text after each mark: a comment's block, or the rest of a docstring's paragraph (or its list)."""
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = re.search(r"DEVIATES([^:]{0,40}):(.*)", line)
        if match is None:
            continue
        scope, rest = match[1].strip(" ,"), match[2]
        words = [rest.split('"""')[0].strip()]
        comment = line.strip().startswith("#") or "  # DEVIATES" in line
        if '"""' not in rest:
            for following in lines[number + 1 :]:
                stripped = following.strip()
                if comment != stripped.startswith("#") or (not stripped and words != [""]):
                    break
                words.append(stripped.lstrip("#*").split('"""')[0].strip())
                if '"""' in stripped or "DEVIATES" in stripped:
                    break
        sentence = " ".join(filter(None, words)).split("DEVIATES")[0].strip()
        found.append(f"({scope}) {sentence}" if scope else sentence)
    return found


def document() -> str:
    """The page as it should be."""
    parts = [HEAD]
    for room in ROOMS:
        lines = []
        for path in sorted((ROOT / room).rglob("*.py")):
            for sentence in _sentences(path.read_text()):
                lines.append(f"* `{path.relative_to(ROOT)}`: {sentence}")
        if lines:
            parts.append(f"\n## {room}\n\n" + "\n".join(lines) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(document())
