"""Types of the compiled module; see files.pyx."""

from collections.abc import Sequence

from hftok._core.documents import Documents

class FileDocuments(Documents):
    def __init__(
        self,
        paths: Sequence[str],
        separator: bytes | None = None,
        field: bytes | None = None,
        parallel: bool | None = None,
    ) -> None: ...
    def texts(self) -> list[str]: ...
