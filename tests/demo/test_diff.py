from rich.console import Console

from weft.demo import diff


def test_the_demonstration_shows_what_the_patch_changed_on_arm32(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    console = Console(record=True, width=110)
    diff.show(console)
    text = console.export_text()
    assert "changed" in text
    assert "bound check added" in text
    assert "13 changed, " in text
    assert "+ if (arg3 < 0x41)" in text
    assert "│" in text
    assert (tmp_path / diff.REPORT).read_text().count("<details>") == 13
