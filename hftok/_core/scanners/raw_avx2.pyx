"""The scanner of raw text, avx2 tier (see raw_body.pxi)."""

include "raw_body.pxi"
