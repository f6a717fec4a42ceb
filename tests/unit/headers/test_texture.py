"""hipport/texture.h on the host against CUDA's formulas in double precision (programming guide, "Texture Fetching")."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hipport.core.files import package_root

WIDTH, HEIGHT, PITCH = 5, 3, 8
MODES = ("clamp", "border", "wrap", "mirror")
POINTS = [-1.9, -0.5, -0.01, 0.0, 0.2, 0.5, 0.99, 1.0, 1.3, 2.5, 3.0, 4.75, 5.0, 6.2]

PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <hipport/texture.h>
int main() {
  float pixels[%(pitch)d * %(height)d];
  for (int i = 0; i < %(pitch)d * %(height)d; ++i) pixels[i] = i %% %(pitch)d < %(width)d ? 1 + i * i : -1e9f;
  hipport::Image2D<float> image{pixels, %(width)d, %(height)d, %(pitch)d};
  int mode, linear, normalized;
  float x, y;
  while (scanf("%%d %%d %%d %%f %%f", &mode, &linear, &normalized, &x, &y) == 5) {
    image.x_mode = image.y_mode = static_cast<hipport::Address>(mode);
    image.linear = linear;
    image.normalized = normalized;
    printf("%%.9g\\n", image(x, y));
  }
}
"""


def pixel(column: int, row: int) -> float:
    return 1.0 + (row * PITCH + column) ** 2


def place(index: int, size: int, mode: str, normalized: bool) -> int | None:
    """The guide's addressing of one whole coordinate; None is the border."""
    if mode == "border":
        return index if 0 <= index < size else None
    if normalized and mode == "wrap":
        return index % size
    if normalized and mode == "mirror":
        index %= 2 * size
        return index if index < size else 2 * size - 1 - index
    return min(max(index, 0), size - 1)


def sample(x: float, y: float, mode: str, *, linear: bool, normalized: bool) -> float:
    def texel(i: int, j: int) -> float:
        column, row = place(i, WIDTH, mode, normalized), place(j, HEIGHT, mode, normalized)
        return 0.0 if column is None or row is None else pixel(column, row)

    if normalized:
        x, y = x * WIDTH, y * HEIGHT
    if not linear:
        return texel(math.floor(x), math.floor(y))
    x, y = x - 0.5, y - 0.5
    i, j = math.floor(x), math.floor(y)
    a, b = (math.floor((v - w) * 256 + 0.5) / 256 for v, w in ((x, i), (y, j)))
    return (
        (1 - a) * (1 - b) * texel(i, j)
        + a * (1 - b) * texel(i + 1, j)
        + (1 - a) * b * texel(i, j + 1)
        + a * b * texel(i + 1, j + 1)
    )


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[float]]:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("texture")
    (folder / "t.cpp").write_text(PROGRAM % {"pitch": PITCH, "width": WIDTH, "height": HEIGHT})
    include = Path(package_root(), "include")
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", str(include), "t.cpp", "-o", "t"]
    subprocess.run(command, cwd=folder, check=True)

    def run(questions: str) -> list[float]:
        done = subprocess.run([str(folder / "t")], input=questions, capture_output=True, text=True, check=True)
        return [float(line) for line in done.stdout.split()]

    return run


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_samples(samples: Callable[[str], list[float]], mode: str, linear: bool, normalized: bool) -> None:
    # Multiples of 1/64: exact in float, and no point of a whole texel is missed by rounding.
    scale = 1 / 4 if normalized else 1.0
    points = [(round(x * 64) / 64 * scale, round(y * 64) / 64 * scale) for x in POINTS for y in POINTS]
    if normalized and not linear:  # a coordinate on a texel's edge may round to either side after the scaling
        points = [(x + 1 / 512, y + 1 / 512) for x, y in points]
    lines = "".join(f"{MODES.index(mode)} {int(linear)} {int(normalized)} {x!r} {y!r}\n" for x, y in points)
    for (x, y), got in zip(points, samples(lines), strict=True):
        want = sample(x, y, mode, linear=linear, normalized=normalized)
        assert got == pytest.approx(want, rel=1e-5, abs=0.01), (x, y)
