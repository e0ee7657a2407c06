"""The character-class scanner, avx512 tier (see charclass_body.pxi)."""

include "charclass_body.pxi"
