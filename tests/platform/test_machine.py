"""Devices and threads by name: what the machine lacks is one error, before torch is asked for it."""

import pytest
import torch

from weft.errors import ConfigError
from weft.platform.machine import device_named, use_threads
from weft.platform.memory import lacks_memory


def test_a_device_has_one_name_everywhere():
    assert device_named("cpu") == torch.device("cpu")
    assert device_named("auto").type in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="device is 'abacus'; no such device"):
        device_named("abacus")
    with pytest.raises(ConfigError, match="device is 'meta', which computes nothing"):
        device_named("meta")
    with pytest.raises(ConfigError, match="which is cuda:99 here; torch sees"):
        device_named("cuda", 99)
    with pytest.raises(ConfigError, match="device is 'cuda:98', which is cuda:98 here"):
        device_named("cuda:98")


@pytest.mark.parametrize("name", ["mps", "xpu", "xla", "hpu", "vulkan", "mtia:3"])
def test_a_device_that_is_not_here_is_refused_by_its_name(name):
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError, ImportError):
        with pytest.raises(ConfigError, match=f"device is '{name}'; no such device"):
            device_named(name)
    else:
        assert device_named(name) == torch.device(name)


@pytest.mark.parametrize("count", [0, -1, 1025, 10**9])
def test_threads_have_a_bound(count):
    with pytest.raises(ConfigError, match=rf"threads is {count}; it must be at least 1 and at most 1,024"):
        use_threads(count)


def test_threads_are_set_or_left():
    before = torch.get_num_threads()
    use_threads(None)
    assert torch.get_num_threads() == before
    use_threads(before)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("size", [1 << 50, 1 << 60])
def test_an_allocation_that_fails_is_known_by_its_words(size):
    with pytest.raises(RuntimeError) as found:
        torch.empty(size, dtype=torch.float64)
    assert lacks_memory(found.value)
    assert lacks_memory(MemoryError())
    assert not lacks_memory(RuntimeError("something else"))
