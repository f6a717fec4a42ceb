"""Examples that say ``compile = true`` go through AMD's code generator, all in one unit per target."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_rules import BOOK, options_of, translated

from hipport.core import TARGETS
from hipport.core.files import include_root
from hipport.rulebook import Example
from hipport.sdk import find_sdk

COMPILED = [(rule.id, example) for rule in BOOK.rules for example in rule.examples if example.compile]
_LINE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*\n?", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def unit(examples: list[tuple[str, Example]]) -> str:
    """One source: includes first, then each example's output in its own namespace, its macros undefined behind it."""
    includes: dict[str, None] = {"#include <hip/hip_runtime.h>": None}
    bodies = []
    for number, (identity, example) in enumerate(examples):
        text = translated(example.before, example, BOOK).output.decode()
        for line in _LINE.findall(text):
            includes[line.strip()] = None
        undefined = "".join(f"#undef {name}\n" for name in _DEFINE.findall(text))
        body = _LINE.sub("", text)
        origin = f"{identity}-{example.name.replace(' ', '-')}"
        bodies.append(f'namespace example_{number} {{\n#line 1 "{origin}"\n{body}\n}}\n{undefined}')
    return "\n".join([*includes, *bodies])


@pytest.mark.sdk
@pytest.mark.parametrize("target", list(TARGETS))
def test_outputs_compile(tmp_path: Path, target: str) -> None:
    examples = [
        (identity, example)
        for identity, example in COMPILED
        if "targets" not in example.options or target in options_of(example).targets
    ]
    assert examples, "no example is marked compile = true"
    source = tmp_path / "examples.hip"
    source.write_text(unit(examples))
    sdk = find_sdk()
    command = [
        str(sdk.clang), *sdk.device_flags(target), "-O1", "-std=c++17", "-w", "-ferror-limit=0", f"-I{include_root()}",
        "-c", str(source), "-o", str(tmp_path / "examples.o"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode == 0, "\n".join(errors[:20]) or done.stderr[-2000:]


@pytest.mark.sdk
@pytest.mark.parametrize("target", list(TARGETS))
def test_launch_bounds_formula(tmp_path: Path, target: str) -> None:
    """`hipport::waves_per_eu` is ceil(blocks * ceil(threads / W) / EUs), within what a unit holds."""
    wave, units, most = (32, 4, 16) if TARGETS[target].wave_size == 32 else (64, 4, 8)
    lines = ["#include <hipport/launch.h>"]
    for threads in (1, 64, 96, 256, 1024):
        for blocks in (0, 1, 2, 3, 32):
            waves = -(-blocks * -(-threads // wave) // units)
            lines.append(f"static_assert(hipport::waves_per_eu({threads}, {blocks}) == {min(max(waves, 1), most)});")
    source = tmp_path / "bounds.hip"
    source.write_text("\n".join(lines))
    sdk = find_sdk()
    command = [
        str(sdk.clang),
        *sdk.device_flags(target),
        "-std=c++17",
        f"-I{include_root()}",
        "-fsyntax-only",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
