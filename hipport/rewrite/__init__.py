"""Edits, conflicts and the fixpoint: translate as a pure function.

`translate_source` turns bytes, rules and options into bytes, edits and diagnostics. How a pass works: the text is
scanned and parsed once (`hipport.syntax.ParsedFile`); table renames, query rules and transforms look at it and yield
changes and findings; `resolve` decides which changes stand; they are applied together; the next pass sees the new text.
It ends when a pass changes nothing.

Writing a transform
-------------------
A rule that is too big for a query names ``transform = "warp:shuffles"``: the function ``shuffles`` of
``hipport/rewrite/transforms/warp.py``. Its rule file has ``anchor`` words; the function is called once per pass for a
file that holds one of them::

    def shuffles(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
        query = compile_query("(call_expression function: (identifier) @func arguments: (argument_list) @args) @root")
        for fragment in parsed.fragments():               # the file, then each macro body
            for _, found in matches(query, fragment.root):
                root = found["root"][0]                    # a tree-sitter node
                span = fragment.span(root)                 # its bytes in the file, also in macro bodies
                name = parsed.node_text(fragment, found["func"][0])
                if name != b"__activemask" or not context.shared(span.start):
                    continue
                if inside_error(root):
                    yield context.report(span.start, "does not parse around here", subject=name.decode())
                    continue
                yield context.change([context.edit(span, "hipport::active_mask()")])

- ``context.edit(span, text, reason="")`` makes an edit; ``context.change(edits, includes=..., findings=...)`` groups
  edits that are applied together or not at all. Keep edits small: replace the name and insert the argument, do not
  rewrite the whole call, so that edits inside its arguments can happen in the same pass. ``includes`` defaults to the
  rule's ``include``.
- ``context.report(offset, message, id=..., severity=..., next_step=..., subject=...)`` makes a finding. Give
  ``subject`` the construct's name: the scan for leftover CUDA names does not report a subject again. For an ``asm``
  statement use an id HP5xx or HP6xx at the offset of ``asm``: the scan then does not report that statement again.
- Findings are kept from the first pass (it sees the original spelling) and from the last; lines are the original's.
- Yielding the same change again on its own output would never end: an output must not match its own rule.
- The output of other rules may be in the text from the second pass on: names may already be ``hip...``.
- ``context.pass_number`` is 1 for the original text; what later passes find was made by edits.
- ``context.shared(offset)`` is false in text that only AMD or only CUDA builds see. Edits there are dropped anyway.
- ``runs_on_device(parsed, fragment, node)`` (hipport.rewrite.predicates) answers True, False or None for "cannot know".
- ``parsed.facts`` answers what only a compiler knows: ``is_own(offset)``, ``field_owner(offset)``, ``type_at(span)``,
  ``side_at(offset)``. Without ``--facts``, and wherever the front end lost its way, the answer is None: then decide as
  without it. A fact may make an edit surer, drop a finding, or keep an edit away, and the last is reported.
- A transform never raises for bad input: it reports.
"""

from __future__ import annotations

import posixpath

from hipport.core import FileResult, FileState, SourceFile, TranslateOptions
from hipport.core.facts import UnitFacts
from hipport.rewrite.change import Change, Context, Finding, Project
from hipport.rewrite.cmake import translate_cmake
from hipport.rewrite.engine import translate_cuda
from hipport.rewrite.renames import output_path
from hipport.rewrite.setup_py import translate_setup
from hipport.rulebook import Rulebook

CUDA_SUFFIXES = frozenset(
    (".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".ipp", ".tpp", ".inc", ".hip")
)

__all__ = [
    "CUDA_SUFFIXES",
    "Change",
    "Context",
    "Finding",
    "Project",
    "output_path",
    "translate_source",
]


def translate_source(
    source: SourceFile,
    rulebook: Rulebook,
    options: TranslateOptions,
    project: Project = Project(),  # noqa: B008 - frozen
    facts: UnitFacts | None = None,
) -> FileResult:
    """Translate one file. Pure: the same arguments give the same result; nothing is read or written.

    C++ and CUDA files, ``CMakeLists.txt``/``*.cmake`` and ``setup.py`` are translated, every other file is copied.

    Args:
        source: path relative to the tree root, and bytes.
        rulebook: from `hipport.rulebook.load_rulebook`.
        options: see `TranslateOptions`.
        project: what is known about the rest of the tree.
        facts: what a compiler front end knows about the file (``--facts``).
    """
    suffix = posixpath.splitext(source.path)[1].lower()
    name = posixpath.basename(source.path)
    if suffix in CUDA_SUFFIXES:
        return translate_cuda(source, rulebook, options, project, facts)
    if name == "CMakeLists.txt" or suffix == ".cmake":
        return translate_cmake(source, options)
    if name == "setup.py":
        return translate_setup(source, rulebook, options, project)
    return FileResult(source.path, source.path, FileState.COPIED, source.sha256, source.data)
