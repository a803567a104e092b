"""The network of a Hailo-8/8L file, read from the chip that its configuration makes, and computed in integers.

    networks = load_networks(hef, core_op, group)   # emu.net.load: one a context; layers, dataflow, what was not read
    reading = read_group(networks)                  # emu.net.reading: which streams can be computed, on which shapes
    ComputedFrames(reading)([{"net/input_layer1": data}])     # emu.net.frames: {output stream: bytes} of each frame

`units` says what belongs to which LCU, `dataflow` how they are joined, `layers` what each computes, `weights` with
what, `shapes` on what; `checks` are the agreements that hold in every real file.
"""
