"""What compiled steps see of the arrays in a state: where the numbers are and how many, and no more.

Numba describes an array by seven numbers or more, counts who refers to it, and takes negative indices. The states of
this package have dozens of arrays, which go through every call from the loop to the innermost helper, and what is done
there is `array[i]`, `array[i, j]`, `array[i]` for a row, `array[i:j]`, `len(array)` and `array.shape`. A `View` has
just these, so that there is less to compile and less to pass on. What needs more takes `np.asarray(array)`, an array
as Numba has it. The memory belongs to the Python object, which the caller holds.

Indices are not negative, and are within bounds: as in C, nobody looks. With `NUMBA_BOUNDSCHECK=1`, Numba's own
switch, one that is not raises IndexError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils, datamodel, imputils
from numba.core.pythonapi import NativeValue, unbox
from numba.core.typing.templates import AttributeTemplate, infer_getattr, signature
from numba.np import arrayobj

from rankloop.kernels.lean import resolve_first

_DATA, _LENGTHS = object.__basicsize__, object.__basicsize__ + 16
"""Where the C structure of a NumPy array, which is the same in all versions, has the addresses of items and lengths."""


class View(types.Type):
    """The type of an array of a state in compiled code."""

    def __init__(self, dtype: types.Type, ndim: int, mutable: bool) -> None:
        self.dtype, self.ndim, self.mutable = dtype, ndim, mutable
        super().__init__(f"View({dtype}, {ndim}d, {'mutable' if mutable else 'read-only'})")


class ViewedState(types.NamedTuple):
    """The type of a state whose arrays are views."""

    def __init__(self, fields: Sequence[types.Type], cls: type) -> None:
        super().__init__(fields, cls)
        self.name = "viewed " + str(self)


def viewed(given: types.Type) -> types.Type | None:
    """The type that Numba gives to a state, with views for its arrays; None where views would not do."""
    if isinstance(given, types.BaseNamedTuple):
        fields = [viewed(each) for each in given]
        return None if None in fields else ViewedState(fields, given.instance_class)
    if isinstance(given, types.Array):
        return View(given.dtype, given.ndim, given.mutable) if given.layout == "C" and given.aligned else None
    return given if isinstance(given, types.Number | types.Boolean) else None


class _ViewModel(datamodel.StructModel):
    def __init__(self, manager: Any, view: View) -> None:
        members = [("data", types.CPointer(view.dtype)), ("shape", types.UniTuple(types.intp, view.ndim))]
        super().__init__(manager, view, members)


def _take(view: View, array: Any, c: Any) -> NativeValue:
    """The view of an array that Python hands over."""

    def load(address: Any, offset: int, kind: Any) -> Any:
        return c.builder.load(cgutils.pointer_add(c.builder, address, offset, kind.as_pointer()))

    native = _native(c.context, c.builder, view)
    length = c.context.get_value_type(types.intp)
    native.data = load(array, _DATA, native.data.type)
    lengths = load(array, _LENGTHS, length.as_pointer())
    shape = [load(lengths, axis * length.width // 8, length) for axis in range(view.ndim)]
    native.shape = cgutils.pack_array(c.builder, shape)
    return NativeValue(native._getvalue())


# Which calls with views there are, and the types of what they give.


def _indices(view: View, index: types.Type) -> types.Type | None:
    """What an index is turned into: one whole number for each axis, or one for a row; None where it is neither."""
    if isinstance(index, types.Integer):
        return types.intp
    if isinstance(index, types.BaseTuple) and len(index) == view.ndim:
        return types.UniTuple(types.intp, view.ndim) if all(isinstance(i, types.Integer) for i in index) else None
    return None


def _type_get(view: View, index: types.Type) -> Any:
    if index == types.slice2_type and view.ndim == 1:
        return signature(view, view, index)
    indices = _indices(view, index)
    if indices is None:
        return None
    is_row = indices == types.intp and view.ndim == 2
    return signature(View(view.dtype, 1, view.mutable) if is_row else view.dtype, view, indices)


def _type_set(view: View, index: types.Type, value: types.Type) -> Any:
    indices = _indices(view, index)
    is_item = indices is not None and (indices != types.intp or view.ndim == 1)
    return signature(types.none, view, indices, view.dtype) if is_item and view.mutable else None


def _type_len(view: View) -> Any:
    return signature(types.intp, view)


def _type_asarray(view: View) -> Any:
    return signature(types.Array(view.dtype, view.ndim, "C", readonly=not view.mutable), view)


class _Attributes(AttributeTemplate):
    key = View

    def resolve_shape(self, view: View) -> Any:
        """The lengths of the axes."""
        return types.UniTuple(types.intp, view.ndim)


# The code for these calls.


def _native(context: Any, builder: Any, view: View, value: Any = None) -> Any:
    return cgutils.create_struct_proxy(view)(context, builder, value)


def _place(context: Any, builder: Any, view: View, value: Any, index: Any, is_tuple: bool) -> tuple[Any, list[Any]]:
    """Where an item or a row is, and the lengths of the axes that are left."""
    native = _native(context, builder, view, value)
    shape = cgutils.unpack_tuple(builder, native.shape)
    indices = cgutils.unpack_tuple(builder, index) if is_tuple else [index]
    if context.enable_boundscheck:
        for i, length in zip(indices, shape, strict=False):
            cgutils.do_boundscheck(context, builder, i, length)
    place = indices[0]
    for axis in range(1, view.ndim):
        place = builder.mul(place, shape[axis])
        if axis < len(indices):
            place = builder.add(place, indices[axis])
    return builder.gep(native.data, [place]), shape[len(indices) :]


def _get(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
    view, index = call.args
    place, left = _place(context, builder, view, args[0], args[1], isinstance(index, types.BaseTuple))
    if not left:
        return context.unpack_value(builder, call.return_type, place)
    row = _native(context, builder, call.return_type)
    row.data, row.shape = place, cgutils.pack_array(builder, left)
    return row._getvalue()


def _set(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
    view, index, item = call.args
    place, _ = _place(context, builder, view, args[0], args[1], isinstance(index, types.BaseTuple))
    context.pack_value(builder, item, args[2], place)
    return context.get_dummy_value()


def _slice(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
    view, index = call.args
    native, part = _native(context, builder, view, args[0]), context.make_helper(builder, index, args[1])
    length = builder.extract_value(native.shape, 0)
    stop = builder.select(builder.icmp_signed("<", part.stop, length), part.stop, length)
    native.data = builder.gep(native.data, [part.start])
    native.shape = cgutils.pack_array(builder, [builder.sub(stop, part.start)])
    return native._getvalue()


def _len(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
    return builder.extract_value(_shape(context, builder, call.args[0], args[0]), 0)


def _shape(context: Any, builder: Any, view: View, value: Any) -> Any:
    return _native(context, builder, view, value).shape


def _asarray(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
    view = call.args[0]
    native = _native(context, builder, view, args[0])
    shape = cgutils.unpack_tuple(builder, native.shape)
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(view.dtype)))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = arrayobj.make_array(call.return_type)(context, builder)
    arrayobj.populate_array(array, native.data, shape, strides, size, None)
    return array._getvalue()


def _resolve(function: Callable[..., Any], signature_of: Callable[..., Any]) -> None:
    resolve_first(function, lambda *args: signature_of(*args) if args and isinstance(args[0], View) else None)


datamodel.register_default(View)(_ViewModel)
datamodel.register_default(ViewedState)(datamodel.models.TupleModel)
unbox(View)(_take)
_resolve(operator.getitem, _type_get)
_resolve(operator.setitem, _type_set)
_resolve(len, _type_len)
_resolve(np.asarray, _type_asarray)
infer_getattr(_Attributes)
imputils.lower_builtin(operator.getitem, View, types.intp)(_get)
imputils.lower_builtin(operator.getitem, View, types.BaseTuple)(_get)
imputils.lower_builtin(operator.getitem, View, types.slice2_type)(_slice)
imputils.lower_builtin(operator.setitem, View, types.Any, types.Any)(_set)
imputils.lower_builtin(len, View)(_len)
imputils.lower_builtin(np.asarray, View)(_asarray)
imputils.lower_getattr(View, "shape")(_shape)
