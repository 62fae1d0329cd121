"""Packages by name: what apt is asked, what becomes of those that it does not have; apt itself is played here."""

import shutil
from pathlib import Path

import pytest

from weft.bcsd.libraries.apt import Apt, parse_request, run_apt
from weft.errors import InputError


class Played:
    """apt-get with a few packages."""

    def __init__(self, packages, update=(0, "")):
        self.packages, self.update, self.calls = packages, update, []

    def __call__(self, command, environment, folder):
        self.calls.append(list(command))
        self.configuration = Path(environment["APT_CONFIG"]).read_text()
        if command[1] == "update":
            return self.update
        names = [name.split("=")[0].split(":")[0] for name in command[3:]]
        unknown = [name for name in names if name not in self.packages]
        if unknown:
            return 100, "".join(f"E: Unable to locate package {name}\n" for name in unknown)
        for name in names:
            shutil.copy(self.packages[name], folder)
        return 0, ""


@pytest.fixture
def played(deb):
    return Played({name: deb(name, "1.0-1", {}) for name in ("a-dev", "b-dev", "c-dev")})


def fetched(apt, *names):
    return {request.text: found for request, found in apt.fetch([parse_request(name) for name in names])}


def test_packages_are_fetched_once(played, tmp_path):
    apt = Apt(tmp_path / "work", run=played)
    found = fetched(apt, "a-dev", "b-dev")
    assert sorted(path.name for path in found.values()) == ["a-dev_1.0-1_amd64.deb", "b-dev_1.0-1_amd64.deb"]
    assert [call[:2] for call in played.calls] == [["apt-get", "update"], ["apt-get", "download"]]
    assert fetched(apt, "b-dev", "a-dev") == found
    assert len(played.calls) == 2
    assert set(fetched(Apt(tmp_path / "work", run=played), "a-dev", "c-dev")) == {"a-dev", "c-dev"}
    assert played.calls[2:] == [["apt-get", "download", "--", "c-dev"]]


def test_one_that_is_not_there_does_not_take_the_others_along(played, tmp_path):
    found = fetched(Apt(tmp_path / "work", run=played), "a-dev", "nothing-dev", "b-dev", "c-dev=9")
    assert isinstance(found["nothing-dev"], InputError)
    assert "Unable to locate package nothing-dev" in str(found["nothing-dev"])
    assert isinstance(found["c-dev=9"], InputError)
    assert found["a-dev"].is_file()
    assert found["b-dev"].is_file()


def test_nothing_of_the_system_is_touched(played, tmp_path):
    (tmp_path / "list").write_text("deb http://example.org/ stable main\n")
    list(Apt(tmp_path / "work", tmp_path / "list", run=played).fetch([parse_request("a-dev:arm64")]))
    assert f'Dir::State "{tmp_path}/work/apt";' in played.configuration
    assert f'Dir::Cache "{tmp_path}/work/apt/cache";' in played.configuration
    assert f'Dir::Etc::sourcelist "{tmp_path}/list";' in played.configuration
    assert 'APT::Architectures { "arm64"; };' in played.configuration


def test_no_lists_is_one_error(deb, tmp_path):
    apt = Apt(tmp_path / "work", run=Played({}, (100, "E: Could not resolve 'deb.example.org'\n")))
    with pytest.raises(InputError, match="lists of packages cannot be fetched: Could not resolve"):
        fetched(apt, "a-dev")


@pytest.mark.parametrize("text", ["-oDir=/", "A", "a b", "a:b:c", "", "../x", "a=1;rm"])
def test_what_is_no_name(text):
    with pytest.raises(InputError, match="neither a package"):
        parse_request(text)


def test_names():
    assert parse_request("zlib1g-dev:arm64=1:1.2-3")[1:] == ("zlib1g-dev", "arm64", "1:1.2-3")
    assert parse_request("libstdc++-12-dev")[1:] == ("libstdc++-12-dev", "", "")


def test_without_apt(tmp_path):
    with pytest.raises(InputError, match="is not on this system"):
        run_apt(["apt-get-that-is-not", "update"], {}, tmp_path)
