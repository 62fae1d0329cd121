"""Check the documentation: every relative link leads to a file that is there, and to a heading that it has."""

import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[1]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub names them."""
    found: list[str] = []
    for line in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)", "", line).lower()
        found.append(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    again = [f"{name}-{found[:place].count(name)}" for place, name in enumerate(found)]
    return {*found, *again}


pages = [
    *root.glob("*.md"),
    *sorted((root / "docs").rglob("*.md")),
    *sorted((root / "examples").rglob("*.md")),
]
broken = []
for page in pages:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        place = page.parent / target if target else page
        if "://" in target:
            continue
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            broken.append(f"{page.relative_to(root)}: {link}")
for line in broken:
    print(f"broken link: {line}")
print(f"{len(pages)} pages, {len(broken)} broken links")
sys.exit(bool(broken))
