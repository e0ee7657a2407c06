"""The base of the public component objects: normalizers, pre-tokenizers, post-processors, decoders, models, trainers.

A component object is a handle. What it stands for is a `Description` (a kind and its field values, never changed) in a
`Cell`; two handles of one cell are one component: the item of a Sequence, the one that a tokenizer holds and the one
that was passed in. That is how the reference's objects behave (each wraps an `Arc<RwLock<...>>`,
bindings/python/src/normalizers.rs and its siblings), quirks included: assigning to an item of a Sequence puts the new
description into the item's cell, so every handle of that item sees it, and a handle whose Python class no longer fits
ignores assignments.

A cell knows, weakly, who was built from it (a tokenizer), and tells them through `_component_changed()`.
Nothing is computed here: `_spec()` is what kernels are compiled from.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

from hftok._core.json_reader import JsonSyntaxError, loads
from hftok._core.json_writer import dumps
from hftok.arguments import naming, not_instance, uint64
from hftok.json_forms import Field, FormError, Reader, struct, unit_variant
from hftok.representation import Struct, Tree, Unserializable, describe, to_json

__all__ = ["Attribute", "Cell", "Component", "Description", "Owner", "items_of", "shared_cells", "unit_reader"]

T = TypeVar("T")


class Owner(Protocol):
    """Someone who keeps something built from a component, and must know when it changes."""

    def _component_changed(self) -> None: ...


class Description:
    """A kind of component (the public class; its base class for a custom one) with its field values. Immutable."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: type[Component], fields: dict[str, Any]) -> None:
        self.kind = kind
        self.fields = fields

    def replace(self, **fields: Any) -> Description:
        replaced = getattr(self.fields, "replaced", None)  # StoredFields
        return Description(self.kind, {**self.fields, **fields} if replaced is None else replaced(fields))

    def spec(self) -> tuple[Any, ...]:
        return self.kind._spec_of(self.fields)

    def tree(self) -> Tree:
        return self.kind._tree_of(self.fields)


class Cell:
    """The shared place of one component."""

    __slots__ = ("_owners", "description")

    def __init__(self, description: Description) -> None:
        self.description = description
        self._owners: list[weakref.ref[Owner]] = []

    def set(self, description: Description) -> None:
        self.description = description
        for reference in list(self._owners):
            owner = reference()
            if owner is None:
                self._owners.remove(reference)
            else:
                owner._component_changed()

    def add_owner(self, owner: Owner) -> None:
        if not any(reference() is owner for reference in self._owners):
            self._owners.append(weakref.ref(owner))

    def remove_owner(self, owner: Owner) -> None:
        self._owners = [reference for reference in self._owners if reference() not in (None, owner)]


class Attribute(Generic[T]):
    """A field of a component, as an attribute that checks what is assigned."""

    def __init__(self, convert: Callable[[Any], T], doc: str = "") -> None:
        self.convert = convert
        self.__doc__ = doc

    def __set_name__(self, owner: type[Component], name: str) -> None:
        self.name = name
        self.owner = owner

    @overload
    def __get__(self, instance: None, owner: type[Component]) -> Attribute[T]: ...

    @overload
    def __get__(self, instance: Component, owner: type[Component]) -> T: ...

    def __get__(self, instance: Component | None, owner: type[Component]) -> Attribute[T] | T:
        if instance is None:
            return self
        description = instance._description()
        if not issubclass(description.kind, self.owner):
            raise ValueError(
                f"this {type(instance).__name__} now stands for a {description.kind.__name__}, which was assigned to "
                f"its place in a Sequence; it has no `{self.name}`"
            )
        value: T = self.read(description.fields[self.name])
        return value

    def __set__(self, instance: Component, value: T) -> None:
        with naming(self.name):
            converted = self.convert(value)
        cell = instance._cell()
        if issubclass(cell.description.kind, self.owner):
            cell.set(cell.description.replace(**{self.name: converted}))

    def read(self, stored: Any) -> Any:
        return stored


