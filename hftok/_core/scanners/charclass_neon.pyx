"""The character-class scanner, neon tier (see charclass_body.pxi)."""

include "charclass_body.pxi"
