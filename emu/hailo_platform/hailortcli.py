"""`hailortcli` as far as its texts are known (fw-trace.md): what applications and their installers call and parse.

Frame rates are those of the simulated device. Texts are those of EMU_RUNTIME.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from emu.errors import EmuError, HailoError, HailoStatus, UsageError, without_controls
from emu.files import is_folder
from emu.hailo_platform.environment import Environment, environment, require_there

if TYPE_CHECKING:
    from emu.hailo_platform.control import BoardInformation, ExtendedDeviceInformation
    from emu.host.session import GroupResult

RUN_SECONDS, BENCHMARK_SECONDS = 5, 15  # how long `run` and `run2`, and each mode of `benchmark`, measure by default
BAR = 20


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(arguments: Sequence[str]) -> int:
    """The exit code: that of the status, 1 for what is not known here."""
    try:
        chosen = environment()
        if arguments and arguments[0] in ("-v", "--version"):
            print(f"HailoRT-CLI version {chosen.version}")
            return 0
        command = COMMANDS.get(" ".join(arguments[:2])) or COMMANDS.get(arguments[0] if arguments else "")
        if command is None:
            sys.stderr.write(f"emu: hailortcli {' '.join(arguments[:2])}: emu answers {', '.join(COMMANDS)}\n")
            return 1
        words = 2 if " ".join(arguments[:2]) in COMMANDS else 1
        text = command(chosen, list(arguments[words:]))
        sys.stdout.write("\n".join(map(without_controls, text.split("\n"))))
    except UsageError as error:
        sys.stderr.write(f"emu: hailortcli: {error.message}\n")
        return 1
    except EmuError as error:
        sys.stderr.write(f"[HailoRT CLI] [error] {error.line()}\n")
        return error.number if error.number < 256 else 1
    return 0


def _on_device(parser: _Parser) -> None:
    parser.add_argument("-s", "--device-id", action="append", default=[])
    parser.add_argument("--bdf", action="append", default=[])


def _require_there(chosen: Environment, options: argparse.Namespace) -> None:
    require_there((one for one in (*options.device_id, *options.bdf) if one != "*"), chosen.device)
    from emu.chips.runtimes import device_profile, runtime_profile
    from emu.chips.support import check_supported

    check_supported(runtime_profile(chosen.runtime), device_profile(chosen.device))


def identify(chosen: Environment, arguments: list[str]) -> str:
    """`fw-control identify` (fw-trace.md 3)."""
    from emu.hailo_platform.control import Control

    parser = _Parser("fw-control identify")
    _on_device(parser)
    parser.add_argument("--extended", action="store_true")
    options = parser.parse_args(arguments)
    _require_there(chosen, options)
    control = Control()
    text = f"Executing on device: {chosen.device_id}\nIdentifying board\n{_board(control.identify(), chosen)}"
    if options.extended:
        text += _extended(control.get_extended_device_information())
    return f"{text}\n"


def _board(board: BoardInformation, chosen: Environment) -> str:
    rows: list[tuple[str, object]] = [
        ("Control Protocol Version", board.protocol_version),
        ("Firmware Version", board.firmware_version),
        ("Logger Version", board.logger_version),
        ("Board Name", board.board_name),
        ("Device Architecture", board.device_architecture),
        ("Serial Number", board.serial_number),
        ("Part Number", board.part_number),
        ("Product Name", board.product_name),
    ]
    may_miss = {"Serial Number", "Part Number", "Product Name"} | (
        set() if chosen.version.startswith("4") else {"Board Name"}
    )
    return "".join(f"{name}: {value}\n" for name, value in rows if value != "" or name not in may_miss)


def _extended(info: ExtendedDeviceInformation) -> str:
    has = info.supported_features
    features = [
        name
        for name, there in (
            ("Current Monitoring", has.current_monitoring),
            ("Ethernet", has.ethernet),
            ("MIPI", has.mipi),
            ("MDIO", has.mdio),
            ("PCIE", has.pcie),
        )
        if there
    ]
    text = f"Boot source: {info.boot_source.name}\n"
    text += f"Neural Network Core Clock Rate: {info.neural_network_core_clock_rate // 1_000_000}MHz\n"
    if features:
        text += f"Device supported features: {', '.join(features)}\n"
    return text + (f"LCS: {info.lcs}\n" if info.lcs else "")


def scan(chosen: Environment, arguments: list[str]) -> str:
    """`scan` (fw-trace.md 2)."""
    _Parser("scan").parse_args(arguments)
    return f"Hailo Devices:\n[-] Device: {chosen.device_id}\n"


def parse_hef(chosen: Environment, arguments: list[str]) -> str:
    """`parse-hef` (fw-trace.md 1)."""
    from emu.hef import open_hef
    from emu.hef.text import parse_hef_text

    parser = _Parser("parse-hef")
    parser.add_argument("hef", type=Path)
    for flag, default in (("--parse-streams", False), ("--parse-vstreams", True)):
        parser.add_argument(flag, nargs="?", const="true", default=str(default).lower(), choices=("true", "false"))
    options = parser.parse_args(arguments)
    streams, vstreams = options.parse_streams == "true", options.parse_vstreams == "true"
    if not is_folder(options.hef):
        return parse_hef_text(open_hef(options.hef, runtime=chosen.runtime), streams=streams, vstreams=vstreams)
    files = sorted(options.hef.glob("*.hef"))
    if not files:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"there are no .hef files in the directory {options.hef}")
    texts = [
        parse_hef_text(open_hef(file, runtime=chosen.runtime), streams=streams, vstreams=vstreams) for file in files
    ]
    return "".join(f"{'*' * 80}\nParsing {file}:\n{text}" for file, text in zip(files, texts, strict=True))


def run(chosen: Environment, arguments: list[str]) -> str:
    """`run` of one HEF (fw-trace.md 5)."""
    parser = _Parser("run")
    _on_device(parser)
    parser.add_argument("hef", type=Path)
    parser.add_argument("-c", "--frames-count", type=int)
    parser.add_argument("-t", "--time-to-run", type=int)
    parser.add_argument("--batch-size", type=int, default=0)
    parser.add_argument("--dont-show-progress", action="store_true")
    options = parser.parse_args(arguments)
    _require_there(chosen, options)
    if options.frames_count is not None and options.time_to_run is not None:
        raise UsageError("--frames-count excludes --time-to-run")
    text = f"Running streaming inference ({options.hef}):\n  Transform data: true\n    Type:      auto\n"
    text += "    Quantized: true\n"
    groups = _measured(chosen, options.hef, options.batch_size)
    for group in groups:
        seconds = options.time_to_run or RUN_SECONDS
        frames = options.frames_count or round(group.fps * seconds)
        progress = f"{frames}/{frames}" if options.frames_count else str(frames)
        if not options.dont_show_progress:
            text += f"Network {group.name}/{group.name}: 100% | {progress} | FPS: {group.fps:.2f} | ETA: 00:00:00\n"
    text += "> Inference result:\n"
    for group in groups:
        text += f" Network group: {group.name}\n"
        if options.frames_count:
            text += f"    Duration: {_duration(options.frames_count / group.fps)}\n"
        else:
            text += f"    Frames count: {round(group.fps * (options.time_to_run or RUN_SECONDS))}\n"
        text += f"    FPS: {group.fps:.2f}\n"
        for name, direction in (("Send", "H2D"), ("Recv", "D2H")):
            size = sum(one.size // max(one.frames, 1) for one in group.streams if one.direction.name == direction)
            text += f"    {name} Rate: {size * group.fps * 8 / 1e6:.2f} Mbit/s\n"
    return f"{text}\n"


def run2(chosen: Environment, arguments: list[str]) -> str:
    """`run2 [options] set-net HEF [options] …`: its last screen (fw-trace.md 6)."""
    parser = _Parser("run2")
    _on_device(parser)
    parser.add_argument("-t", "--time-to-run", type=int, default=RUN_SECONDS)
    parser.add_argument("-m", "--mode", choices=("full_sync", "full_async", "raw_sync", "raw_async"))
    nets = [at for at, word in enumerate(arguments) if word == "set-net"]
    if not nets:
        raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "Nothing to run")
    options = parser.parse_args(arguments[: nets[0]])
    _require_there(chosen, options)
    net = _Parser("set-net")
    net.add_argument("hef", type=Path)
    net.add_argument("--batch-size", type=int, default=0)
    found: list[GroupResult] = []
    for begin, end in zip(nets, [*nets[1:], len(arguments)], strict=True):
        one = net.parse_args(arguments[begin + 1 : end])
        found += _measured(chosen, one.hef, one.batch_size)
    width = max(len(group.name) for group in found)
    text = f"[{'=' * (BAR - 1)}>] 100% 00:00:00\n"
    return text + "".join(f"{group.name:<{width}}: fps: {group.fps:.2f}\n" for group in found) + "\n"


def benchmark(chosen: Environment, arguments: list[str]) -> str:
    """`benchmark` (fw-trace.md 7); power is not measured."""
    parser = _Parser("benchmark")
    _on_device(parser)
    parser.add_argument("hef", type=Path)
    parser.add_argument("-t", "--time-to-run", type=int, default=BENCHMARK_SECONDS)
    parser.add_argument("--batch-size", type=int, default=1)
    options = parser.parse_args(arguments)
    _require_there(chosen, options)
    summary = "=======\nSummary\n=======\n"
    groups = _measured(chosen, options.hef, options.batch_size)
    if not chosen.version.startswith("4"):
        return summary + "".join(f"{group.name}: FPS: {group.fps:.2f}\n" for group in groups)
    (group, *_) = groups
    latency = (group.latency_ns or 0) / 1e6
    return (
        "Starting Measurements...\nMeasuring FPS in HW-only mode\n"
        "Measuring FPS (and Power on supported platforms) in streaming mode\nMeasuring HW Latency\n\n"
        f"{summary}FPS     (hw_only)                 = {group.fps:g}\n"
        f"        (streaming)               = {group.fps:g}\n"
        f"Latency (hw)                      = {latency:g} ms\n"
        f"        (overall)                 = {latency:g} ms\n"
        f"Device {chosen.device_id}:\n"
    )


def _measured(chosen: Environment, hef: Path, batch: int) -> tuple[GroupResult, ...]:
    """Every network group of the HEF after a run that is long enough for a steady rate."""
    from emu.host.door import run as run_hef

    batch = batch or 1
    frames = max(4 * batch, 16)
    return run_hef(hef, frames=frames, batch=batch, device=chosen.device, runtime=chosen.runtime).network_groups


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


COMMANDS: dict[str, Callable[[Environment, list[str]], str]] = {
    "fw-control identify": identify,
    "scan": scan,
    "parse-hef": parse_hef,
    "run": run,
    "run2": run2,
    "benchmark": benchmark,
}
