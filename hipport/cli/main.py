"""Entry point. Commands are imported only when called, so that `hipport --help` stays instant.

Exit codes: 0 clean, 1 findings that need a person, 2 bad usage or input, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any

import click

from hipport import __version__
from hipport.core.errors import HipportError

# One row per command: name -> (module that defines `command`, line shown by --help).
COMMANDS: dict[str, tuple[str, str]] = {
    "translate": ("hipport.cli.translate", "Translate a CUDA tree or file to HIP."),
    "build": ("hipport.cli.build", "Compile the translated tree for AMD targets."),
    "run": ("hipport.cli.run", "Translate, build and run one program, on a GPU or the emulator."),
    "emulate": ("hipport.cli.emulate", "Run one kernel of a code object on the emulator."),
    "verify": ("hipport.cli.verify", "Check built kernels numerically."),
    "lint": ("hipport.cli.lint", "Report constructs whose meaning depends on the warp size."),
    "diff": ("hipport.cli.diff", "Show what translation changed."),
    "report": ("hipport.cli.report", "Write the review report of a translation."),
    "explain": ("hipport.cli.explain", "Explain a diagnostic or rule id."),
    "query": ("hipport.cli.query", "Show how a CUDA name maps to HIP."),
    "edits": ("hipport.cli.edits", "Keep hand edits of the output as patches."),
    "perf": ("hipport.cli.perf", "Static loop model of a built kernel."),
    "doctor": ("hipport.cli.doctor", "Say what this machine has and what is missing."),
    "sdk": ("hipport.cli.sdk", "Install or show the AMD toolchain."),
    "upstream": ("hipport.cli.upstream", "Fetch pinned upstream sources."),
    "cache": ("hipport.cli.cache", "Show or prune hipport's caches."),
    "completion": ("hipport.cli.completion", "Print shell completion code."),
}


class _ReaderLeft(Exception):  # noqa: N818 - not an error
    """The reader of our output (head, less) has seen enough."""


class LazyGroup(click.Group):
    """A click group whose commands are imported on first use."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe passes by click, which would leave with 1, our code for findings."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderLeft from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of `COMMANDS`: the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command, None when there is none of that name."""
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        try:
            command = importlib.import_module(row[0]).command
        except ModuleNotFoundError as error:
            if error.name != row[0]:
                raise
            raise HipportError(
                f"hipport {cmd_name} is not in version {__version__}", "see hipport --help for what is"
            ) from None
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list from the table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, row[1]) for name, row in COMMANDS.items() if _exists(row[0])])


def _exists(module: str) -> bool:
    folder = os.path.dirname(__file__)  # noqa: PTH120 - pathlib costs start-up time here
    return os.path.exists(os.path.join(folder, module.rsplit(".", 1)[-1] + ".py"))  # noqa: PTH110, PTH118


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hipport")
def cli() -> None:
    """Port CUDA kernels to AMD GPUs with proof.

    \b
    A usual session:
      hipport doctor                       what this machine has
      hipport translate upstream_cuda/     CUDA in, generated_hip/ out
      hipport build --target gfx942        compile with AMD's compiler
      hipport report                       what a reviewer needs

    \b
    Exit codes: 0 clean, 1 findings that need a person, 2 bad usage or input,
    130 stopped by Ctrl-C.
    """


def main(argv: list[str] | None = None) -> None:
    """Run the command line and leave with the documented exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # file names need not be text in any encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        result: Any = cli.main(args=argv, prog_name="hipport", standalone_mode=False)
        sys.stdout.flush()
    except HipportError as error:
        click.echo(f"hipport: {error.message}", err=True)
        if error.next_step:
            click.echo(f"  next: {error.next_step}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("hipport: stopped", err=True)
        sys.exit(130)
    except (_ReaderLeft, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)
