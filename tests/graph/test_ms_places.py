"""The members of OpT that move, reduce or make elements; each by onnxruntime or a formula."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, onnx
from tests.graph.ms_checks import Cases, Check, Rng, ints, normal

CASES = Cases()
DTYPES = (np.float32, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64)


def int64(*values: int) -> Array:
    return np.array(values, np.int64)


@CASES.add("NetOutput")
def _net_output(rng: Rng) -> Check:
    arrays = [normal(rng, 2, 3), ints(rng, -9, 9, 4)]
    return Check(b.NetOutput(), arrays, arrays)


@CASES.add("Dropout")
def _dropout(rng: Rng) -> Check:
    x = normal(rng, 2, 3)
    return Check(b.Dropout(0.9), [x], [x])


for _from, _to in itertools.product(DTYPES, DTYPES):

    @CASES.add(f"Cast {np.dtype(_from)} {np.dtype(_to)}")
    def _cast(rng: Rng, source: Any = _from, target: Any = _to) -> Check:
        x = rng.uniform(0 if "u" in (np.dtype(source).kind, np.dtype(target).kind) else -100, 100, 40).astype(source)
        want = [math.trunc(v) if np.dtype(target).kind != "f" else v for v in x.tolist()]
        return Check(b.Cast(), [x], [np.array(want).astype(target)])


@CASES.add("Reshape")
def _reshape(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4)
    return Check(b.Reshape(shape=(0, -1, 6)), [x], onnx("Reshape", [x, int64(0, -1, 6)]))


@CASES.add("Reshape by the output")
def _reshape_output(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4)
    return Check(b.Reshape(), [x], onnx("Reshape", [x, int64(4, 6)]))


@CASES.add("Squeeze")
def _squeeze(rng: Rng) -> Check:
    x = normal(rng, 1, 3, 1, 4, 1)
    return Check(b.Squeeze((0, -1)), [x], onnx("Squeeze", [x, int64(0, -1)]))


@CASES.add("Squeeze all")
def _squeeze_all(rng: Rng) -> Check:
    x = normal(rng, 1, 3, 1, 4, 1)
    return Check(b.Squeeze(), [x], onnx("Squeeze", [x]))


@CASES.add("Unsqueeze")
def _unsqueeze(rng: Rng) -> Check:
    x = normal(rng, 3, 4)
    return Check(b.Unsqueeze((0, 2)), [x], onnx("Unsqueeze", [x, int64(0, 2)]))


for _dim in (0, 1, 2, -1, -3):

    @CASES.add(f"ExpandDims {_dim}")
    def _expand_dims(rng: Rng, dim: int = _dim) -> Check:
        x = normal(rng, 3, 4)
        return Check(b.ExpandDims(dim), [x], onnx("Unsqueeze", [x, int64(dim)]))


for _axis in (0, 1, -1):

    @CASES.add(f"Concat {_axis}")
    def _concat(rng: Rng, axis: int = _axis) -> Check:
        shapes = [[2, 3, 4] for _ in range(3)]
        for at, shape in enumerate(shapes):
            shape[axis] = at + 1
        arrays = [normal(rng, *shape) for shape in shapes]
        return Check(b.Concat(axis, 3), arrays, onnx("Concat", arrays, axis=axis))

    @CASES.add(f"Stack {_axis}")
    def _stack(rng: Rng, axis: int = _axis) -> Check:
        arrays = [normal(rng, 3, 4) for _ in range(2)]
        wide = [onnx("Unsqueeze", [array, int64(axis)])[0] for array in arrays]
        return Check(b.Stack(axis, 2), arrays, onnx("Concat", wide, axis=axis))

    @CASES.add(f"Unstack {_axis}")
    def _unstack(rng: Rng, axis: int = _axis) -> Check:
        x = normal(rng, 2, 3, 2)
        size = x.shape[axis]
        wants = [onnx("Gather", [x, np.array(at, np.int64)], axis=axis)[0] for at in range(size)]
        return Check(b.Unstack(size, axis), [x], wants)

    @CASES.add(f"Split {_axis}")
    def _split(rng: Rng, axis: int = _axis) -> Check:
        x = normal(rng, 6, 6, 6)
        wants = onnx("Split", [x, int64(1, 3, 2)], outputs=3, axis=axis)
        return Check(b.Split(3, (1, 3, 2), axis), [x], wants)


@CASES.add("Split equal")
def _split_equal(rng: Rng) -> Check:
    x = normal(rng, 2, 6)
    return Check(b.Split(numberSplit=3, splitDim=1), [x], onnx("Split", [x], outputs=3, axis=1))


@CASES.add("Permute")
def _permute(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 5)
    return Check(b.Permute((2, 0, 3, 1)), [x], onnx("Transpose", [x], perm=[2, 0, 3, 1]))


@CASES.add("Transpose")
def _transpose(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4)
    return Check(b.Transpose((1, 2, 0)), [x], onnx("Transpose", [x], perm=[1, 2, 0]))


@CASES.add("Nchw2Nhwc")
def _to_nhwc(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 5)
    return Check(b.Nchw2Nhwc(), [x], onnx("Transpose", [x], perm=[0, 2, 3, 1]))


@CASES.add("Nhwc2Nchw")
def _to_nchw(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 5)
    return Check(b.Nhwc2Nchw(), [x], onnx("Transpose", [x], perm=[0, 3, 1, 2]))


@CASES.add("Slice")
def _slice(rng: Rng) -> Check:
    x = normal(rng, 4, 5, 6)
    want = onnx("Slice", [x, int64(1, 0, 2), int64(3, 5, 6)])
    return Check(b.Slice(begin=(1, 0, 2), size=(2, -1, 4)), [x], want)


STRIDED: dict[str, tuple[dict[str, Any], Any]] = {  # what Python's own slicing makes of the same words
    "plain": ({"begin": (1, 0, 2), "end": (3, 5, 6), "stride": (1, 2, 3)}, np.s_[1:3, 0:5:2, 2:6:3]),
    "negative": ({"begin": (-3, -1, 0), "end": (-1, -4, 6), "stride": (1, -2, 1)}, np.s_[-3:-1, -1:-4:-2, 0:6]),
    "beyond": ({"begin": (0, 9, -9), "end": (9, -9, 9), "stride": (2, -1, 4)}, np.s_[0:9:2, 9::-1, 0:9:4]),
    "fewer entries": ({"begin": (1,), "end": (3,), "stride": (1,)}, np.s_[1:3]),
    "begin and end masks": (
        {"begin": (2, 3, 5), "end": (3, 2, 1), "stride": (1, 1, -2), "beginMask": 0b101, "endMask": 0b110},
        np.s_[:3, 3:, ::-2],
    ),
    "shrink": (
        {"begin": (1, 0, -1), "end": (2, 5, 0), "stride": (1, 1, 1), "shrinkAxisMask": 0b101},
        np.s_[1, :, -1],
    ),
    "shrink does not heed the masks": (
        {
            "begin": (1, 0, -1),
            "end": (2, 5, 0),
            "stride": (1, 2, 3),
            "shrinkAxisMask": 0b101,
            "beginMask": 0b111,
            "endMask": 0b101,
        },
        np.s_[1, :5:2, -1],
    ),
    "new axis": (
        {"begin": (0, 1, 0, 1), "end": (0, 3, 0, 4), "stride": (1, 1, 1, 1), "newAxisMask": 0b101},
        np.s_[None, 1:3, None, 1:4],
    ),
    "ellipsis first": ({"begin": (0, 2), "end": (0, 5), "stride": (1, 1), "ellipsisMask": 1}, np.s_[..., 2:5]),
    "ellipsis between": (
        {"begin": (1, 0, 2), "end": (2, 0, 5), "stride": (1, 1, 1), "ellipsisMask": 2, "shrinkAxisMask": 1},
        np.s_[1, ..., 2:5],
    ),
    "empty ellipsis": (
        {"begin": (1, 0, 0, 2), "end": (4, 0, 5, 5), "stride": (1, 1, 1, 1), "ellipsisMask": 2},
        np.s_[1:4, ..., 0:5, 2:5],
    ),
    "nothing left": ({"begin": (2, 0, 0), "end": (2, 5, 6), "stride": (1, 1, 1)}, np.s_[2:2]),
    "one number": ({"begin": (1, 2, 3), "end": (0, 0, 0), "stride": (1, 1, 1), "shrinkAxisMask": 7}, np.s_[1, 2, 3:4]),
}
for _name in STRIDED:

    @CASES.add(f"StridedSlice {_name}")
    def _strided(rng: Rng, name: str = _name) -> Check:
        x = normal(rng, 4, 5, 6)
        words, index = STRIDED[name]
        return Check(b.StridedSlice(**words), [x], [np.ascontiguousarray(x[index])])


@CASES.add("CaffeCrop")
def _crop(rng: Rng) -> Check:
    x, like = normal(rng, 2, 3, 6, 7), np.zeros((1, 1, 4, 3), np.float32)
    want = onnx("Slice", [x, int64(0, 0, 1, 3), int64(2, 3, 5, 6)])
    return Check(b.CaffeCrop(axis=2, offsets=(1, 3)), [x, like], want)


@CASES.add("CaffeCrop one offset")
def _crop_one(rng: Rng) -> Check:
    x, like = normal(rng, 2, 3, 6, 7), np.zeros((2, 2, 4, 3), np.float32)
    return Check(b.CaffeCrop(axis=-3, offsets=(1,)), [x, like], [x[:, 1:3, 1:5, 1:4]])


for _mode, _word in ((b.PaddingMode.CONSTANT, "constant"), (b.PaddingMode.REFLECT, "reflect")):

    @CASES.add(f"Pad {_mode.name}")
    def _pad(rng: Rng, mode: b.PaddingMode = _mode, word: str = _word) -> Check:
        x = normal(rng, 3, 4)
        want = onnx("Pad", [x, int64(1, 2, 0, 3)], mode=word)
        return Check(b.Pad(mode, (1, 0, 2, 3)), [x], want)


@CASES.add("Pad SYMMETRIC")
def _pad_symmetric(rng: Rng) -> Check:
    x = normal(rng, 3, 4)
    columns = np.concatenate([x[:, 1::-1], x, x[:, :0:-1]], axis=1)
    want = np.concatenate([columns[0::-1], columns], axis=0)
    return Check(b.Pad(b.PaddingMode.SYMMETRIC, (1, 0, 2, 3)), [x], [want])


@CASES.add("Tile")
def _tile(rng: Rng) -> Check:
    x = normal(rng, 2, 3)
    return Check(b.Tile((2, 3)), [x], onnx("Tile", [x, int64(2, 3)]))


@CASES.add("Reverse")
def _reverse(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4)
    return Check(b.Reverse((1, -1)), [x], [x[:, ::-1, ::-1]])


for _axes in ((1, 0), (0, 1), (2, 0), (0, 2)):

    @CASES.add(f"ReverseSequence {_axes}")
    def _reverse_sequence(rng: Rng, axes: tuple[int, int] = _axes) -> Check:
        x = normal(rng, 3, 4, 5)
        sequence, batch = axes
        lengths = ints(rng, 0, x.shape[sequence] + 1, x.shape[batch])
        want = x.copy()
        for at, length in enumerate(lengths.tolist()):
            part: list[Any] = [slice(None)] * 3
            part[batch] = at
            part[sequence] = slice(0, length)
            turned = part.copy()
            turned[sequence] = slice(length - 1, None, -1) if length else slice(0, 0)
            want[tuple(part)] = x[tuple(turned)]
        return Check(b.ReverseSequence(sequence, batch), [x, lengths], [want])


for _keep in (False, True):

    @CASES.add(f"Mean {_keep}")
    def _mean(rng: Rng, keep: bool = _keep) -> Check:
        x = normal(rng, 3, 4, 5, 6)
        return Check(b.Mean((1, -1), keep), [x], onnx("ReduceMean", [x], axes=[1, -1], keepdims=int(keep)), "close")


@CASES.add("Mean of all to one")
def _mean_all(rng: Rng) -> Check:
    x = normal(rng, 3, 4)
    return Check(b.Mean(), [x], [np.array([math.fsum(x.ravel().tolist()) / 12])], "ulp")


REDUCTIONS = {
    b.ReduceMode.ReduceMean: "ReduceMean",
    b.ReduceMode.ReduceMax: "ReduceMax",
    b.ReduceMode.ReduceMin: "ReduceMin",
    b.ReduceMode.ReduceProd: "ReduceProd",
    b.ReduceMode.ReduceSum: "ReduceSum",
    b.ReduceMode.ReduceSumSquare: "ReduceSumSquare",
}
for _mode, _axes, _keep in itertools.product(REDUCTIONS, ((0,), (-1, 1), ()), (0, 1)):

    @CASES.add(f"Reduce {_mode.name} {_axes} {_keep}")
    def _reduce(rng: Rng, mode: b.ReduceMode = _mode, axes: tuple[int, ...] = _axes, keep: int = _keep) -> Check:
        x = normal(rng, 3, 4, 5)
        (want,) = onnx(REDUCTIONS[mode], [x], opset=11, keepdims=keep, **({"axes": list(axes)} if axes else {}))
        return Check(b.Reduce(axes, keep, mode), [x], [want.reshape(want.shape or (1,))], "close")


for _kind, _word in ((b.ArgMax, "ArgMax"), (b.ArgMin, "ArgMin")):
    for _axis, _keep in itertools.product((0, -1), (False, True)):

        @CASES.add(f"{_word} {_axis} {_keep}")
        def _arg(rng: Rng, kind: Any = _kind, word: str = _word, axis: int = _axis, keep: bool = _keep) -> Check:
            x = ints(rng, 0, 5, 6, 7).astype(np.float32)  # ties: the lower place comes first
            (want,) = onnx(word, [x], axis=axis, keepdims=int(keep))
            return Check(kind(axis=axis, keepDims=keep), [x], [want.astype(np.int32)])

    @CASES.add(f"{_word} best three")
    def _arg_three(rng: Rng, kind: Any = _kind, word: str = _word) -> Check:
        x = ints(rng, 0, 5, 2, 9, 3).astype(np.float32)
        sign = -1 if word == "ArgMax" else 1
        want = np.array(
            [[sorted(range(9), key=lambda at: (sign * x[n, at, c], at))[:3] for c in range(3)] for n in range(2)]
        )
        return Check(kind(axis=1, topK=3, keepDims=True), [x], [want.transpose(0, 2, 1).astype(np.int32)])

    @CASES.add(f"{_word} values")
    def _arg_values(rng: Rng, kind: Any = _kind, word: str = _word) -> Check:
        x = normal(rng, 6, 7)
        want = onnx("ReduceMax" if word == "ArgMax" else "ReduceMin", [x], axes=[1])
        return Check(kind(axis=1, outMaxValue=True, keepDims=True), [x], want)


@CASES.add("TopK")
def _top_k(rng: Rng) -> Check:
    x = ints(rng, 0, 6, 4, 9).astype(np.float32)
    values, places = onnx("TopK", [x, int64(4)], outputs=2)
    return Check(b.TopK(4), [x], [values, places.astype(np.int32)])


@CASES.add("Unique")
def _unique(rng: Rng) -> Check:
    x = np.array([3, 1, 3, 2, 1, -0.5], np.float32)
    values, _, inverse, _ = onnx("Unique", [x], outputs=4, sorted=0)
    return Check(b.Unique(), [x], [values, inverse.astype(np.int32)])


@CASES.add("Shape")
def _shape(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4)
    return Check(b.Shape(), [x], [onnx("Shape", [x])[0].astype(np.int32)])


@CASES.add("Rank")
def _rank(rng: Rng) -> Check:
    return Check(b.Rank(), [normal(rng, 2, 3, 4)], [np.array([3], np.int32)])


@CASES.add("Fill")
def _fill(rng: Rng) -> Check:
    x = normal(rng, 1)
    return Check(b.Fill((2, 3)), [x], onnx("Expand", [x, int64(2, 3)]))


for _start, _limit, _delta in ((2, 12, 3), (5, -4, -2), (3, 3, 1), (0, 1, 7)):

    @CASES.add(f"Range {_start} {_limit} {_delta}")
    def _range(rng: Rng, start: int = _start, limit: int = _limit, delta: int = _delta) -> Check:
        values = onnx("Range", [np.array(each, np.int32) for each in (start, limit, delta)])
        return Check(b.Range(b.DataType.DT_INT32, start, limit, delta), [], values)


@CASES.add("Range float")
def _range_float(rng: Rng) -> Check:
    return Check(b.Range(b.DataType.DT_FLOAT, 0, 3, 1), [], [np.array([0, 1, 2], np.float32)])


@CASES.add("Broadcast")
def _broadcast(rng: Rng) -> Check:
    x = normal(rng, 3, 1)
    return Check(b.Broadcast(), [x], onnx("Expand", [x, int64(2, 3, 4)]))


@CASES.add("Broadcast with a shape")
def _broadcast_shape(rng: Rng) -> Check:
    x, dims = normal(rng, 1, 4), np.array([3, 4], np.int32)
    return Check(b.Broadcast(), [x, dims], onnx("Expand", [x, int64(3, 4)]))


@pytest.mark.parametrize("name", CASES)
def test_against_the_oracle(name: str) -> None:
    CASES.run(name)


def test_constant() -> None:
    from emu.graph.writers.ms import SubGraphBuilder, write
    from tests.graph.ms_cases import run_file

    builder = SubGraphBuilder()
    value = np.array([[1, 2], [3, 4]], np.float32)
    held = builder.constant(value)
    builder.node(b.Constant(), [], [held])
    x, y = builder.input((2, 2)), builder.tensor((2, 2))
    builder.node(b.Add(), [x, held], [y])
    builder.outputs += [y, held]
    found = run_file(write(builder.graph()), [np.ones((2, 2), np.float32)])
    np.testing.assert_array_equal(found[0], value + 1)
    np.testing.assert_array_equal(found[1], value)


@pytest.mark.parametrize("seed", range(100))
def test_random_strided_slices(seed: int) -> None:
    """Any begin, end, stride and masks against Python's own slicing, which has the same rules for an axis."""
    rng = np.random.default_rng(seed)
    x = normal(rng, *rng.integers(1, 6, 3).tolist())
    begin, end = rng.integers(-8, 9, 3).tolist(), rng.integers(-8, 9, 3).tolist()
    stride = rng.choice([-3, -2, -1, 1, 2, 3], 3).tolist()
    first, last = (int(mask) for mask in rng.integers(0, 8, 2))
    index = tuple(
        slice(None if first >> at & 1 else begin[at], None if last >> at & 1 else end[at], stride[at])
        for at in range(3)
    )
    attr = b.StridedSlice(begin=tuple(begin), end=tuple(end), stride=tuple(stride), beginMask=first, endMask=last)
    Check(attr, [x], [np.ascontiguousarray(x[index])]).run()


