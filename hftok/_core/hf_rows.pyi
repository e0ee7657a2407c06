from typing import Any

Engine = Any  # hftok._core.engine.Engine
Settings = Any  # hftok._core.encode.Settings

def connect(batch_encoding: Any) -> None: ...

class LazyEncodings:
    def make(self) -> list[Any]: ...

class TrimTable:
    def __init__(self, engine: Engine, added: list[tuple[int, str, bool]]) -> None: ...

def trimming_stages(spec: Any) -> list[bool]: ...

class Plan:
    engine: Engine
    settings: Settings
    truncation: Any
    padding: Any
    special_as_text: bool
    full_overflow: bool
    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        truncation: Any,
        padding: Any,
        special_as_text: bool,
        full_overflow: bool,
        names: list[str],
        pad_token: Any,
        add_special_tokens: bool,
        is_split: bool,
        want_types: bool,
        want_attention: bool,
        want_special: bool,
        want_offsets: bool,
        want_length: bool,
        want_overflow: bool,
        only_ids: bool,
        tensors: str | None,
        warn_above: int | None,
        trim_table: TrimTable | None = None,
        takes_one: bool = True,
        takes_batches: bool = True,
    ) -> None: ...
