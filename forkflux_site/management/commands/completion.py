"""`forkflux completion`: a shell script made of the commands' own parsers, so that it cannot say anything else."""

from __future__ import annotations

import argparse
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, get_commands, load_command_class
from django.core.management.base import CommandParser

from core.cli import HelpFormatter, example_text

SHELLS = ("bash", "zsh", "fish")
_BASH = """\
# Completion of forkflux for bash. Put into ~/.bashrc:  eval "$(forkflux completion bash)"
_forkflux() {
  local words
  case "${COMP_WORDS[1]-}:${COMP_WORDS[2]-}" in
%(cases)s
    *) words='' ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words='%(commands)s'; fi
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _forkflux forkflux
"""
_ZSH = """\
# Completion of forkflux for zsh. Put into ~/.zshrc:  eval "$(forkflux completion zsh)"
autoload -U +X bashcompinit && bashcompinit
"""


class Command(BaseCommand):
    """Prints the script."""

    help = "Print a script that completes forkflux's commands and options in a shell."
    requires_system_checks = ()
    suppressed_base_arguments = {
        "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
        "--skip-checks",
    }  # fmt: skip

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        given = {
            "formatter_class": HelpFormatter,
            "epilog": example_text("forkflux completion bash >> ~/.bash_completion"),
            "allow_abbrev": False,
        }
        parser: CommandParser = super().create_parser(prog_name, subcommand, **(given | kwargs))
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("shell", choices=SHELLS, help="for which shell")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(script(options["shell"]), ending="")


def script(shell: str) -> str:
    """The completion script of a shell."""
    words = vocabulary()
    if shell == "fish":
        return _fish(words)
    bash = _BASH % {"cases": "\n".join(_cases(words)), "commands": " ".join(words)}
    return bash if shell == "bash" else _ZSH + bash


def vocabulary() -> dict[str, dict[str, list[str]]]:
    """By command and action, the options; the action of a command without actions is empty."""
    found: dict[str, dict[str, list[str]]] = {}
    ours = sorted(name for name, app in get_commands().items() if app in settings.FORKFLUX_APPS)
    for name in ours:
        app = get_commands()[name]
        command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
        parser = command.create_parser("forkflux", name)
        actions = next(
            (each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction)),  # noqa: SLF001
            {"": parser},
        )
        found[name] = {action: _options(sub) for action, sub in actions.items()}
    return found


def _options(parser: argparse.ArgumentParser) -> list[str]:
    words = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        if action.help == argparse.SUPPRESS:
            continue
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices:
            words += [str(choice) for choice in action.choices]
    return words


def _cases(words: dict[str, dict[str, list[str]]]) -> list[str]:
    lines = []
    for command, actions in words.items():
        for action, options in actions.items():
            pattern = f"{command}:*" if not action else f"{command}:{action}"
            lines.append(f"    {pattern}) words='{' '.join(options)}' ;;")
        if "" not in actions:
            lines.append(f"    {command}:*) words='{' '.join([*actions, '--help'])}' ;;")
    return lines


def _fish(words: dict[str, dict[str, list[str]]]) -> str:
    lines = [
        "# Completion of forkflux for fish. Put into ~/.config/fish/config.fish:  forkflux completion fish | source",
        "complete -c forkflux -f",
        f"complete -c forkflux -n __fish_use_subcommand -a '{' '.join(words)}'",
    ]
    for command, actions in words.items():
        seen = f"__fish_seen_subcommand_from {command}"
        named = [action for action in actions if action]
        if named:
            before = f"{seen}; and not __fish_seen_subcommand_from {' '.join(named)}"
            lines.append(f"complete -c forkflux -n '{before}' -a '{' '.join(named)}'")
        for action, options in actions.items():
            when = f"{seen}; and __fish_seen_subcommand_from {action}" if action else seen
            for option in options:
                word = f"-l {option[2:]}" if option.startswith("--") else f"-a {option}"
                lines.append(f"complete -c forkflux -n '{when}' {word}")
    return "\n".join(lines) + "\n"
