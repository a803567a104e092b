"""Three examples a command, as `--help` shows them and as the tests run them.

The files: model.hef any HEF, model.onnx the float model that it was compiled from, graph.ms an OM or MS graph,
other.hef another HEF; what an example writes the later ones may read.
"""

from __future__ import annotations

# command -> (command line, what it is for)
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "run": (
        ("emu run model.hef --batch 8 --frames 80", "FPS and latency, measured in a run"),
        ("emu run model.hef --trace=run.trace", "keep what happens, event by event (read it with diff and check)"),
        ("emu run model.hef --reference model.onnx --input image.npy --outputs out.npz", "outputs with real numbers"),
    ),
    "inspect": (
        ("emu inspect model.hef", "what is in it, who takes it, and if not, why"),
        ("emu inspect model.hef --json", "the same for a program"),
        ("emu inspect graph.ms", "inputs, outputs, operators and cost of a graph"),
    ),
    "report": (
        ("emu report model.hef -o model.html", "one model on one page"),
        ("emu report model.hef other.hef -o both.html", "two models beside each other"),
        ("emu report model.hef -o run.html --run", "with the lanes of a short run"),
    ),
    "net": (
        ("emu net model.hef", "the layers, and what cannot be read of them"),
        ("emu net model.hef --dot layers.dot", "as a picture: dot -Tsvg layers.dot"),
        ("emu net model.hef --weights weights.npz", "weights and biases as arrays"),
    ),
    "export": (
        ("emu export graph.ms -o graph.onnx", "the graph as ONNX"),
        ("emu export graph.ms -o again.onnx --json", "and its figures for a program"),
        ("emu run graph.ms --against graph.ms", "whether two graphs compute the same (run --against)"),
    ),
    "parse-hef": (
        ("emu parse-hef model.hef", "as hailortcli prints it"),
        ("emu parse-hef model.hef --parse-streams", "with the streams"),
        ("emu parse-hef models", "every .hef file of a folder"),
    ),
    "actions": (
        ("emu actions model.hef", "what the runtime sends, action by action"),
        ("emu actions model.hef --json", "with the bytes, for a program"),
        ("emu actions --decode capture.on-hailo8.json", "a list that was captured elsewhere"),
    ),
    "diff": (
        ("emu diff run.trace run.trace --tolerance 1", "two runs, and their times within 1 %"),
        ("emu diff model.hef model.hef", "what two HEFs have a device do"),
        ("emu diff model.hef --a-runtime 4.20 --b-runtime 4.23", "one HEF under two releases"),
    ),
    "check": (
        ("emu check models --junit check.xml", "every model of a folder, and a result for CI"),
        ("emu check model.hef --device hailo8 --runtime 4.23", "one model on the device you have"),
        ("emu check --trace run.trace", "whether a trace keeps the rules"),
    ),
    "replay": (
        ("emu run model.hef --record recording", "keep a run"),
        ("emu replay recording", "run it again: is it still the same?"),
        ("emu replay recording model.hef --json", "with the model from another place, for a program"),
    ),
    "explain": (
        ("emu explain 0x40130016", "what a status means, when it occurs and what to do"),
        ("emu explain TRIGGER_SEQUENCER", "an action: its fields, their widths, what it starts"),
        ("emu explain KO_RUN_ASAP --json", "an extension, for a program"),
    ),
    "conform": (
        ("emu conform --target 'cmd:emu respond' --rule 'control/*'", "a program, here our own answerer"),
        ("emu vectors -o vectors", "the vectors as files, to change or to choose from"),
        (
            "emu conform --target python:emu.conform.respond:Responder --vectors vectors --rule 'write/*' --json",
            "an object in Python, those of the folder, for another program",
        ),
    ),
    "vectors": (
        ("emu vectors -o vectors", "every vector as a JSON document"),
        ("emu conform --target 'cmd:emu respond' --vectors vectors --rule 'wait/*'", "send some of them"),
        ("emu conform --target 'cmd:emu respond' --rule control/identify", "send a built-in one"),
    ),
    "respond": (
        ("emu respond", "answer on stdin and stdout until the host says goodbye"),
        ("emu respond --handlers mine", "with what actions do changed by mine.py"),
        ("emu conform --target 'cmd:emu respond' --rule control/hw-consts", "as conform starts it"),
    ),
    "coverage": (
        ("emu run model.hef --coverage-file suite.json", "add what a run touches"),
        ("emu coverage suite.json", "what has been touched, and what never"),
        ("emu coverage suite.json --threshold 5", "exit code 6 below 5 % of the action types"),
    ),
    "disasm": (
        ("emu disasm model.hef -o model.yaml", "a text to read and to edit; bulk bytes beside it"),
        ("emu disasm model.hef --chip", "what configures the chip, by name, as a listing"),
        ("emu disasm model.hef --chip -o chip.yaml", "the same to edit, for emu asm"),
    ),
    "asm": (
        ("emu disasm model.hef -o model.yaml", "first: the description"),
        ("emu asm model.yaml -o again.hef", "and back, byte for byte"),
        ("emu diff model.hef again.hef", "whether an edit changed what the device does"),
    ),
    "bind": (
        ("emu bind model.hef model.onnx", "which tensor each stream is"),
        ("emu bind model.hef model.onnx --json", "for a program"),
        ("emu bind model.hef model.onnx --map fc2=scores", "one bound by hand"),
    ),
    "compare": (
        ("emu run model.hef --reference model.onnx --input image.npy --outputs out.npz", "first: outputs of a device"),
        ("emu compare model.hef --reference model.onnx --input image.npy --against out.npz", "how far they are off"),
        (
            "emu compare model.hef --reference model.onnx --input image.npy --against out.npz --tolerance 2",
            "two quantisation steps are none",
        ),
    ),
    "estimate": (
        ("emu estimate model.hef --batch 1,8", "FPS and latency without running, and what bounds them"),
        ("emu estimate model.hef --host-profile rpi5", "on a Raspberry Pi 5"),
        ("emu estimate model.hef other.hef", "two models that take turns on one device"),
    ),
    "calibrate": (
        ("emu run model.hef --trace=measured.json --trace-format fw-actions", "or hailortcli run2 measure-fw-actions"),
        ("emu calibrate measured.json -o costs.toml", "what each action costs"),
        ("emu estimate model.hef --costs costs.toml", "an estimate with these costs"),
    ),
    "serve": (
        ("emu serve", "a Hailo-10H for programs of HailoRT 5.x, until ^C"),
        ("emu serve --device hailo8 --control", "a Hailo-8 that also answers Ethernet control messages"),
        ("emu serve --port 0 --reference model.onnx", "any free port, outputs computed by a model"),
    ),
    "exec": (
        ("emu exec app.py --model model.hef", "a Python program that imports hailo_platform"),
        ("emu exec -m json.tool --help", "a module, as python -m takes it"),
        ("emu exec --card hailortcli fw-control identify", "any program of HailoRT 4.x, with a card at /dev/hailo0"),
    ),
    "benchmark": (
        ("emu benchmark model.hef", "FPS and latency, as hailortcli prints them"),
        ("emu benchmark model.hef --batch-size 8", "with a batch"),
        ("emu run model.hef --frames-count 80 --batch-size 8", "emu's own figures, with hailortcli's names of options"),
    ),
    "run2": (
        ("emu run2 set-net model.hef", "one model"),
        ("emu run2 set-net model.hef --batch-size 8 set-net other.hef", "two models, one after the other"),
        ("emu run2 -m raw_sync set-net model.hef", "in another mode"),
    ),
    "scan": (
        ("emu scan", "the simulated device"),
        ("emu fw-control identify", "what it is"),
        ("emu check model.hef", "whether a model runs on it"),
    ),
    "fw-control": (
        ("emu fw-control identify", "board, firmware and architecture"),
        ("emu fw-control identify --extended", "with clock and boot source"),
        ("emu exec --card hailortcli fw-control identify", "the real hailortcli, on the simulated card"),
    ),
    "sweep": (
        ("emu sweep models --batch 1,8", "a table of every model of a folder"),
        ("emu sweep model.hef --link gen3x1,gen3x4 --output links.csv", "over links, for a spreadsheet"),
        ("emu sweep model.hef --batch 1,2,4,8,16 --output batches.svg", "a plot"),
    ),
}
