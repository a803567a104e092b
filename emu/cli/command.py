"""How a command presents itself: options in sections, examples below them, files to complete with the tab key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from emu.cli import log

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    TextType = click.ParamType[str]
else:
    TextType = click.ParamType  # generic in the newest versions alone

OWN = "Options"
# section -> the options that stand in it in every command that has them; all others are the command's OWN
SECTIONS: dict[str, str] = {
    "Device and compiling": (
        "--runtime --device --device-id --cluster-layout --network-group --batch --net-batch --kv-cache"
        " --from-memory --a-runtime --b-runtime --b-device"
    ),
    "Chip and host": "--clock-mhz --link --host-profile --costs --host --compute-time --devices --uplink",
    "Frames": "--frames --input --inputs --fit --colour --seed",
    "Outputs": (
        "--output-dir --outputs --compute --assume --reference --map --input-mean --input-scale --alls"
        " --quantise-edges --device-output"
    ),
    "Detections and pictures": "--draw --labels --score-threshold --iou-threshold --max-boxes",
    "Trace and recording": (
        "--trace --trace-format --record --record-registers --coverage --coverage-file --rules --timing --dump-memory"
        " --dump-action-list"
    ),
    "Faults and debugger": "--hazards --inject --handlers --break --break-script --step",
    "Several groups, captures": "--schedule --actions --hef",
    "OM and MS graphs": "--gear --until --profile --dump-all --compare --against --tolerance --memory-limit --threads",
}
_SECTION_OF = {option: section for section, options in SECTIONS.items() for option in options.split()}
# what a command means by a name otherwise than the commands that its section is for
_OTHERWISE = {("serve", "--host"), ("diff", "--tolerance"), ("compare", "--tolerance"), ("compare", "--against")}
_FEW = 10
"""Options that need no sections."""
_A_FILE = re.compile(r"(?<![A-Z])(FILE|DIR|MODEL|HEF|PROFILE|REC)(?![A-Z])|\.(yaml|hef)$")


def _said(level: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def set_level(ctx: click.Context, param: click.Parameter, given: bool) -> None:
        if given:
            log.set_level(level)
        if given and level == log.VERBOSE:
            from emu.files import shown
            from emu.output import on_commit

            on_commit[:] = [lambda path, size: log.detail(f"wrote {shown(path)}: {size:,} bytes")]

    return set_level


def long_name(param: click.Parameter) -> str:
    """The name that an option goes by: its first long one."""
    return next((name for name in param.opts if name.startswith("--")), param.opts[0])


class Place(TextType):
    """A file or folder: taken as it stands, and completed by the shell."""

    name = "place"

    def __init__(self, folder: bool = False) -> None:
        self._folder = folder

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="dir" if self._folder else "file")]


class Command(click.Command):
    """A subcommand of `emu`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                callback=_said(log.VERBOSE),
                help="Also say what was chosen and written.",
            ),
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_said(log.QUIET),
                help="No notes and no progress on stderr.",
            ),
        ]
        for param in self.params:
            metavar = param.metavar or (param.name or "").upper()
            if param.type is click.STRING and (found := _A_FILE.search(metavar)) and "=" not in metavar:
                param.type = Place(folder=found[0] == "DIR" and "FILE" not in metavar)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {
            long_name(param): row
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (row := param.get_help_record(ctx)) is not None
        }
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in (*SECTIONS, OWN)}
        for option, row in rows.items():
            alone = len(rows) <= _FEW or (ctx.info_name, option) in _OTHERWISE
            sections[OWN if alone else _SECTION_OF.get(option, OWN)].append(row)
        for section in (OWN, *SECTIONS):
            if sections[section]:
                with formatter.section(section):
                    formatter.write_dl(sections[section], col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from emu.cli.examples import EXAMPLES

        with formatter.section("Examples"):
            for line, says in EXAMPLES.get(ctx.info_name or "", ()):
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
                formatter.write(f"{'':{formatter.current_indent}}    {says}\n")
