"""Submodules under the name of another package: `sys.modules["tokenizers"] = hftok`, then `import tokenizers.models`.

Python looks for a submodule along the `__path__` of what stands under the package's name, and would load our file a
second time, with classes that our own do not know. The finder hands out the module that is there already.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Loader(Loader):
    """The loader of a module that has been loaded under its own name."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        # The import system may have written the other name's specification into it.
        module.__spec__ = self.spec


class _Finder(MetaPathFinder):
    """Finds modules of `package` that are asked for under another name than their own."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        own = getattr(sys.modules.get(parent), "__name__", "")
        if own == parent or not f"{own}.".startswith(f"{self.package}."):
            return None
        try:
            module = importlib.import_module(f"{own}.{last}")
        except ModuleNotFoundError as error:
            if error.name != f"{own}.{last}":
                raise
            return None
        return ModuleSpec(name, _Loader(module), is_package=hasattr(module, "__path__"))


def answer_to_other_names(package: str) -> None:
    """Let the modules of a package be imported under any name that the package has in `sys.modules`."""
    sys.meta_path.insert(0, _Finder(package))
