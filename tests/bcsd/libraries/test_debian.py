"""Debian packages as files: what they say, what is unpacked, and what is refused."""

import pytest

from weft.bcsd.libraries.debian import Package, read_package, unpack_libraries
from weft.errors import InputError

FILES = {
    "./usr/lib/x/libz.a": b"!<arch>\n",
    "./usr/lib/libz.so": b"no",
    "./../escaped.a": b"!<arch>\n",
    "/rooted.a": b"!<arch>\n",
    "./usr/lib/liblink.a": None,
}


@pytest.mark.parametrize("ending", ["xz", "gz", ""])
def test_what_a_package_says_of_itself(deb, ending):
    path = deb("zlib1g-dev", "1:1.2.13.dfsg-1", {}, source="zlib (1.2)", ending=ending)
    package = read_package(path)
    assert package == Package("zlib1g-dev", "1:1.2.13.dfsg-1", "amd64", "zlib")
    assert package.key == "zlib1g-dev_1%3a1.2.13.dfsg-1_amd64"
    assert read_package(deb("a-dev", "1", {})).library == "a-dev"


def test_only_static_libraries_within_the_folder_are_unpacked(deb, tmp_path):
    folder = tmp_path / "out" / "z"
    folder.parent.mkdir()
    assert unpack_libraries(deb("z-dev", "1", FILES), folder) == [folder / "usr/lib/x/libz.a"]
    assert [path.name for path in tmp_path.rglob("*.a")] == ["libz.a"]
    assert unpack_libraries(deb("y-dev", "1", {}), folder) == []
    assert not list(folder.iterdir())


def test_damaged_packages_are_one_clear_error(deb, tmp_path):
    content = deb("z-dev", "1", FILES).read_bytes()
    place = tmp_path / "bad.deb"
    for size in range(0, len(content) - 40, 7):
        place.write_bytes(content[:size])
        with pytest.raises(InputError):
            unpack_libraries(place, tmp_path / "out")
    with pytest.raises(InputError):
        read_package(tmp_path / "nowhere.deb")


@pytest.mark.parametrize(
    "said",
    [
        "Package: ../up\nVersion: 1\nArchitecture: amd64\n",
        "Package: a\nVersion: 1 2\nArchitecture: amd64\n",
        "Package: a\nVersion: 1\nArchitecture: amd64\nSource: /etc\n",
        "Version: 1\n",
    ],
)
def test_names_that_are_no_names_are_refused(deb, said):
    with pytest.raises(InputError, match="control file says"):
        read_package(deb("odd", "1", {}, said=said))
