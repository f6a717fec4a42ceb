"""`hipport completion`: print shell completion code."""

from __future__ import annotations

import click

_HOW = {
    "bash": 'eval "$(hipport completion bash)"    in ~/.bashrc',
    "zsh": 'eval "$(hipport completion zsh)"     in ~/.zshrc, after compinit',
    "fish": "hipport completion fish | source     in ~/.config/fish/config.fish",
}


@click.command(
    name="completion",
    epilog="\b\nTo have it in every shell:\n" + "\n".join(f"  {line}" for line in _HOW.values()),
)
@click.argument("shell", type=click.Choice(list(_HOW)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print shell completion code for bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None  # the choices are click's own
    program = ctx.find_root().command
    click.echo(complete(program, {}, "hipport", "_HIPPORT_COMPLETE").source())
