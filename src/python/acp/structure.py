"""What all data structures have in common: a handle that other ranks may have as well."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from . import _acp, life
from .collective import broadcast

S = TypeVar("S", bound="Structure")


class Structure:
    """A data structure on one rank or several, which all ranks use by its handle `ga`.

    The rank that creates it tells the others: a structure can be pickled, sent through channels
    and stored in other structures. share() does this for all ranks. It lives until destroy() or
    the end of the job, not until this object is gone. `with` destroys it at the end.
    """

    ga: int
    _destroy: Callable[[int], None]
    # Of share(): whether this rank created it for all, None without share().
    _is_mine: bool | None = None

    def destroy(self) -> None:
        """Ends the structure for all ranks, and frees its memory."""
        type(self)._destroy(self.ga)

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None or not life.is_running():
            return
        if self._is_mine is not None:
            _acp.sync()
        if self._is_mine is not False:
            self.destroy()

    def __eq__(self, other: object) -> bool:
        """Whether both are one structure; their contents are not compared."""
        return isinstance(other, Structure) and type(self) is type(other) and self.ga == other.ga

    def __hash__(self) -> int:
        return hash(self.ga)

    def __repr__(self) -> str:
        return f"acp.{type(self).__name__}({self.ga:#x})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name != "_is_mine"}
        return _restore, (type(self), state)


def _restore(kind: type[S], state: dict[str, Any]) -> S:
    structure = kind.__new__(kind)
    structure.__dict__.update(state)
    return structure


def share(make: Callable[..., S], *arguments: Any, root: int = 0, **named: Any) -> S:
    """One structure for all ranks: rank `root` calls make(...), and each rank gets the result.

    All ranks call it: `words = acp.share(acp.Map, keys=str, values=int)`. In a `with`
    statement, the end of the block waits for all ranks and destroys the structure.
    """
    is_mine = _acp.rank() == root
    made: Any = make(*arguments, **named) if is_mine else None
    structure: S = broadcast(made, root)
    structure._is_mine = is_mine
    return structure
