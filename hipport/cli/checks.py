"""Options of the commands that run kernels on the emulator: what to look for, and in which order to run."""

from __future__ import annotations

from itertools import pairwise

import click

checks_option = click.option(
    "--checks",
    is_flag=False,
    flag_value="all",
    default="",
    metavar="LIST",
    help="Check memory, races, barriers and more: all (default), or a comma list of bounds, uninitialised, races, "
    "barriers, waitcnt, masks, banks.",
)
deterministic_option = click.option(
    "--deterministic/--any-order",
    default=True,
    show_default=True,
    help="The same bits for any number of threads, or workgroups in whatever order their threads come.",
)


class CheckedCommand(click.Command):
    """A command with `checks_option`, in which a file name after a bare ``--checks`` stays a file name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say ``--checks=all`` where the next word has a dot or a slash: click would take it for the list."""
        own = args[: args.index("--")] if "--" in args else args
        for at, (word, following) in enumerate(pairwise(own)):
            if word == "--checks" and ("." in following or "/" in following):
                args = [*args[:at], "--checks=all", *args[at + 1 :]]
        return super().parse_args(ctx, args)
