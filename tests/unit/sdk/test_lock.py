"""Choosing versions when the mirror has moved on."""

from __future__ import annotations

import re

import pytest

from hipport.core import ToolchainError
from hipport.sdk.apt import Candidate
from hipport.sdk.find import PROFILES
from hipport.sdk.lock import Pin, choose, read_lock


def offers(**versions: list[str]) -> dict[str, list[Candidate]]:
    return {
        name.replace("_", "-"): [Candidate(name.replace("_", "-"), v, "sid") for v in vs]
        for name, vs in versions.items()
    }


def pin(role: str = "required", version: str = "6.4.3-2", instead: tuple[str, ...] = ()) -> Pin:
    return Pin("libx-dev", version, "forky", role, "0" * 64, instead)


@pytest.mark.parametrize(
    ("on_offer", "taken"),
    [
        (["7.2.4-1~exp1", "6.4.3-2"], "6.4.3-2"),  # the pinned one, though it is not the newest
        (["7.2.4-1~exp1", "6.4.3-5", "6.4.3-4"], "6.4.3-5"),  # same upstream version, newest revision
        (["7.2.4-1", "6.4.4-1", "6.3.9-1"], "6.4.4-1"),  # same major.minor
        (["7.2.4-1", "7.1.0-1", "5.7.1-1"], "7.1.0-1"),  # the nearest: 0.7 away, not 0.8 or 0.7 below
        (["1:6.4.3+dfsg-9"], "1:6.4.3+dfsg-9"),  # epoch and repack suffix are not the upstream version
    ],
)
def test_nearest_version(on_offer: list[str], taken: str) -> None:
    choice = choose(pin(), offers(libx_dev=on_offer))
    assert choice is not None
    assert choice.version == taken


def test_core_package_never_takes_another_hip_version() -> None:
    assert choose(pin("core"), offers(libx_dev=["7.2.4-1", "6.3.1-1"])) is None
    choice = choose(pin("core"), offers(libx_dev=["7.2.4-1", "6.4.9-1"]))
    assert choice is not None
    assert choice.version == "6.4.9-1"


def test_replacement_package_only_when_the_first_is_gone() -> None:
    wanted = pin(instead=("liby-dev",))
    both = offers(libx_dev=["6.0.0-1"], liby_dev=["6.4.3-2"])
    first, second = choose(wanted, both), choose(wanted, offers(liby_dev=["6.4.3-2"]))
    assert first is not None
    assert first.package == "libx-dev"
    assert second is not None
    assert second.package == "liby-dev"
    assert choose(wanted, {}) is None


@pytest.mark.parametrize("profile", PROFILES)
def test_committed_table(profile: str) -> None:
    pins = read_lock(profile)
    names = [pin.package for pin in pins]
    assert len(names) == len(set(names))
    assert {"libamdhip64-dev", "libhipcub-dev", "librocprim-dev"} <= set(names)
    assert any(name.startswith("rocm-device-libs-") for name in names)
    core = [pin for pin in pins if pin.role == "core"]
    assert core
    assert all(pin.version.startswith(profile) for pin in core)
    assert all(re.fullmatch("[0-9a-f]{64}", pin.sha256) for pin in pins)
    assert {pin.role for pin in pins} <= {"core", "required", "optional"}


def test_unknown_profile() -> None:
    with pytest.raises(ToolchainError, match=r"no SDK profile '5\.0'") as caught:
        read_lock("5.0")
    assert "6.4" in caught.value.next_step
