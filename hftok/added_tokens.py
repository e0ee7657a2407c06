"""AddedToken: a token that is found in text as a whole, beside the model's vocabulary."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hftok.arguments import boolean, is_foreign, naming, not_instance, string
from hftok.json_forms import Field, struct
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import string as json_string
from hftok.representation import Struct

__all__ = ["AddedToken", "added_token_of_state", "own_added_token", "read_added_token", "special_tokens_argument"]

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


class AddedToken:
    """A token that is added to a tokenizer.

    Args:
        content: the text of the token.
        single_word: match only between word boundaries.
        lstrip: take the blanks on the left into the match.
        rstrip: take the blanks on the right into the match.
        normalized: match in the normalized text; by default unless `special`.
        special: may be skipped when decoding.

    Unknown keyword arguments are ignored with a line on standard output.

    >>> AddedToken("<mask>", lstrip=True)
    AddedToken("<mask>", rstrip=False, lstrip=True, single_word=False, normalized=True, special=False)
    >>> AddedToken("<s>", special=True).normalized
    False
    """

    # A flag that was never given is None: `normalized` then follows `special`, also when that is assigned later.
    _content: str
    _special: bool
    _flags: dict[str, bool | None]

    def __init__(self, content: str | None = None, **kwargs: Any) -> None:
        with naming("content"):
            self._content = "" if content is None else string(content)
        self._special = False
        self._flags = dict.fromkeys(_FLAGS)
        for key, value in kwargs.items():
            if key in _FLAGS:
                with naming(key):
                    self._flags[key] = boolean(value)
            elif key == "special":
                with naming(key):
                    self._special = boolean(value)
            else:
                print(f"Ignored unknown kwarg option {key}")

    @classmethod
    def _of(cls, content: str, special: bool) -> AddedToken:
        """The token that a plain string stands for."""
        token = cls(content)
        token._special = special
        return token

    def _copy(self) -> AddedToken:
        """A token of its own with every flag fixed, as a tokenizer or trainer keeps it."""
        flags = self._flags
        normalized = flags["normalized"]
        token: AddedToken = AddedToken.__new__(AddedToken)  # there may be thousands
        token._content = self._content
        token._special = self._special
        token._flags = {
            "single_word": bool(flags["single_word"]),
            "lstrip": bool(flags["lstrip"]),
            "rstrip": bool(flags["rstrip"]),
            "normalized": not self._special if normalized is None else normalized,
        }
        return token

    @property
    def content(self) -> str:
        """The text of the token."""
        return self._content

    @content.setter
    def content(self, content: str) -> None:
        self._content = string(content)

    @property
    def special(self) -> bool:
        """Whether it may be skipped when decoding."""
        return self._special

    @special.setter
    def special(self, special: bool) -> None:
        self._special = boolean(special)

    @property
    def single_word(self) -> bool:
        """Whether it matches only between word boundaries."""
        return bool(self._flags["single_word"])

    @property
    def lstrip(self) -> bool:
        """Whether it takes the blanks on its left."""
        return bool(self._flags["lstrip"])

    @property
    def rstrip(self) -> bool:
        """Whether it takes the blanks on its right."""
        return bool(self._flags["rstrip"])

    @property
    def normalized(self) -> bool:
        """Whether it is looked for in the normalized text."""
        given = self._flags["normalized"]
        return not self._special if given is None else given

    def __getstate__(self) -> dict[str, Any]:
        return {
            "content": self._content,
            "single_word": self.single_word,
            "lstrip": self.lstrip,
            "rstrip": self.rstrip,
            "normalized": self.normalized,
            "special": self._special,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict):
            raise not_instance(state, "dict")
        if "_flags" not in self.__dict__:
            AddedToken.__init__(self)
        for key, value in state.items():
            key = string(key)
            if key == "content":
                self._content = string(value)
            elif key == "special":
                self._special = boolean(value)
            elif key in _FLAGS:
                self._flags[key] = boolean(value)

    def _key(self) -> tuple[str, bool, bool, bool, bool, bool]:
        return self._content, self.single_word, self.lstrip, self.rstrip, self.normalized, self._special

    def _tree(self) -> Struct:
        return Struct("AddedToken", tuple(self.__getstate__().items()), tagged=False)

    def __str__(self) -> str:
        return self._content

    def __repr__(self) -> str:
        return (
            f'AddedToken("{self._content}", rstrip={self.rstrip}, lstrip={self.lstrip}, '
            f"single_word={self.single_word}, normalized={self.normalized}, special={self._special})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddedToken):
            return NotImplemented
        return self._key() == other._key()

    def _ordering(self, other: object) -> bool:
        """Tokens have no order: every such comparison of two tokens is False, as in the reference."""
        return False if isinstance(other, AddedToken) else NotImplemented

    __lt__ = __le__ = __gt__ = __ge__ = _ordering

    def __hash__(self) -> int:
        return _hash_of(self._content)


@lru_cache(maxsize=1 << 14)
def _hash_of(content: str) -> int:
    """The reference's own hash (of the content alone), so that sets of tokens have its iteration order too.

    Rust's DefaultHasher: SipHash-1-3 with zero keys over the UTF-8 bytes and a byte 0xFF.
    """
    data = content.encode() + b"\xff"
    mask = (1 << 64) - 1

    def rotate(x: int, bits: int) -> int:
        return ((x << bits) | (x >> (64 - bits))) & mask

    v0, v1, v2, v3 = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573

    def round_(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
        v0 = (v0 + v1) & mask
        v1 = rotate(v1, 13) ^ v0
        v0 = rotate(v0, 32)
        v2 = (v2 + v3) & mask
        v3 = rotate(v3, 16) ^ v2
        v0 = (v0 + v3) & mask
        v3 = rotate(v3, 21) ^ v0
        v2 = (v2 + v1) & mask
        v1 = rotate(v1, 17) ^ v2
        v2 = rotate(v2, 32)
        return v0, v1, v2, v3

    whole = len(data) // 8 * 8
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56)
    for word in words:
        v3 ^= word
        v0, v1, v2, v3 = round_(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= 0xFF
    for _ in range(3):
        v0, v1, v2, v3 = round_(v0, v1, v2, v3)
    unsigned = v0 ^ v1 ^ v2 ^ v3
    signed = unsigned - (1 << 64) if unsigned >> 63 else unsigned
    return -2 if signed == -1 else signed


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def own_added_token(value: Any, special: bool = False) -> AddedToken | None:
    """An AddedToken as it is, one of the reference's as one of ours, None where the value is neither.

    Args:
        special: it becomes special first; so does the object that was given.
    """
    own = isinstance(value, AddedToken)
    if not own and not is_foreign(value, "AddedToken"):
        return None
    if special:
        value.special = True
    if own:
        token: AddedToken = value
        return token
    return added_token_of_state(value.__getstate__())


def special_tokens_argument(value: Any) -> tuple[AddedToken, ...]:
    """Special tokens as copies. As the reference does, an AddedToken that was passed becomes special itself."""
    if not isinstance(value, list):
        raise not_instance(value, "list")
    tokens = []
    for item in value:
        if isinstance(item, str) and _is_text(item):
            tokens.append(AddedToken._of(item, special=True)._copy())
            continue
        token = own_added_token(item, special=True)
        if token is None:
            raise TypeError("special_tokens must be a List[Union[str, AddedToken]]")
        tokens.append(token._copy())
    return tuple(tokens)


_FIELDS = (Field("content", json_string), *(Field(name, json_boolean) for name in (*_FLAGS, "special")))


def read_added_token(value: Any, *, as_array: bool = True) -> AddedToken:
    """A JSON object with all six fields; raises FormError."""
    return _of_fields(_all_fields(value) or struct(value, "AddedToken", _FIELDS, as_array=as_array))


def added_token_of_state(state: dict[str, Any]) -> AddedToken:
    """The token that `__getstate__` described, of ours or of the reference's."""
    if _all_fields(state) is not None:
        return _of_fields(state)
    token = AddedToken()
    token.__setstate__(state)
    return token


def _of_fields(fields: dict[str, Any]) -> AddedToken:
    token: AddedToken = AddedToken.__new__(AddedToken)
    token._content = fields["content"]
    token._special = fields["special"]
    token._flags = {
        "single_word": fields["single_word"],
        "lstrip": fields["lstrip"],
        "rstrip": fields["rstrip"],
        "normalized": fields["normalized"],
    }
    return token


def _all_fields(value: Any) -> dict[str, Any] | None:
    """The value itself where it is an object in the usual form (there may be thousands)."""
    if type(value) is dict and type(value.get("content")) is str:
        get = value.get
        flags = type(get("single_word")), type(get("lstrip")), type(get("rstrip")), type(get("normalized"))
        if flags == (bool, bool, bool, bool) and type(get("special")) is bool:
            return value
    return None
