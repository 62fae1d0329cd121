"""``weft completion``: scripts that let a shell complete commands, options and the values of choices."""

from __future__ import annotations

from collections.abc import Iterator

from weft.cli.commands import ROOT, Command, walk
from weft.cli.options import Parser

_BASH = """\
# weft completion bash: put this line into ~/.bashrc
#     source <(weft completion bash)
_weft() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} key= choices= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$key ${{COMP_WORDS[i]}}" in
{steps}
        esac
    done
    case "$key ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{values}
    *) case "$key" in
{words}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
complete -o default -F _weft weft
"""
_FISH_HEAD = """\
# weft completion fish: put this line into ~/.config/fish/config.fish
#     weft completion fish | source
function __weft_at
    set -l words (commandline -opc)
    set -l count (count $argv)
    test (count $words) -gt $count; and test "$words[2..(math $count + 1)]" = "$argv"
end
"""


def parser() -> Parser:
    """The arguments of ``weft completion``."""
    result = Parser(
        "completion",
        "Print what lets a shell complete weft's commands and options. bash and zsh: "
        "source <(weft completion bash); fish: weft completion fish | source.",
    )
    result.add_argument("shell", choices=("bash", "zsh", "fish"), help="for which shell")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft completion``."""
    shell = parser().parse_args(argv).shell
    if shell == "fish":
        print(_FISH_HEAD + "\n".join(_fish()))
    else:
        before = "autoload -U +X compinit && compinit; autoload -U +X bashcompinit && bashcompinit\n"
        print((before.replace("; ", "\n") if shell == "zsh" else "") + bash_script(), end="")
    return 0


def bash_script() -> str:
    """The script for bash; zsh reads it by its bashcompinit."""
    steps, words, values = list[str](), list[str](), list[str]()
    for path, group in _groups():
        key = "/".join(path)
        names = "|".join(f'"{key} {name}"' for name in group.commands)
        steps.append(f'        {names}) key="$key/${{COMP_WORDS[i]}}" ;;')
        words.append(f'        "{key}") choices="{" ".join((*group.commands, "--help"))}" ;;')
    for path, command in walk():
        key = "/" + "/".join(path)
        options, chosen = _options(command)
        positional = [value for name, choices in chosen.items() if not name for value in choices]
        words.append(f'        "{key}") choices="{" ".join([*positional, *options])}" ;;')
        values += [
            f'    "{key} {name}") choices="{" ".join(choices)}" ;;'
            for name, choices in chosen.items()
            if name
        ]
    return _BASH.format(steps="\n".join(steps), values="\n".join(values), words="\n".join(words))


def _groups(
    group: Command = ROOT, path: tuple[str, ...] = ("",)
) -> Iterator[tuple[tuple[str, ...], Command]]:
    """All groups, each under the words that name it; the first word of all is empty."""
    yield path, group
    for name, command in group.commands.items():
        if command.commands:
            yield from _groups(command, (*path, name))


def _options(command: Command) -> tuple[list[str], dict[str, list[str]]]:
    """The options of a command, and what may stand behind each that takes one of several words."""
    options, choices = list[str](), dict[str, list[str]]()
    for action in command.parser()._actions:
        options += action.option_strings
        for name in action.option_strings or [""]:
            if action.choices is not None:
                choices[name] = [str(choice) for choice in action.choices if choice]
    return options, choices


def _fish() -> Iterator[str]:
    for path, group in _groups():
        words = " ".join(path[1:])
        for name, command in group.commands.items():
            summary = command.summary.replace("'", "\\'")
            at = f"__weft_at {words}" if words else "__fish_use_subcommand"
            yield f"complete -c weft -n '{at}' -a {name} -d '{summary}'"
    for path, command in walk():
        at = f"-n '__weft_at {' '.join(path)}'"
        for action in command.parser()._actions:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in action.option_strings
            )
            if names:
                taken = "" if action.nargs == 0 else " -r"
                listed = f" -f -a '{' '.join(map(str, action.choices))}'" if action.choices else ""
                text = (action.help or "").replace("'", "\\'").replace("%%", "%")
                yield f"complete -c weft {at} {names}{taken}{listed} -d '{text}'"
            elif action.choices:
                yield f"complete -c weft {at} -a '{' '.join(str(c) for c in action.choices if c)}'"
