"""Which tests run: everything but the slow kinds, unless ``-m`` asks; ``sdk`` where there is a toolchain."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from pathlib import Path

import pytest

OFF_BY_DEFAULT = ("slow", "corpus", "fuzz", "bench")


@functools.cache
def _toolchain_problem() -> str:
    from hipport.core import HipportError
    from hipport.sdk import find_sdk

    try:
        find_sdk()
    except HipportError as error:
        return str(error)
    return ""


def pytest_configure() -> None:
    """A background job of a shell ignores Ctrl-C, and so would every process that the tests start and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("-m"):
        asleep = [item for item in items if any(item.get_closest_marker(name) for name in OFF_BY_DEFAULT)]
        if asleep:
            config.hook.pytest_deselected(items=asleep)
            items[:] = [item for item in items if item not in set(asleep)]
    for item in items:
        if item.get_closest_marker("sdk") and _toolchain_problem():
            item.add_marker(pytest.mark.skip(reason=_toolchain_problem()))


@pytest.fixture(scope="session")
def translated_upstream() -> Path:
    """The translated upstream tree; it stays in the cache, so that only what changed is translated again."""
    from hipport.core.files import cache_root

    upstream = Path(__file__).parents[1] / "upstream_cuda"
    if not (upstream / "csrc/flash_attn").is_dir():
        pytest.skip("the upstream sources are not here: hipport upstream sync")
    out = cache_root() / "flash" / "corpus"
    command = [sys.executable, "-m", "hipport", "translate", str(upstream), "--out", str(out), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return out