class Component:
    """What the six kinds of components share. Not part of the reference's surface."""

    __slots__ = ("_cells", "_compiled", "_many")

    _family: ClassVar[str] = "Component"  # the family's name in messages
    _custom_family: ClassVar[str] = "Component"  # ... of custom components
    _items: ClassVar[str | None] = None  # the field of a Sequence that holds its items

    _cells: list[Cell]
    _many: bool
    _compiled: list[tuple[list[Description], Any] | None]  # one item; all handles of a component share the list

    def __init_subclass__(cls) -> None:
        """The kinds are final, as in the reference: what a kernel is compiled from must be what the class says."""
        super().__init_subclass__()
        if cls.__module__.partition(".")[0] != "hftok":
            for base in cls.__bases__:
                if base is not Component and issubclass(base, Component) and Component not in base.__bases__:
                    raise TypeError(f"type '{base.__module__}.{base.__qualname__}' is not an acceptable base type")

    def __init__(self) -> None:
        kind = type(self)
        raise TypeError(f"cannot create '{kind.__module__}.{kind.__qualname__}' instances: use one of its subclasses")

    # ---- making -----------------------------------------------------------------------------------------------------

    def _create(self, **values: Any) -> None:
        """Sets all fields of a new component, each checked by its attribute."""
        fields = {}
        for name, value in values.items():
            attribute = getattr(type(self), name, None)
            if isinstance(attribute, Attribute):
                with naming(name):
                    value = attribute.convert(value)
            fields[name] = value
        self._set_cells([Cell(Description(type(self), fields))], many=False)

    def _set_cells(self, cells: list[Cell], *, many: bool) -> None:
        self._cells = cells
        self._many = many
        self._compiled = [None]

    @classmethod
    def _of_cell(cls, cell: Cell) -> Self:
        """A handle of that cell, of the public class that its description asks for."""
        handle: Self = object.__new__(cell.description.kind)  # type: ignore[assignment]
        handle._set_cells([cell], many=False)
        return handle

    @classmethod
    def _of_description(cls, description: Description) -> Self:
        """A new component. A Sequence gets a cell for each of its items (in families whose items are shared)."""
        kind = description.kind
        if kind._items is not None:
            handle: Self = object.__new__(kind)  # type: ignore[assignment]
            handle._set_cells([Cell(item) for item in description.fields[kind._items]], many=True)
            return handle
        return cls._of_cell(Cell(description))

    def _share(self) -> Self:
        """Another handle of the same component, as a tokenizer's getter gives it."""
        handle: Self = object.__new__(type(self) if self._many else self._cells[0].description.kind)  # type: ignore[assignment]
        handle._cells, handle._many = self._cells, self._many
        handle._compiled = self._compiled  # tokenizer.pre_tokenizer is asked for anew for every text
        return handle

    # ---- reading ----------------------------------------------------------------------------------------------------

    def _cell(self) -> Cell:
        return self._cells[0]

    def _description(self) -> Description:
        """The description of the whole: of the cell, or a Sequence of the cells' descriptions."""
        if not self._many:
            return self._cells[0].description
        kind = type(self)
        assert kind._items is not None
        return Description(kind, {kind._items: tuple(cell.description for cell in self._cells)})

    def _spec(self) -> tuple[Any, ...]:
        """What the kernels are compiled from: a nested tuple that starts with the kind's name."""
        return self._description().spec()

    @property
    def _program_for(self) -> tuple[list[Description], Any] | None:
        """The program that was compiled last, and the descriptions that it was compiled from."""
        return self._compiled[0]

    @_program_for.setter
    def _program_for(self, value: tuple[list[Description], Any] | None) -> None:
        self._compiled[0] = value

    def _program(self, compile_spec: Callable[[tuple[Any, ...]], Any]) -> Any:
        """The program compiled from the spec; compiled anew only after a change."""
        known = self._compiled[0]
        if known is not None and len(known[0]) == 1 == len(self._cells) and known[0][0] is self._cells[0].description:
            return known[1]
        now = [cell.description for cell in self._cells]
        if known is not None:
            before, program = known
            if len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True)):
                return program
        program = compile_spec(self._spec())
        self._program_for = (now, program)
        return program

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        if "custom" in fields:
            return ("Custom", fields["custom"])
        if cls._items is not None:
            return ("Sequence", tuple(item.spec() for item in fields[cls._items]))
        return (cls.__name__, *fields.values())

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        if "custom" in fields:
            raise Unserializable(f"Custom {cls._custom_family} cannot be serialized")
        if cls._items is not None:
            return Struct("Sequence", ((cls._items, [item.tree() for item in fields[cls._items]]),))
        return Struct(cls.__name__, tuple(fields.items()))

    # ---- owners -----------------------------------------------------------------------------------------------------

    def _add_owner(self, owner: Owner) -> None:
        """`owner._component_changed()` is called after every change of this component. Holds the owner weakly."""
        for cell in self._cells:
            cell.add_owner(owner)

    def _remove_owner(self, owner: Owner) -> None:
        for cell in self._cells:
            cell.remove_owner(owner)

    # ---- items of a Sequence (families whose items are shared) -------------------------------------------------------

    def _item(self, index: int) -> Self:
        index = uint64(index)
        if index >= len(self._cells):
            raise IndexError("Index not found")
        return self._of_cell(self._cells[index])

    def _set_item(self, index: int, value: Any, family: type[Component], *, nested: str, single: str) -> None:
        """`nested` and `single`: the messages for a Sequence as value, and for a Sequence that is itself an item."""
        index = uint64(index)
        if not isinstance(value, family):
            raise not_instance(value, family.__name__)
        if value._many:
            raise Exception(nested)
        if not self._many:
            raise Exception(single)
        if index >= len(self._cells):
            raise IndexError("Index not found")
        self._cells[index].set(value._description())

    # ---- written forms ----------------------------------------------------------------------------------------------

    @classmethod
    def _read(cls, value: Any) -> Description:
        """The description that a JSON value of this family stands for; raises FormError."""
        raise NotImplementedError

    def __getstate__(self) -> bytes:
        try:
            return dumps(to_json(self._description().tree())).encode()
        except Unserializable as error:
            raise Exception(f"Error while attempting to pickle {self._family}: {error}") from None

    def __setstate__(self, state: bytes) -> None:
        if not isinstance(state, bytes):
            raise not_instance(state, "bytes")
        try:
            made = self._of_description(self._read(loads(state)))
        except (FormError, JsonSyntaxError) as error:
            raise Exception(f"Error while attempting to unpickle {self._family}: {error}") from None
        self._set_cells(made._cells, many=made._many)

    def __repr__(self) -> str:
        return self._describe(full=True)

    def __str__(self) -> str:
        return self._describe(full=False)

    def _describe(self, *, full: bool) -> str:
        try:
            return describe(self._description().tree(), full=full)
        except Unserializable as error:
            raise Exception(str(error)) from None


def items_of(value: Any, family: type[Component]) -> list[Component]:
    """The list that a Sequence is made from."""
    if not isinstance(value, list):
        raise not_instance(value, "list")
    for item in value:
        if not isinstance(item, family):
            raise not_instance(item, family.__name__)
    return value


def shared_cells(items: Iterable[Component]) -> list[Cell]:
    """The items' own cells, Sequences among them flattened."""
    return [cell for item in items for cell in item._cells]


def unit_reader(kind: type[Component]) -> Reader[Description]:
    """Reads `{"type": name}` (or `[name]`) as that kind, which has no fields."""
    fields = (Field("type", unit_variant(kind.__name__)),)

    def read(value: Any) -> Description:
        struct(value, kind.__name__, fields)
        return Description(kind, {})

    return read
