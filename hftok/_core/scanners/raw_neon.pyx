"""The scanner of raw text, neon tier (see raw_body.pxi)."""

include "raw_body.pxi"
