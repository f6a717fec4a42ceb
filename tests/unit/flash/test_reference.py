"""What the kernels are held against: the generator by its authors' known answers, attention by cases done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

from hipport.flash.reference import Options, attention, kept, philox, rotate  # noqa: E402 - after the skip

# Random123 1.14 (D. E. Shaw Research), tests/kat_vectors: philox4x32 with 7 rounds. Counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_known_answers(counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]) -> None:
    offset, subsequence = (np.array([counter[i] | counter[i + 1] << 32], np.uint64) for i in (0, 2))
    assert tuple(philox(key[0] | key[1] << 32, subsequence, offset)[0].tolist()) == expected


def test_kept_drops_the_share_it_should() -> None:
    keep = kept(5, 0, (4, 200, 300), 0.3)
    # 256 values of a byte, kept up to floor(0.7 * 255) = 178: 179 of them. Four standard deviations.
    share, n = 179 / 256, keep.size
    assert abs(keep.mean() - share) < 4 * math.sqrt(share * (1 - share) / n)
    assert kept(5, 0, (4, 64, 64), 0.0).all()
    assert not np.array_equal(keep[0], keep[1])


def test_softmax_of_two_keys() -> None:
    q = torch.tensor([[[2.0, 0.0, 0.0, 0.0]]], dtype=torch.float64)
    k = torch.zeros(2, 1, 4, dtype=torch.float64)
    k[1, 0, 0] = math.log(3.0)  # scores 0 and log 3: weights 1/4 and 3/4
    v = torch.tensor([[[0.0] * 4], [[4.0] * 4]], dtype=torch.float64)
    out, lse = attention(q, k, v, Options())
    assert out.flatten().tolist() == pytest.approx([3.0] * 4)
    assert lse.item() == pytest.approx(math.log(4.0))


def test_masks_are_aligned_to_the_end() -> None:
    q, k = torch.zeros(2, 1, 4, dtype=torch.float64), torch.zeros(4, 1, 4, dtype=torch.float64)
    v = torch.arange(4.0, dtype=torch.float64)[:, None, None].expand(4, 1, 4)
    rows = lambda options: attention(q, k, v, options)[0][:, 0, 0].tolist()  # noqa: E731
    assert rows(Options(causal=True)) == pytest.approx([1.0, 1.5])  # keys 0..2 and 0..3
    assert rows(Options(window=(1, 0))) == pytest.approx([1.5, 2.5])
    assert rows(Options(window=(0, -1))) == pytest.approx([2.5, 3.0])


def test_rows_without_keys_are_zero() -> None:
    q, k = torch.ones(3, 1, 4, dtype=torch.float64), torch.ones(1, 1, 4, dtype=torch.float64)
    out, lse = attention(q, k, k, Options(causal=True))
    assert out[:, 0, 0].tolist() == [0.0, 0.0, 1.0]
    assert lse[0, :2].tolist() == [math.inf, math.inf]


@pytest.mark.parametrize(("interleaved", "expected"), [(False, [-3.0, 2.0, 1.0, 4.0]), (True, [-2.0, 1.0, 3.0, 4.0])])
def test_rotation_by_a_right_angle(interleaved: bool, expected: list[float]) -> None:
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    turned = rotate(x, torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 0.0]]), interleaved=interleaved)
    assert turned.flatten().tolist() == expected
