"""The program: its commands and the options before them."""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from kubeconnect import __version__
from kubeconnect._cli._failures import (
    FAILED,
    INTERRUPTED,
    discard_output,
    note,
    pipe_closed,
    report,
    reporting_failures,
)
from kubeconnect._cli._options import connection_options, namespace_option

NAME = "kubeconnect"
COMPLETE = "_KUBECONNECT_COMPLETE"

_logger = logging.getLogger("kubeconnect")

# The commands by section: the module of each, and its help in one line. A module is imported only
# when its command runs.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Read": {
        "get": ("_get", "Print objects, and follow their changes with -w."),
        "watch": ("_get", "Print objects and then each change, as get -w."),
        "count": ("_count", "Count objects, also by the values of fields."),
        "top": ("_top", "Count the pods of each node or namespace, by phase."),
        "logs": ("_logs", "Print the logs of one or several pods."),
        "wait": ("_wait", "Wait until objects meet a condition."),
    },
    "Change": {
        "apply": ("_apply", "Create or change the objects of files (server-side apply)."),
        "delete": ("_delete", "Delete objects."),
        "scale": ("_workloads", "Set the number of replicas of workloads."),
        "restart": ("_workloads", "Replace the pods of workloads one after another."),
        "cordon": ("_nodes", "Mark nodes as unschedulable."),
        "uncordon": ("_nodes", "Mark nodes as schedulable."),
    },
    "Cluster": {
        "api-resources": ("_resources", "Print the resources that the cluster serves."),
        "types": ("_types", "Write Python types for the kinds of resources."),
        "can-i": ("_access", "Print whether you are allowed to perform an action."),
        "who-am-i": ("_access", "Print your identity in the cluster."),
    },
    "Program": {
        "completion": ("_completion", "Print the completion script of a shell."),
        "version": ("_version", "Print the version of this program."),
    },
}


class Program(click.Group):
    """The commands of ``SECTIONS``, and the exit codes of their failures."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [name for commands in SECTIONS.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is no such command."""
        for commands in SECTIONS.values():
            if found := commands.get(cmd_name):
                module = importlib.import_module(f"kubeconnect._cli.{found[0]}")
                command: click.Command = getattr(module, cmd_name.replace("-", "_"))
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, without importing them."""
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands, and the options, that begin with a text."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=text)
            for commands in SECTIONS.values()
            for name, (_, text) in commands.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A failure is printed, and sets the exit code."""
        with reporting_failures(ctx):
            return super().invoke(ctx)


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="The address and the credentials are those of the options, of the environment "
    "(KUBECONNECT_ADDRESS, KUBECONNECT_CA_FILE, and KUBECONNECT_TOKEN, KUBECONNECT_TOKEN_FILE or "
    "KUBECONNECT_CONTEXT), of the pod, or of ~/.config/kubeconnect.toml. The options may also "
    "follow the command.",
)
@connection_options(hidden=False)
@namespace_option(hidden=False)
@click.version_option(__version__, prog_name=NAME)
@click.option("-v", "--verbose", is_flag=True, help="Log where the settings are from, and losses.")
def program(verbose: bool) -> None:
    """Read, follow and change the objects of a Kubernetes cluster through kubeconnect."""
    handler = _Warnings()
    handler.setLevel(logging.DEBUG if verbose else logging.WARNING)
    _logger.handlers = [handler]
    _logger.setLevel(logging.DEBUG if verbose else logging.NOTSET)
    _logger.propagate = False


class _Warnings(logging.Handler):
    """Prints the records of the client, such as a lost stream, to stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "of_result", False):
            return  # commands print the warnings of their results
        """Print a record in one line. Commands print the warnings of their results."""
        if getattr(record, "of_result", False):
            return
        note(f"{record.levelname.lower()}: {record.getMessage()}")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program, and return the exit code."""
    completing = COMPLETE in os.environ
    if completing:
        _silence()
    _accept_all_characters()
    try:
        code = program.main(arguments, NAME, complete_var=COMPLETE, standalone_mode=False)
        if not code:
            sys.stdout.flush()  # of --help, which is no command
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return pipe_closed()
    except OSError as error:
        report(error)
        discard_output()
        return FAILED
    except Exception:
        if completing:
            return 1
        raise
    return code if isinstance(code, int) else 0


def _accept_all_characters() -> None:
    """Escape the characters that the encoding of stdout does not have."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _silence() -> None:
    """Write nothing to stderr, which is the terminal in which a user completes a command."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stderr.fileno())
    os.close(nothing)
