from typing import Any

from hftok._core.encoding import Encoding

Spec = tuple[Any, ...]

class PostProcessorProgram:
    spec: Spec | None
    def __init__(self, spec: Spec | None) -> None: ...
    def added_tokens(self, is_pair: bool) -> int: ...
    def process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding: ...

def process(
    spec: Spec | PostProcessorProgram | None,
    encoding: Encoding,
    pair: Encoding | None = None,
    add_special_tokens: bool = True,
) -> Encoding: ...
def truncate_encodings(
    encoding: Encoding, pair: Encoding | None, truncation: tuple[int, int, str, str] | dict[str, Any]
) -> tuple[Encoding, Encoding | None]: ...
def pad_encodings(
    encodings: list[Encoding], padding: tuple[int | None, str, int | None, int, int, str] | dict[str, Any]
) -> None: ...
def post_process(
    encoding: Encoding,
    pair: Encoding | None,
    add_special_tokens: bool,
    truncation: tuple[int, int, str, str] | dict[str, Any] | None,
    padding: tuple[int | None, str, int | None, int, int, str] | dict[str, Any] | None,
    spec: Spec | PostProcessorProgram | None,
) -> Encoding: ...
