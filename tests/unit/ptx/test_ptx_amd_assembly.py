"""Assembly that is no PTX."""

from __future__ import annotations

from hipport.core import Severity, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import load_rulebook


def test_assembly_for_amd_gpus_is_no_ptx() -> None:
    """Files ported by hand hold some; PTX beside it is translated, unknown PTX reported."""
    amd = 'asm volatile("s_waitcnt vmcnt(0)\\n\\ts_nop 0"); asm("v_add_f32 %0, %1, %1" : "=v"(r) : "v"(x));'
    text = f'__global__ void k(float* o, float x) {{ float r; {amd} asm("add.f32 %0, %1, %1;" : "=f"(r) : "f"(x)); }}'
    result = translate_source(SourceFile("a.cu", text.encode()), load_rulebook(), TranslateOptions())
    assert amd.encode() in result.output
    assert b"add.f32" not in result.output
    assert [d.id for d in result.diagnostics if d.severity is Severity.ERROR] == []
    unknown = SourceFile("a.cu", text.replace("s_waitcnt", "waitcnt").encode())
    errors = [d.id for d in translate_source(unknown, load_rulebook(), TranslateOptions()).diagnostics]
    assert any(number.startswith("HP50") for number in errors), "only AMD's names are known"
