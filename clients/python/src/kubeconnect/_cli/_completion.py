"""``completion``."""

from __future__ import annotations

import sys

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell. It completes commands and options, and the names of
    resources, objects and namespaces.

    \b
      kubeconnect completion bash > ~/.local/share/bash-completion/completions/kubeconnect
      echo 'eval "$(kubeconnect completion zsh)"' >> ~/.zshrc
      kubeconnect completion fish > ~/.config/fish/completions/kubeconnect.fish
    """
    from click.shell_completion import get_completion_class

    from kubeconnect._cli._program import COMPLETE, NAME, program

    script = get_completion_class(shell)
    assert script is not None
    sys.stdout.write(script(program, {}, NAME, COMPLETE).source())
