"""Which compiled steps belong to which type of state, and what is said where one is missing or wrong."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Concatenate, NoReturn, ParamSpec, TypeVar

import numba
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.types import BaseNamedTuple, BaseTuple, Dispatcher
from numba.types import Function as FunctionType

from rankloop.kernels.lean import LeanCompiler
from rankloop.kernels.views import viewed

Function = TypeVar("Function", bound=Callable[..., Any])
State = TypeVar("State")
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

# Division by zero gives inf or nan, as in NumPy: the check for it in every division costs more than the division.
OPTIONS = {"nogil": True, "error_model": "numpy"}

# What only compiled code calls needs no other form, for Python or C to call: making these took a fifth of the time.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_steps: dict[Callable[..., Any], dict[type, Callable[..., Any]]] = {}
"""The step registered for each generic step and type of state."""

_asked: dict[tuple[Callable[..., Any], type], tuple[Any, ...]] = {}
"""The types of arguments for which the compiler last looked for a step, latest last."""

_choices: dict[Callable[..., Any], type[_Choice]] = {}
_names: dict[type, str] = {}
_classes_of_name: Counter[str] = Counter()


class StepError(ValueError):
    """A step that is missing or cannot be compiled; the compiler's own report, if any, is in `__context__`."""


def step(
    generic: Callable[Concatenate[Any, Arguments], Answer], state_type: type[State], *, counted: bool | None = None
) -> Callable[[Callable[Concatenate[State, Arguments], Answer]], Callable[Concatenate[State, Arguments], Answer]]:
    """Register a function as the compiled form of `generic` for states of one NamedTuple type.

    A type checker compares its arguments with those of `generic`, the first one being a state of that type.

    A step that counts references does so for every array it touches, which takes longer to compile and can take longer
    than the step itself (BubbleRank: 80 ns of 100). The caller holds the state meanwhile, so a step that neither makes
    nor returns an array does well without: steps of this package do unless they say `counted=True`, and steps from
    elsewhere may say `counted=False`.
    """

    def register(
        function: Callable[Concatenate[State, Arguments], Answer],
    ) -> Callable[Concatenate[State, Arguments], Answer]:
        _name_apart(state_type)
        registered = _steps.setdefault(generic, {})
        _check(generic, state_type, function, registered.get(state_type))
        registered[state_type] = function
        nrt = not _is_ours(state_type) if counted is None else counted
        _choice(generic).compiled[state_type] = _compiled(function, {"forceinline": True, "_nrt": nrt})
        return function

    return register


def optional(generic: Function) -> Function:
    """Let states have no such step of their own: what `generic` does itself then holds for them."""
    _choice(generic).default = _compiled(generic, {"forceinline": True})
    return generic


def helper(function: Function, options: Mapping[str, bool], compiler: type[LeanCompiler] = LeanCompiler) -> Function:
    """Let compiled code call a function."""
    _choice(function).default = _compiled(function, options, compiler)
    return function


def _compiled(
    function: Callable[..., Any], options: Mapping[str, bool], compiler: type[LeanCompiler] = LeanCompiler
) -> Any:
    """What compiles a function once it is called: in full where it is from elsewhere, and may be more than a loop."""
    lean = {"pipeline_class": compiler} if _is_ours(function) else {}
    return numba.njit(**INNER, **options, **lean)(function)


