"""How the chip is configured: records of configuration bursts, the channels that bring them, and what they do.

From a file to the chip's memory, without a run:

    configuration = read_configuration(hef, core_op)        # emu.sequencer.configuration: lists of steps
    executed = execute(configuration)                       # execute: records checked and written, programs run
    executed.image.unit_words(cluster, "control", 0, 64, 0x7B4)     # image: words by unit, L3 by block
    hazards_of(configuration)                               # agreement: what does not agree

`records` and `crc` read and check records, `compression` and `l3` decode them, `addresses` names the map, `packets` and
`effects` run sequencer programs, `commands` are the 1xh form of starting them, `streams` and `routing` read registers.
"""
