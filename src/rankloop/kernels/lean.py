"""Makes Numba compile less, without changing what comes out.

Numba does more for any function than steps and helpers need: these are plain loops over arrays, and only compiled code
calls them. CONTRIBUTING.md has what each part was measured to save.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from numba import types
from numba.core import codegen, typed_passes, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.imputils import lower_builtin
from numba.core.targetconfig import ConfigStack
from numba.core.typing.arraydecl import GetItemBuffer, SetItemBuffer
from numba.core.typing.builtins import Bool
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

_NOT_FOR_PLAIN_LOOPS = {
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.InlineClosureLikes,
    untyped_passes.InlineInlinables,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.LiteralUnroll,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.WithLifting,
}


class LeanCompiler(CompilerBase):
    """Numba's compiler without the passes that look for closures, `with` blocks, sums of whole arrays and the like."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes, but those that a plain loop has no use for."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [each for each in passes.passes if each[0] not in _NOT_FOR_PLAIN_LOOPS]
        passes.finalize()
        return [passes]


class RareCompiler(LeanCompiler):
    """The lean compiler for what rarely runs: a call stays a call, and code is to be small rather than fast."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function, and tell LLVM how."""
        result = super().compile_extra(function)
        compiled = result.library.get_function(result.fndesc.llvm_func_name)
        for attribute in ("noinline", "minsize", "optsize"):
            compiled.add_function_attribute(attribute)
        return result


def compile_less() -> None:
    """Have Numba do less from now on, for what other packages compile in this process too."""
    _find_items_of_arrays_first()
    _compare_in_place()
    _optimise_where_used()


def without_collecting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run without looking for cycles of objects: a compiler makes many objects, and few are garbage."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if collecting:
                gc.enable()

    return run


def resolve_first(function: Callable[..., Any], signature_of: Callable[..., Any]) -> None:
    """Have `signature_of(*types)` asked for the signature of a call before all that Numba knows; None means: go on.

    Templates for the target at hand, not for any target, come first.
    """

    def generic(self: Any, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        return None if kws else signature_of(*args)

    fields = {"key": function, "metadata": {"target": "cpu"}, "generic": generic}
    infer_global(function)(type(f"Lean{function.__name__}", (AbstractTemplate,), fields))


def _find_items_of_arrays_first() -> None:
    """Try what `array[i]` mostly is before the items of strings, lists and dictionaries.

    Numba asks all kinds of items in turn, arrays last, and looks each answer up by all of the compiler's options.
    """

    def first(key: Callable[..., Any], kind: Any, is_plain: Callable[[Sequence[Any]], bool]) -> None:
        def generic(self: Any, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
            return kind.generic(self, args, kws) if is_plain(args) else None

        infer_global(key)(type(kind.__name__, (kind,), {"key": key, "metadata": {"target": "cpu"}, "generic": generic}))

    first(operator.getitem, GetItemBuffer, _is_item)
    first(operator.setitem, SetItemBuffer, _is_item)
    first(bool, Bool, lambda _: True)


def _compare_in_place() -> None:
    """Make the larger and the smaller of two numbers, and whole numbers, without a function compiled for each type."""

    def of_two(*numbers: Any) -> Any:
        if len(numbers) != 2 or not all(isinstance(each, types.Float | types.Integer) for each in numbers):
            return None
        of = types.float64 if any(isinstance(each, types.Float) for each in numbers) else types.int64
        return signature(of, of, of) if {types.unliteral(each) for each in numbers} <= {of, types.int64} else None

    def whole(*numbers: Any) -> Any:
        plain = len(numbers) == 1 and isinstance(numbers[0], types.Float | types.Boolean)
        return signature(types.intp, *numbers) if plain else None

    def pick(comparison: Callable[..., Any]) -> Callable[..., Any]:
        def lower(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
            first, second = args
            compare = context.get_function(comparison, signature(types.boolean, *call.args))
            return builder.select(compare(builder, (second, first)), second, first)  # as Python does with NaN

        return lower

    def lower_whole(context: Any, builder: Any, call: Any, args: Sequence[Any]) -> Any:
        return context.cast(builder, args[0], call.args[0], call.return_type)

    for function, comparison in ((max, operator.gt), (min, operator.lt)):
        resolve_first(function, of_two)
        for kind in (types.float64, types.int64):
            lower_builtin(function, kind, kind)(pick(comparison))
    resolve_first(int, whole)
    lower_builtin(int, types.Float)(lower_whole)
    lower_builtin(int, types.Boolean)(lower_whole)


def _is_item(args: Sequence[Any]) -> bool:
    array, index = args[0], args[1]
    numbers = index.types if isinstance(index, types.BaseTuple) else (index,)
    return isinstance(array, types.Array) and all(isinstance(number, types.Integer) for number in numbers)


def _optimise_where_used() -> None:
    """Leave the optimisation and the machine code of helpers to the loops that they are linked into.

    Numba optimises every function in full, and again as a part of each of its callers, so that code three calls deep
    in a loop is optimised four times. What comes out is the same. Where Numba has no such methods any more, it compiles
    as it always does.
    """
    library, generator = codegen.JITCodeLibrary, codegen.JITCPUCodegen
    try:
        optimise_in_full, make_machine_code = library._optimize_final_module, library._finalize_final_module
        set_environment = generator.set_env
    except AttributeError:
        return

    def optimise(self: Any) -> None:
        if not _is_inner():
            optimise_in_full(self)

    def finish(self: Any) -> None:
        if _is_inner():
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            make_machine_code(self)

    def set_env(self: Any, name: str, environment: Any) -> None:
        if not _is_inner():  # what no machine code has been made of has no place for it
            set_environment(self, name, environment)

    library._optimize_final_module, library._finalize_final_module, generator.set_env = optimise, finish, set_env


def _is_inner() -> bool:
    """Whether what is being compiled is only called from compiled code."""
    flags = ConfigStack().top_or_none()
    return flags is not None and flags.no_cpython_wrapper and flags.no_cfunc_wrapper