class _Choice(AbstractTemplate):
    """What the compiler takes a call for: one of the step that the type of the state has, or of what all states share.

    Numba's own ways compile more than is needed: `overload` once for callers with each set of options, which differ
    between a loop and a single step; `njit` for the literal 0 and then for whole numbers, where a variable begins as 0.
    """

    compiled: ClassVar[dict[type, Any]]
    default: ClassVar[Any]

    def generic(self, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        """The signature of the call, or None where the state has no such step."""
        if self.default is None:
            asked = type(self).key, _class_of(args[0])
            _asked.pop(asked, None)
            _asked[asked] = tuple(args)
        found = self._found(args)
        return None if found is None else Dispatcher(found).get_call_type(self.context, args, kws)

    def get_impl_key(self, signature: Any) -> Any:
        """What was compiled for the call."""
        return self._found(signature.args).get_overload(signature.args)

    def _found(self, args: Sequence[Any]) -> Any:
        return self.compiled.get(_class_of(args[0]), self.default) if self.compiled else self.default


def _choice(generic: Callable[..., Any]) -> type[_Choice]:
    if generic not in _choices:
        _choices[generic] = type(generic.__name__, (_Choice,), {"key": generic, "compiled": {}, "default": None})
        infer_global(generic, FunctionType(_choices[generic]))
    return _choices[generic]


def _name_apart(state_type: type) -> None:
    """Give the type of a state a `__name__` that no other has.

    The compiler looks compiled code up by the name of the class and the names and types of its fields. Two classes
    that agree in these would share code: the second one's policy would run the steps of the first. The name is the
    same in every process (module and class), since code is kept between them; only a class that is defined once more
    in the same process, as in a notebook, gets a number.
    """
    if state_type in _names:
        return
    name = f"{state_type.__module__}.{state_type.__qualname__}".encode("ascii", "backslashreplace").decode()
    _names[state_type] = name
    _classes_of_name[name] += 1
    state_type.__name__ = name if _classes_of_name[name] == 1 else f"{name}#{_classes_of_name[name]}"


def _check(generic: Any, state_type: type, function: Any, before: Any) -> None:
    """Refuse a step with the wrong arguments, and a second one, which code that is compiled already would ignore."""
    name = f"the step {generic.__name__} of {_names[state_type]}"
    expected = list(inspect.signature(generic).parameters)
    try:
        inspect.signature(function).bind(*expected)
    except TypeError:
        raise StepError(
            f"{name} takes {', '.join(inspect.signature(function).parameters) or 'no arguments'} "
            f"and should take {', '.join(expected)}, at {defined_at(function)}"
        ) from None
    if before is not None:
        raise StepError(
            f"{name} is registered already, from {defined_at(before)}, and again at {defined_at(function)}: "
            f"define {state_type.__qualname__} anew before its steps"
        )


def lasting(types: Iterable[Any]) -> bool:
    """Whether code for arguments of these types may be kept for other processes.

    Nothing tells when the source of a state outside the package has changed, nor when a class was defined once more.
    """
    return all(_is_ours(cls) and _classes_of_name[_names.get(cls, "")] <= 1 for cls in _classes(types))


def _classes(types: Iterable[Any]) -> Iterator[type]:
    """The NamedTuples among the types, those within others included."""
    for each in types:
        if isinstance(each, BaseNamedTuple):
            yield each.instance_class
        if isinstance(each, BaseTuple):
            yield from _classes(each)


def _is_ours(defined: type | Callable[..., Any]) -> bool:
    return defined.__module__.startswith("rankloop.")


def _class_of(state: Any) -> Any:
    return state.instance_class if isinstance(state, BaseNamedTuple) else None


def type_of(value: Any) -> Any:
    """The type of an argument of compiled code: the arrays in states of this package are views."""
    plain = numba.typeof(value)
    ours = isinstance(plain, BaseNamedTuple) and all(map(_is_ours, _classes([plain])))
    return (viewed(plain) or plain) if ours else plain


def explain_failure(
    error: Exception, loop: Callable[..., Any], compiled: Mapping[Any, Any], args: Sequence[Any]
) -> NoReturn:
    """Say in one sentence which step of which state could not be compiled, and where; raise any other error again.

    `compiled` has the types of arguments for which the loop was compiled: with these, it was the running code that
    raised.
    """
    _check_fields(args)
    try:
        types = tuple(map(type_of, args))
    except ValueError:
        raise error from None
    states = [cls for cls in _classes(types) if cls in _names or not _is_ours(cls)]
    if types in compiled or not states:
        raise error
    for (generic, cls), asked in reversed(_asked.items()):
        if cls not in states:
            continue
        function = _steps[generic].get(cls)
        if function is None:
            own = [f"{other.__name__} at {defined_at(each[cls])}" for other, each in _steps.items() if cls in each]
            has = f"it has {', '.join(sorted(own))}" if own else "it has no steps at all"
            raise StepError(
                f"{_name(cls)} has no step {generic.__name__}: "
                f"register one with @step({generic.__name__}, {cls.__qualname__}) ({has})"
            ) from None
        try:
            numba.njit(**OPTIONS)(function).compile(asked)
        except Exception as found:
            raise StepError(
                f"the step {generic.__name__} of {_name(cls)} cannot be compiled: {_reason(found, function, asked)}"
            ) from None
    raise StepError(
        f"{loop.__name__} cannot be compiled for {' and '.join(map(_name, states))}: {_reason(error, loop, types)}"
    ) from None


def _check_fields(values: Iterable[Any]) -> None:
    for state in values:
        for name, value in state._asdict().items() if hasattr(state, "_asdict") else ():
            _check_fields([value])
            try:
                numba.typeof(value)
            except ValueError:
                raise StepError(
                    f"the field {name} of {_name(type(state))} is of type {type(value).__name__}, which compiled steps "
                    f"cannot use: keep arrays and numbers in a state"
                ) from None


def _name(cls: type) -> str:
    return _names.get(cls, f"{cls.__module__}.{cls.__qualname__}")


def defined_at(function: Any) -> str:
    """Where a function is defined, as file:line."""
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_STAGE = re.compile(r"Failed in \w+ mode pipeline \(step: [^)]*\)\n")
_PLACE = re.compile(r"(?:During: typing of .* at|Raised from) (.+) \((\d+)\)")
_ASIDE = re.compile(r"\.* Raised from .*|, defined at .*")
_CALLED = re.compile(r"Function\(<(?:built-in )?function (\w+)[^>]*>\)")


def _reason(error: Exception, function: Any, types: Iterable[Any]) -> str:
    """What the compiler says, without its report of all it tried, and the innermost line it says it of."""
    text = _COLOUR.sub("", str(error))
    innermost = _PLACE.search(text)
    loc = getattr(error, "loc", None)
    where = f"{loc.filename}:{loc.line}" if loc is not None else defined_at(function)
    if innermost:
        where = f"{innermost[1]}:{innermost[2]}"
    said, *more = [line.strip() for line in _STAGE.split(text)[-1].splitlines() if line.strip()]
    if said.endswith(":") and more:  # "No implementation of function add found for signature:" and the signature
        said = f"{said} {more[0].removeprefix('>>> ')}"
    for each in types:
        if isinstance(each, BaseNamedTuple):
            said = said.replace(str(each), _name(each.instance_class))
    said = _CALLED.sub(r"\1", _ASIDE.sub("", said)).rstrip(".")
    return f"{said}, at {where}"
