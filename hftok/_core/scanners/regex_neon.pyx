"""The scanners of regular expressions, neon tier (see regex_body.pxi)."""

include "regex_body.pxi"
