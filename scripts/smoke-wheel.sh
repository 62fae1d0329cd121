#!/usr/bin/env bash
# Builds the wheel, installs it into an environment without the source, and uses it from an empty folder.
# The second environment borrows the dependencies of the first, but not its editable weft.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
first="$root/${1:-.venv}"
second="$root/.venv-wheel"
wheels="$(mktemp -d)"
empty="$(mktemp -d)"
trap 'rm -rf "$wheels" "$empty" "$second"' EXIT

"$first/bin/python" -m build --quiet --wheel --no-isolation --outdir "$wheels" "$root"
size="$(stat -c %s "$wheels"/weft-*.whl)"
if [ "$size" -gt 100000000 ]; then
    echo "the wheel has $size bytes, more than the 100,000,000 of a package index" >&2
    exit 1
fi
rm -rf "$second"
"$first/bin/python" -m venv "$second"
"$second/bin/python" -m pip install --quiet --no-index --no-deps "$wheels"/weft-*.whl
borrowed="$("$first/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
own="$("$second/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
# A plain path in a .pth file is added after the environment's own packages, and its .pth files are not read.
echo "$borrowed" > "$own/borrowed.pth"

cd "$empty"
"$second/bin/python" "$root/scripts/smoke.py" "$own"
"$second/bin/weft" --version
"$second/bin/weft" models
"$second/bin/weft" demo
echo "smoke test of the installed wheel: passed"
