"""Check the documentation: every relative link leads somewhere."""

import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[1]
pages = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]
broken = []
for page in pages:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        target = link.split("#")[0]
        if target and "://" not in target and not (page.parent / target).exists():
            broken.append(f"{page.relative_to(root)}: {link}")
for line in broken:
    print(f"broken link: {line}")
print(f"{len(pages)} pages, {len(broken)} broken links")
sys.exit(bool(broken))
