"""Operations and their order: copies, atomics, chains, signals and waits.

A handle is a number. copy() and its neighbours take Memory or numbers as addresses, and are
functions of C without a layer between.
"""

from __future__ import annotations

from . import _acp
from .memory import Memory

Address = int | Memory

# Orders: at once, after everything issued before, behind the operation just before.
NULL = 0
ALL = 0xFFFFFFFFFFFFFFFF
CONT = 0xFFFFFFFFFFFFFFFE

# Flags of the steps of a chain; docs/ordering.md explains them.
SIGNAL = 1
MORE = 2
HOLD = 4

copy = _acp.copy
put_signal = _acp.put_signal
add4, add8 = _acp.add4, _acp.add8
and4, and8 = _acp.and4, _acp.and8
or4, or8 = _acp.or4, _acp.or8
xor4, xor8 = _acp.xor4, _acp.xor8
swap4, swap8 = _acp.swap4, _acp.swap8
cas4, cas8 = _acp.cas4, _acp.cas8
flush = _acp.flush
complete = _acp.complete
inquire = _acp.inquire
wait_word = _acp.wait_word
wait_until = _acp.wait_until


def fetch_add(word: Address, value: int, width: int = 8) -> int:
    """Adds to a word of 8 or 4 bytes of any rank. Waits, and returns the value before."""
    return _acp.fetch_add(word, _checked(width), value)


def fetch_and(word: Address, value: int, width: int = 8) -> int:
    """Bitwise AND; as fetch_add()."""
    return _acp.fetch_and(word, _checked(width), value)


def fetch_or(word: Address, value: int, width: int = 8) -> int:
    """Bitwise OR; as fetch_add()."""
    return _acp.fetch_or(word, _checked(width), value)


def fetch_xor(word: Address, value: int, width: int = 8) -> int:
    """Bitwise exclusive OR; as fetch_add()."""
    return _acp.fetch_xor(word, _checked(width), value)


def swap(word: Address, value: int, width: int = 8) -> int:
    """Stores a value; as fetch_add()."""
    return _acp.fetch_swap(word, _checked(width), value)


def compare_and_swap(word: Address, expected: int, value: int, width: int = 8) -> int:
    """Stores a value if the word is as expected. Returns the value before, as fetch_add()."""
    return _acp.fetch_cas(word, _checked(width), expected, value)


def _checked(width: int) -> int:
    if width not in (4, 8):
        raise ValueError(f"words have 4 or 8 bytes, not {width}")
    return width


class Chain:
    """Up to 16 operations on one rank that are applied there in order, in one flight.

    Each method adds a step and returns the chain; post() issues it. flags: SIGNAL wakes
    waiters, MORE and HOLD keep the chain back until more operations follow.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[int, int, int, int, int, int, int]] = []
        self._kept: list[Memory] = []

    def _add(self, opcode: int, flags: int, remote: Address, local: Address, size: int = 0,
             operand: int = 0, compare: int = 0) -> Chain:
        self._steps.append((opcode, flags, self._number(remote), self._number(local), size,
                            operand, compare))
        return self

    def _number(self, address: Address) -> int:
        if isinstance(address, Memory):
            self._kept.append(address)
            return address.ga
        return address

    def put(self, remote: Address, local: Address, size: int, flags: int = 0) -> Chain:
        """Copies bytes from local to remote memory."""
        return self._add(1, flags, remote, local, size)

    def put8(self, remote: Address, value: int, flags: int = 0) -> Chain:
        """Stores 8 bytes."""
        return self._add(2, flags, remote, 0, operand=value)

    def get(self, remote: Address, local: Address, size: int, flags: int = 0) -> Chain:
        """Copies bytes from remote to local memory."""
        return self._add(3, flags, remote, local, size)

    def add8(self, remote: Address, value: int, old: Address = 0, flags: int = 0) -> Chain:
        """Adds to a word; its old value goes to `old`, unless that is 0."""
        return self._add(4, flags, remote, old, operand=value)

    def cas8(self, remote: Address, expected: int, value: int, old: Address = 0,
             flags: int = 0) -> Chain:
        """Stores a value if the word is as expected."""
        return self._add(5, flags, remote, old, operand=value, compare=expected)

    def and8(self, remote: Address, value: int, old: Address = 0, flags: int = 0) -> Chain:
        """Bitwise AND."""
        return self._add(6, flags, remote, old, operand=value)

    def or8(self, remote: Address, value: int, old: Address = 0, flags: int = 0) -> Chain:
        """Bitwise OR."""
        return self._add(7, flags, remote, old, operand=value)

    def xor8(self, remote: Address, value: int, old: Address = 0, flags: int = 0) -> Chain:
        """Bitwise exclusive OR."""
        return self._add(8, flags, remote, old, operand=value)

    def swap8(self, remote: Address, value: int, old: Address = 0, flags: int = 0) -> Chain:
        """Stores a value."""
        return self._add(9, flags, remote, old, operand=value)

    def post(self, order: int = NULL) -> int:
        """Issues the chain, and returns one handle for all steps."""
        return _acp.post(self._steps, order)

    def __len__(self) -> int:
        return len(self._steps)
