"""Attributes that are made when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """Makes an attribute by a method, the first time; after that it is an attribute like others.

    As `functools.cached_property`, but that takes a lock on Python 3.11, and has each object carry a
    dictionary of its own: here a session's parts are made in one task.
    """

    __slots__ = ("_make", "_name")

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> T | Self:
        if instance is None:
            return self
        value = self._make(instance)
        setattr(instance, self._name, value)
        return value
