"""`emu inspect` of a HEF: the report of `emu.hef.report` and who accepts the file, as JSON or as text."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from emu.check.summary import accepted_first, one_line
from emu.chips.runtimes import device_names, runtime_names
from emu.cli.colour import Tone, marked
from emu.cli.document import print_document
from emu.cli.log import warn
from emu.cli.options import Model, located
from emu.cli.screen import say
from emu.errors import HailoStatus
from emu.hef import Hef, open_hef
from emu.hef.devices import ARCH_DEVICES
from emu.hef.report import hef_report
from emu.hef.runtime import spans
from emu.hef.words import host_side, quantisation, stream_quantisation, wire_side
from emu.host.spec import HefSettings
from emu.sequencer.acceptance import Acceptance, acceptances
from emu.sequencer.compile import CompileOptions


def inspect(opened: Model, common: HefSettings, as_json: bool) -> None:
    """Print the report; warnings for damage that the runtime overlooks go to stderr too. Raises as `open_hef` does."""
    with located(opened.name):
        hef = open_hef(opened.source, runtime_version=common.runtime, from_memory=common.from_memory)
        report = hef_report(hef)
    report["model"]["file"] = opened.name
    devices = device_names() if common.device is None else (common.device,)
    accepted = list(acceptances(hef, devices))
    report["summary"] = one_line(hef, accepted_first(hef, accepted), answers=accepted)
    report["accepted_by"] = [_acceptance(acceptance) for acceptance in accepted]
    report["context_switching"] = list(_context_switching(hef, report, accepted))
    if as_json:
        print_document(report, indent=True)
    else:
        is_accepted = any(one["accepted"] for one in report["accepted_by"])
        tones = {
            "Accepted by": Tone.GOOD if is_accepted else Tone.BAD,
            f"HailoRT {report['runtime']} refuses": Tone.BAD,
        }
        say(marked(_text(report), tones))
    for warning in report["warnings"]:
        warn(warning)


def _acceptance(acceptance: Acceptance) -> dict[str, Any]:
    error = acceptance.error
    return {
        "runtime": acceptance.runtime,
        "device": acceptance.device,
        "accepted": error is None,
        "cluster_layouts": list(acceptance.cluster_layouts),
        "status": 0 if error is None else error.number,
        "name": "HAILO_SUCCESS" if error is None else error.name,
        "message": "" if error is None else error.message,
    }


def _context_switching(hef: Hef, report: dict[str, Any], accepted: list[Acceptance]) -> Iterator[dict[str, Any]]:
    """What switching costs each multi-context group on the first device that takes the file."""
    groups = [group["network_group_name"] for group in report["network_groups"] if group.get("is_multi_context")]
    first = next((acceptance for acceptance in accepted if acceptance.error is None), None)
    if first is None or not groups:
        return
    from emu.host.estimate import estimate

    opened = hef.reopen(first.runtime)
    for name in groups:
        layout = first.cluster_layouts[0] if first.cluster_layouts else None
        options = CompileOptions(device=first.device, cluster_layout=layout, network_group=name)
        result = estimate(opened, options)
        contexts = result.batches[0].contexts
        yield {
            "network_group": name,
            "runtime": first.runtime,
            "device": first.device,
            "link": result.link,
            "host_profile": result.host,
            "reload_ms": sum(one.config_ms + one.switch_ms + one.unexplained_ms for one in contexts),
            "compute_ms": sum(one.compute_ms for one in contexts),
            "batch_for_90_percent": result.batch_for_90_percent,
        }


# --- text -----------------------------------------------------------------------------------------------------------


def _text(report: dict[str, Any]) -> Iterator[str]:
    yield from _file(report)
    yield from _extensions(report)
    yield from _external_resources(report)
    for group in report["network_groups"]:
        yield ""
        yield from _network_group(group)
        yield from _switching(report, group["network_group_name"])
    yield ""
    yield from _accepted(report)


def _file(report: dict[str, Any]) -> Iterator[str]:
    container, header = report["container"], report["header"]
    yield f"{report['model']['file']}: {report['summary']}"
    sections = ", ".join(f"{section['name']} {section['size']:,}" for section in container["sections"])
    yield f"  size        {report['model']['file_size']:,} bytes: {sections}"
    for checksum in container["checksums"]:
        verdict = "matches" if checksum["matches"] else f"DOES NOT MATCH, computed {checksum['computed']}"
        yield f"  {checksum['name']:<11} {checksum['stored']} {verdict}"
    yield f"  compiler    {header['sdk_version_str'] or 'unknown'}"
    least = header["strict_runtime_min_version"]
    if any(least.values()):
        yield f"  needs       HailoRT {'.'.join(str(part) for part in least.values())} or later, as the file says"
    if header["timestamp"]:
        yield f"  made        {_date(header['timestamp'])}"
    if header["neural_network_core_clock_rate"]:
        yield f"  clock       {header['neural_network_core_clock_rate'] // 1_000_000} MHz expected"
    if container["version"]:
        yield f"  zero point  {container['offset_zero_point']} (CCW pointers and external resources count from it)"
    if report["load"]["status"]:
        load = report["load"]
        yield f"  HailoRT {report['runtime']} refuses to load it: {load['name']}({load['status']}): {load['message']}"
    elif report["runtime"] not in runtime_names():
        yield f"  HailoRT {report['runtime']} loads it; what that release compiles is not known here"


def _date(milliseconds: int) -> str:
    try:
        made = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms since 1970"
    return f"{made:%Y-%m-%d %H:%M:%S} UTC"


def _extensions(report: dict[str, Any]) -> Iterator[str]:
    for key, title in (("extensions", "Extensions"), ("optional_extensions", "Optional extensions")):
        if not report[key]:
            continue
        yield f"{title}"
        for extension in report[key]:
            name = extension["extension_type"] or f"UNKNOWN ({extension['name']})"
            since = f"since HailoRT {extension['since']}" if extension["since"] else "no known HailoRT supports it"
            if key == "optional_extensions" and not extension["since"]:
                since = "ignored here"
            refused = [runtime for runtime in runtime_names() if runtime not in extension["accepted_by"]]
            by = f", refused by {spans(refused)}" if refused else ""
            yield f"  {extension['type_index']:>3} {name:<34} {since}{by}".rstrip()


def _external_resources(report: dict[str, Any]) -> Iterator[str]:
    if not report["external_resources"]:
        return
    yield "External resources (offset counts from the zero point)"
    yield f"  {'offset':>12} {'in the file':>12} {'size':>12}  xxhash            name"
    for resource in report["external_resources"]:
        state = {True: "", False: " DOES NOT MATCH", None: ""}[resource["matches"]]
        if not resource["inside_file"]:
            state = " OUTSIDE THE FILE"
        yield (
            f"  {resource['offset']:>12} {resource['file_offset']:>12} {resource['size']:>12}  "
            f"{resource['xxhash']}{state}  {resource['name']}"
        )


def _network_group(group: dict[str, Any]) -> Iterator[str]:
    yield f"Network group {group['network_group_name']}"
    if "networks" in group:
        yield f"  networks    {', '.join(group['networks'])}"
        yield f"  bottleneck  {group['bottleneck_fps']:.2f} FPS, as the compiler estimates it"
    if group["multi_layout"]:
        for partial in group["partial_core_ops"]:
            layout = partial["layout"]["partial_clusters_layout_bitmap"]
            yield from _core_op(partial["core_op"], f" for cluster layout {layout} (0b{layout:b})")
    elif "contexts" in group:
        yield from _core_op(group, "")
    for direction, title in (("h2d", "Inputs"), ("d2h", "Outputs")):
        yield from _streams(group, direction, title)
    yield from _ops(group)


def _core_op(core_op: dict[str, Any], where: str) -> Iterator[str]:
    contexts = core_op["contexts"]
    what = f"{len(contexts)} contexts, switched for every batch"
    if len(contexts) == 1:
        what = "single context: a larger batch amortises nothing"
    yield f"  Configuration{where}: {what}"
    preliminary = {"edge_layers": [], **core_op["preliminary_config"]}
    for title, context in (
        ("preliminary", preliminary),
        *((f"context {context['context_index']}", context) for context in contexts),
    ):
        counts = ", ".join(f"{count} {name}" for name, count in context["actions"].items())
        yield f"    {title:<12} {context['config_bytes']:>10,} config bytes; {counts or 'no actions'}"
        waits = {name: count for name, count in context["triggers"].items() if name != "trigger_none"}
        if waits:
            yield f"    {'':<12} waits: {', '.join(f'{count} {name}' for name, count in waits.items())}"
        for layer in context["edge_layers"]:
            if layer["edge_connection_type"] != "BOUNDARY":
                yield f"    {'':<12} {_internal_edge(layer)}"


def _switching(report: dict[str, Any], name: str) -> Iterator[str]:
    for cost in report["context_switching"]:
        if cost["network_group"] == name:
            batch = cost["batch_for_90_percent"]
            enough = "no batch that the runtime allows" if batch is None else f"a batch of {batch}"
            yield (
                f"  Switching   an estimated {cost['reload_ms']:.3f} ms a batch on {cost['device']} over "
                f"{cost['link']} (host {cost['host_profile']} assumed), "
                f"besides {cost['compute_ms']:.3f} ms of compute a frame; "
                f"{enough} reaches 90 % of the limit; `emu estimate` says more"
            )


def _internal_edge(layer: dict[str, Any]) -> str:
    arrow = "into" if layer["direction"] == "HOST_TO_DEVICE" else "out of"
    others = ", ".join(str(connected["index"]) for connected in layer["connected_contexts"])
    shape = "x".join(map(str, layer.get("shape", [])))
    return f"{layer['edge_connection_type']} edge {arrow} it: {layer.get('name', '?')} {shape} (context {others})"


def _streams(group: dict[str, Any], direction: str, title: str) -> Iterator[str]:
    if "streams" not in group:
        return
    yield f"  {title}: what the host sees, and what crosses the wire"
    layers = {
        (layer.get("name"), "h2d" if layer["direction"] == "HOST_TO_DEVICE" else "d2h"): layer
        for context in group.get("contexts", ())
        for layer in context["edge_layers"]
        if layer["edge_connection_type"] == "BOUNDARY" and "core_bytes_per_buffer" in layer
    }
    by_name = {stream["name"]: stream for stream in group["streams"]}
    # what an op reads has no vstream of its own to tell its values at
    told = {name for vstream in group["vstreams"] if vstream["op"] for name in vstream["streams"]}
    for vstream in group["vstreams"]:
        if vstream["direction"] == direction:
            yield f"    {vstream['name']}"
            yield f"      host      {host_side(vstream)}, {vstream['frame_size']:,} bytes a frame"
            streams = [by_name[name] for name in vstream["streams"] if name in by_name]
            by_feature = any(len(stream.get("quant_infos", [])) > 1 for stream in streams)
            if direction == "d2h" and not vstream["op"] and not by_feature:
                yield f"      values    {quantisation(vstream['quant_info'])}"
    for stream in group["streams"]:
        if stream["direction"] == direction:
            yield f"    stream {stream['index']} {stream['name']}"
            yield f"      wire      {wire_side(stream)}"
            layer = layers.get((stream["name"], direction))
            if layer is not None:
                size, count = layer["core_bytes_per_buffer"], layer["core_buffers_per_frame"]
                yield f"      core      {count:,} buffers of {size:,} bytes a frame"
            if direction == "h2d" or stream["name"] in told or len(stream.get("quant_infos", [])) > 1:
                yield f"      values    {stream_quantisation(stream)}"


def _ops(group: dict[str, Any]) -> Iterator[str]:
    if "ops" not in group:
        return
    if group["ops"]:
        yield "  Post-processing on the host"
        for op in group["ops"]:
            yield f"    {op['description']}"
            yield f"      from {', '.join(op['inputs'])} to {op['output']}"
    elif not any(stream.get("nms_info") for stream in group["streams"]):
        yield "  Post-processing on the host: none (raw tensors; no NMS op in this HEF)"


def _accepted(report: dict[str, Any]) -> Iterator[str]:
    yield "Accepted by"
    rows = report["accepted_by"]
    accepted: dict[str, list[str]] = {}
    for row in rows:
        if row["accepted"]:
            layouts = row["cluster_layouts"]
            with_layout = f", cluster layouts {', '.join(map(str, layouts))}" if layouts else ""
            where = f"{row['device']}{with_layout}{_API_NOTES.get(row['device'], '')}"
            accepted.setdefault(where, []).append(row["runtime"])
    for where, runtimes in accepted.items():
        yield f"  HailoRT {spans(runtimes)} on {where}"
    if not any(row["accepted"] for row in rows):
        yield "  none"
    arch = report["header"]["hw_arch"] or report["header"]["hw_arch_number"]
    own = [name.lower() for name in ARCH_DEVICES.get(report["header"]["hw_arch_number"], ())]
    refused: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if not row["accepted"]:
            message = row["message"]
            of_arch = "a HEF of architecture" in message  # up to 4.20 it has no status of its own
            of_arch = of_arch or row["status"] == HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE
            if of_arch and not (" support: " in message and row["device"] in own):
                message = f"not for a HEF of architecture {arch}"
            why = f"{row['name']}({row['status']}): {message}"
            refused.setdefault((row["runtime"], why), []).append(row["device"] or "")
    if refused:
        yield "Refused by"
    alike: dict[str, list[str]] = {}
    for (runtime, why), devices in refused.items():
        where = f" on {', '.join(devices)}" if any(devices) else ""
        alike.setdefault(f"{where}: {why.replace(f'HailoRT {runtime}', 'it')}", []).append(runtime)
    for what, runtimes in alike.items():
        yield f"  HailoRT {spans(runtimes)}{what}"


# hrpc-5.2.md: what a client of a device behind a PCIe or network session can call
_API_NOTES = {
    "hailo10h": " (over PCIe with InferModel only: configure and vstreams return HAILO_NOT_IMPLEMENTED(7))",
}
