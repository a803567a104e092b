"""The captures of the real runtime and the settings each was made with (shared/oracle, shared/synth)."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emu.hef import open_hef
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.program import ContextProgram, DescriptorProgram, Program
from emu.wire.lists import describe
from emu.wire.wire import wire_of
from tests.conftest import OLDER, SAMPLE

_NAME = re.compile(r"\.(batch\d+|nets|kv|mem|ddr|plain|on-[a-z0-9]+(?:-\d+)?)(?=\.|$)")
# settings of the capturing host -> `--host` of cli.md
_HOST = {"DESC_MAX_PAGE": "desc_max_page", "HW_CONSTS": "hw_consts", "HAILO_ORACLE_HW_CONSTS": "hw_consts"}
TWINS = {"4": "4.23", "5": "5.2"}  # by the major version of a release
WRITES_DESCRIPTORS_ITSELF = {"4.17.1"}  # into mapped lists, past the driver: the captures lack them (runtimes.md 3)
_REFUSED = re.compile(r"HAILO_[A-Z_]+\((\d+)\)")


@dataclass(frozen=True)
class Capture:
    """One run of the real runtime."""

    name: str
    runtime: str
    hef: Path
    document: dict[str, Any]

    @property
    def stage(self) -> str:
        if "stage" in self.document:
            return str(self.document["stage"])
        return "ok" if self.document["rc"] == 0 else "configure"

    @property
    def status(self) -> int | None:
        """The hailo_status of a refusal; None for a crash."""
        if "status" in self.document:
            status = self.document["status"]
            return None if self.stage in ("signal", "undefined") else status
        text = f"{self.document['stdout']}{self.document['stderr']}"
        return int(_REFUSED.findall(text)[-1]) if self.document["rc"] else 0

    @property
    def device(self) -> tuple[str, int | None]:
        match = re.search(r"\.on-([a-z0-9]+)(?:-(\d+))?", self.name)
        if match:
            return match[1], int(match[2]) if match[2] else None
        clusters = self.document.get("clusters")
        return str(self.document["device_arch"]), None if clusters in (None, "") else int(clusters)

    def host(self) -> HostSettings:
        pairs = {"hw_consts": self.document["hw_consts"]}
        for env in (self.document.get("extra_env"), self.document.get("env")):
            for key, value in (env or {}).items():
                if key == "NO_CMA":
                    pairs["cma"] = "off"
                elif key != "HAILO_ORACLE_CLUSTERS":
                    pairs[_HOST.get(key, key)] = value
        return HostSettings.parse(pairs)

    def options(self) -> CompileOptions:
        device, layout = self.device
        arguments = list(self.document.get("args", ()))
        nets = [arguments[i + 1] for i, argument in enumerate(arguments) if argument == "--net"]
        return CompileOptions(
            device=device,
            cluster_layout=layout,
            batch=int(self.document["batch"]),
            net_batch={net.split("=")[0]: int(net.split("=")[1]) for net in nets},
            host=self.host(),
            kv_cache="--kv" in arguments,
        )

    def compile(self) -> Program:
        hef = open_hef(self.hef, runtime=self.runtime, from_memory="--mem" in self.document.get("args", ()))
        return compile_hef(hef, self.options())


def captures(shared: Path, runtime: str) -> Iterator[Capture]:
    """The real ones, then the synthetic; where a release sent just what its twin (4.23, 5.2) did, the twin's."""
    for folder, hefs in ((shared / "oracle", shared / "hef"), (shared / "synth/capture", shared / "synth/hef")):
        files = sorted(_files(folder, runtime).items())
        sampled = runtime in OLDER and folder.parent.name == "synth"
        for name, path in files[:: SAMPLE if sampled else 1]:
            yield Capture(name, runtime, hefs / f"{_NAME.sub('', name)}.hef", json.loads(path.read_text()))


def _files(folder: Path, runtime: str) -> dict[str, Path]:
    own = folder / runtime
    if not own.exists():
        own = folder / f"{runtime}.0"
    found = {path.name.removesuffix(".json"): path for path in own.glob("*.json")}
    status = own / "STATUS.tsv"
    if status.exists():
        with status.open() as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                if row.get("same") == "1" and row["file"] not in found:
                    found[row["file"]] = folder / TWINS[runtime[0]] / f"{row['file']}.json"
    return found


def difference(capture: Capture, program: Program) -> str | None:
    """The first difference between a capture and a program, decoded on both sides; None if there is none."""
    want, runtime = capture.document, capture.runtime
    if len(want["network_groups"]) != len(program.network_groups):
        return f"{len(program.network_groups)} network groups instead of {len(want['network_groups'])}"
    for number, (theirs, ours) in enumerate(zip(want["network_groups"], program.network_groups, strict=True)):
        where = f"group {number}"
        if ours.application_header.hex() != theirs["application_header"]:
            return f"{where}: header {ours.application_header.hex()} instead of {theirs['application_header']}"
        found = _contexts(f"{where} context", theirs["contexts"], list(ours.contexts), runtime)
        records = [record.context for record in ours.ddr_action_list]
        found = found or _contexts(f"{where} record", theirs.get("ddr_action_list", []), records, runtime)
        if found:
            return found
        addresses = [record.dma_address for record in ours.ddr_action_list]
        if addresses != [record["dma"] for record in theirs.get("ddr_action_list", [])]:
            return f"{where}: record addresses {addresses}"
    lists = [(x.count, x.page_size, int(x.circular), x.dma_address) for x in program.descriptor_lists]
    expected = [(x["count"], x["page"], x["circ"], x["dma"]) for x in want["desc_lists"]]
    if lists != expected:
        return f"descriptor lists\n  ours   {lists}\n  theirs {expected}"
    buffers = [(x.size, x.dma_address) for x in program.continuous_buffers]
    blocks = [(x["size"], x["dma"]) for x in want["continuous_buffers"]]
    if buffers != blocks:
        return f"continuous buffers\n  ours   {buffers}\n  theirs {blocks}"
    found = _controls(want, program)
    return found if found or runtime in WRITES_DESCRIPTORS_ITSELF else _contents(want, program)