X = np.zeros((4, 5), np.float32)


def one(attr: b.OpT, *inputs: Array, shape: tuple[int, ...] = (4, 5), outputs: int = 1) -> Check:
    return Check(attr, inputs, [np.zeros(shape, np.float32)] * outputs)


REFUSED = {
    "two -1": (one(b.Reshape(shape=(-1, -1)), X), "shape"),
    "dimension not 1": (one(b.Squeeze((0,)), X), "axis"),
    "axis": (one(b.Concat(axis=2, n=2), X, X), "axis 2"),
    "n": (one(b.Concat(n=3), X, X), "n: 3"),
    "no permutation": (one(b.Permute((0, 0)), X), "permutation"),
    "sizes": (one(b.Split(2, (1, 2), 0), X, outputs=2), "sizeSplits"),
    "parts": (one(b.Split(3, (), 1), X, outputs=3), "numberSplit"),
    "outputs": (one(b.Split(2, (2, 2), 0), X), "gives 2 outputs"),
    "unstack outputs": (one(b.Unstack(4, 0), X, outputs=3), "gives 4 outputs"),
    "slice beyond": (one(b.Slice(begin=(0, 1), size=(4, 5)), X), "size"),
    "slice entries": (one(b.Slice(begin=(0,), size=(4,)), X), "begin"),
    "stride 0": (one(b.StridedSlice(begin=(0,), end=(1,), stride=(0,)), X), "stride"),
    "two ellipses": (
        one(b.StridedSlice(begin=(0, 0), end=(1, 1), stride=(1, 1), ellipsisMask=3), X),
        "ellipsis",
    ),
    "too many entries": (one(b.StridedSlice(begin=(0,) * 3, end=(1,) * 3, stride=(1,) * 3), X), "begin"),
    "shrink beyond": (one(b.StridedSlice(begin=(4,), end=(5,), stride=(1,), shrinkAxisMask=1), X), "begin"),
    "shrink backwards": (one(b.StridedSlice(begin=(1,), end=(0,), stride=(-1,), shrinkAxisMask=1), X), "stride"),
    "lengths of entries": (one(b.StridedSlice(begin=(0,), end=(1, 1), stride=(1,)), X), "end"),
    "crop": (one(b.CaffeCrop(0, (1,)), X, X), "offsets"),
    "pad mode": (one(b.Pad(b.PaddingMode.MODE_RESERVED, (0,) * 4), X), "paddingmode"),
    "pad count": (one(b.Pad(b.PaddingMode.CONSTANT, (0,) * 3), X), "paddings"),
    "reflect too far": (one(b.Pad(b.PaddingMode.REFLECT, (4, 0, 0, 0)), X), "paddings"),
    "multiples": (one(b.Tile((2,)), X), "multiples"),
    "axis twice": (one(b.Reverse((0, -2)), X), "twice"),
    "sequence is batch": (one(b.ReverseSequence(0, 0), X, np.zeros(4, np.int32)), "seqAxis"),
    "lengths": (one(b.ReverseSequence(1, 0), X, np.full(4, 6, np.int32)), "lengths"),
    "reduce axis": (one(b.Reduce((2,)), X), "axes"),
    "topK": (one(b.ArgMax(axis=0, topK=5), X), "topK"),
    "k": (one(b.TopK(6), X, outputs=2), "k:"),
    "unique of a matrix": (one(b.Unique(), X), "one dimension"),
    "fill dims": (one(b.Fill((-1, 2)), X), "dims"),
    "range delta": (one(b.Range(b.DataType.DT_INT32, 0, 5, 0)), "delta"),
    "broadcast": (one(b.Broadcast(), X, shape=(4, 6)), "does not repeat|broadcast"),
    "broadcast shape": (one(b.Broadcast(), X, np.array([5, 4], np.int32)), "says"),
    "diagonal": (one(b.MatrixDiag(0, 3, 3), X), "k:"),
    "constant without data": (one(b.Constant()), "no data"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    case, words = REFUSED[name]
    with pytest.raises(GraphError, match=words):
        case.run()
