"""The models that come with the package: folders in ``weft/weights``, named ``KIND-SIZE``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from weft.errors import CheckpointError


def find_model(kind: str, name_or_dir: str | Path) -> Path:
    """The directory of a model: one of that path, or the shipped one of that name.

    Args:
        kind: ``"absa"``, ``"bcsd"`` or ``"kg"``.
        name_or_dir: A directory, or a name.

    Raises:
        CheckpointError: There is neither.
    """
    directory = Path(name_or_dir)
    if directory.is_dir():
        return directory
    shipped = shipped_models(kind)
    if str(name_or_dir) in shipped:
        return shipped[str(name_or_dir)]
    known = ", ".join(shipped) or "none"
    raise CheckpointError(
        "no such model", where=str(name_or_dir), hint=f"give a directory, or a shipped model: {known}"
    )


def shipped_models(kind: str) -> dict[str, Path]:
    """The shipped models of one kind by name."""
    weights = Path(str(files("weft"))) / "weights"
    return {path.parent.name: path.parent for path in sorted(weights.glob(f"{kind}-*/config.json"))}
