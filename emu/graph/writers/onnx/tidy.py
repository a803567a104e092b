"""Takes out of a model what does nothing: casts to the type that a value has already."""

from __future__ import annotations

from collections import Counter

import onnx
from onnx import shape_inference


def without_idle_casts(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model; the value before an idle cast gets the name of the one behind it."""
    inferred = shape_inference.infer_shapes(model).graph
    types = {value.name: value.type.tensor_type.elem_type for value in (*inferred.input, *inferred.value_info)}
    types |= {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    fixed = {value.name for value in (*model.graph.input, *model.graph.output)}
    fixed |= {tensor.name for tensor in model.graph.initializer}
    outputs = {value.name for value in model.graph.output}
    uses = Counter(name for node in model.graph.node for name in node.input)
    producers = {name: node for node in model.graph.node for name in node.output}
    renamed: dict[str, str] = {}
    kept: list[onnx.NodeProto] = []
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = renamed.get(name, name)
        if node.op_type != "Cast" or types.get(node.input[0]) != node.attribute[0].i:
            kept.append(node)
            continue
        before, behind = node.input[0], node.output[0]
        if behind not in outputs:
            renamed[behind] = before
            uses[before] += uses[behind] - 1
        elif before not in fixed and uses[before] == 1:
            producer = producers[before]
            producer.output[list(producer.output).index(before)] = behind
            producers[behind] = producer
        else:
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model
