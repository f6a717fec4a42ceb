"""What the assembler makes of each form is read back by the emulator's decoder as the same instruction."""

from __future__ import annotations

import re
import subprocess

import pytest
from oracle_forms import choose, scalar_forms, vector_forms, wave_size
from oracle_memory import lds_forms, memory_forms
from oracle_tables import MANUAL

from hipport.emulator import Device
from hipport.emulator.testing import assemble, opcodes
from hipport.sdk import find_sdk

METADATA = """---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: WAVE
    .sgpr_count: 32
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args: []
..."""
SUFFIX = re.compile(r"_(e32|e64|dpp|sdwa)\b")


def normal(text: str) -> str:
    """Numbers in decimal, no encoding suffix, no zero offsets."""
    text = SUFFIX.sub("", text.split("//")[0]).replace(".l", "")  # halves are lower ones unless they say .h
    text = re.sub(r"0x[0-9a-fA-F]+", lambda m: str(int(m[0], 16)), text)
    text = re.sub(
        r"\b(sc0|glc|th:TH_ATOMIC_RETURN|offset0:0|offset:0)\b", lambda m: "" if "0:0" in m[0] else m[0], text
    )
    return re.sub(r"[\s,]+", " ", text).strip()


def canonical(target: str, lines: list[str]) -> list[str]:
    """As the assembler prints them: it takes older names too."""
    command = [str(find_sdk().tool("llvm-mc")), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}"]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [line.strip() for line in done.stdout.splitlines() if line.strip() and not line.strip().startswith(".")]


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", MANUAL)
def test_forms_decode_to_themselves(target: str) -> None:
    wave = wave_size(target)
    candidates = []
    for op in opcodes().values():
        if op.unit == "valu":
            candidates.append((op.mnemonic, vector_forms(op, wave)))
        elif op.unit == "salu" and not re.search(r"s_\w*k_", op.mnemonic):
            candidates.append((op.mnemonic, scalar_forms(op, 5)))
        elif op.unit == "lds":
            candidates.append((op.mnemonic, lds_forms(op)))
        elif op.unit == "memory":
            candidates.append((op.mnemonic, memory_forms(op)))
    forms = canonical(target, [form.text for form in choose(target, candidates).values()])
    lines = [f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"', ".text", ".globl k", ".p2align 8", ".type k,@function"]
    lines += ["k:", *forms, "s_endpgm", ".size k, .-k", ".rodata", ".amdhsa_kernel k", ".amdhsa_next_free_vgpr 64"]
    lines += [".amdhsa_next_free_sgpr 32"]
    lines += [".amdhsa_accum_offset 64"] if target.startswith("gfx9") else []
    lines += [".end_amdhsa_kernel", ".amdgpu_metadata", METADATA.replace("WAVE", str(wave)), ".end_amdgpu_metadata", ""]
    module = Device(target).load(assemble(target, "\n".join(lines)))
    read = [(text, implemented) for _, text, implemented in module.instructions("k")]
    assert len(read) == len(forms) + 1
    wrong = [
        f"{form} -> {text}"
        for form, (text, implemented) in zip(forms, read, strict=False)
        if normal(form) != normal(text) or not implemented
    ]
    assert wrong == []
    assert len(forms) > 700
