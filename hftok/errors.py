"""Exceptions of hftok. Everything else is raised with the type that the reference has."""

from __future__ import annotations

from hftok._core.errors import UnsupportedTokenizerError

__all__ = ["UnsupportedTokenizerError"]