def _contexts(where: str, theirs: list[dict[str, Any]], ours: list[ContextProgram], runtime: str) -> str | None:
    kinds = [context.context_type for context in ours]
    if kinds != [context["context_type"] for context in theirs]:
        return f"{where}s of types {kinds} instead of {[context['context_type'] for context in theirs]}"
    for number, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if our.action_list.hex() != their["action_list"]:
            return f"{where} {number}: {_first_action(bytes.fromhex(their['action_list']), our.action_list, runtime)}"
        if "actions" in their and [describe(item.entry) for item in our.actions(runtime)] != their["actions"]:
            return f"{where} {number}: equal bytes, but actions are spelled differently"
        if "chunks" in their and list(our.chunks) != their["chunks"]:
            return f"{where} {number}: chunks {our.chunks} instead of {their['chunks']}"
    return None


def _first_action(theirs: bytes, ours: bytes, runtime: str) -> str:
    left, right = list(wire_of(runtime).decode(theirs)), list(wire_of(runtime).decode(ours))
    for index in range(max(len(left), len(right))):
        their = describe(left[index].entry) if index < len(left) else None
        our = describe(right[index].entry) if index < len(right) else None
        if their != our:
            return f"action {index}\n  ours   {our}\n  theirs {their}"
    return "equal actions, other bytes"


def _controls(want: dict[str, Any], program: Program) -> str | None:
    from emu.wire.control import Opcode, decode_request

    lists = {Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER, Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO}
    requests = [decode_request(control) for control in program.controls]
    ours = [(r.opcode, [p.hex() for p in r.parameters]) for r in requests if r.opcode not in lists]
    theirs = [
        (control["opcode"], control["params"])
        for control in want["controls"]
        if control["phase"] == "configure" and "opcode" in control
    ]
    if not program.network_groups:
        theirs = theirs[: len(ours)]  # nothing gets activated, so the teardown still counts as configure
    if ours != theirs:
        return f"controls\n  ours   {ours}\n  theirs {theirs}"
    return None


def content(segments: tuple[memoryview | bytes, ...] | None, size: int) -> str:
    digest = hashlib.sha256()
    for segment in segments or ():
        digest.update(segment)
        size -= len(segment)
    digest.update(bytes(size))
    return digest.hexdigest()


def _contents(want: dict[str, Any], program: Program) -> str | None:
    """What is programmed, beside the whole-list binding of 4.23 and the host's own frames."""
    handles = [entry["h"] for entry in want["desc_lists"]]
    sizes = {entry["h"]: entry["count"] * entry["page"] for entry in want["desc_lists"]}
    boundary = set(handles[: len(program.network_groups and [s for g in program.network_groups for s in g.streams])])
    grouped = len(program.network_groups) == 1
    theirs: dict[int, list[dict[str, Any]]] = {handle: [] for handle in handles}
    for entry in want["desc_programs"]:
        if entry.get("stride"):
            # a cache of 4.23: one transfer whose descriptors hold an entry each
            apart = 1 << (entry["stride"] - 1).bit_length()
            entry = {**entry, "size": entry["stride"], "batch": entry["size"] // apart, "bind": 0}
        if entry["phase"] == "configure" and (not entry.get("bind") or entry.get("irq")):
            theirs[entry["desc"]].append(entry)
        elif entry["phase"] == "configure" and theirs[entry["desc"]] and entry["desc"] not in boundary:
            theirs[entry["desc"]] = [entry]  # up to 4.20 a cache's list is bound anew to the place of its entries
    for handle, entries in theirs.items():
        if len(entries) == 2 and entries[0]["buf"] == entries[1]["buf"] and entries[0]["size"] == sizes[handle]:
            del entries[0]  # 5.2 writes the whole list of a cache before its entries
    for handle, descriptors in zip(handles, program.descriptor_lists, strict=True):
        if grouped and handle in boundary:
            continue
        if not descriptors.programs and descriptors.circular:
            continue  # a boundary list of a further group
        if len(descriptors.programs) != len(theirs[handle]):
            return (
                f"list {handle} is programmed {len(descriptors.programs)} times instead of {len(theirs[handle])}: "
                f"{descriptors.programs} / {theirs[handle]}"
            )
        for our, their in zip(descriptors.programs, theirs[handle], strict=True):
            found = _program(our, their)
            if found:
                return f"list {handle}: {found}"
    for number, (block, buffer) in enumerate(zip(want["continuous_buffers"], program.continuous_buffers, strict=True)):
        if buffer.segments is not None and "sha256" in block:
            ours = content(buffer.segments, buffer.size)
            if ours != block["sha256"]:
                return f"continuous buffer {number}: content {ours} instead of {block['sha256']}"
    return None


def _program(our: DescriptorProgram, their: dict[str, Any]) -> str | None:
    left = (our.start, our.size, our.transfers, int(our.device_interrupt))
    right = (their["start"], their["size"], their["batch"], their["irq"])
    if left != right:
        return f"programmed (start, size, transfers, interrupt) {left} instead of {right}"
    if our.segments is not None and "sha256" in their:
        ours = content(our.segments, our.size)
        if ours != their["sha256"]:
            return f"content {ours} instead of {their['sha256']} (start {our.start}, {our.size} bytes)"
    return None
