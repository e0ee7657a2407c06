"""The character-class scanner, avx2 tier (see charclass_body.pxi)."""

include "charclass_body.pxi"
