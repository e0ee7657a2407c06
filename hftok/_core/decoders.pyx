"""Decoders: from token strings back to text.

What it does: compiles a decoder's spec to a flat list of steps and runs them over a list of tokens. This is the exact
and general form; sequences of ids are decoded by id_decoder.pyx, which runs the same steps once per vocabulary entry.
Rules of the reference: decoders/{wordpiece,bpe,byte_fallback,fuse,strip,ctc,sequence}.rs, the Decoder parts of
pre_tokenizers/{byte_level,metaspace}.rs and normalizers/replace.rs; CustomDecoder of bindings decoders.rs. Strip panics
in the reference where a token is too short for what it should strip at the end: that is a ValueError here.
Left to others: arguments and JSON of the component objects (hftok.decoders).

A spec is a nested tuple:
    ("WordPiece", prefix, cleanup)  ("ByteLevel",)  ("Metaspace", replacement, prepend_scheme, split)
    ("Replace", "String" | "Regex", pattern, content)  ("BPEDecoder", suffix)  ("Fuse",)  ("ByteFallback",)
    ("Strip", content, start, stop)  ("CTC", pad_token, word_delimiter_token, cleanup)
    ("Sequence", (spec, ...))  ("Custom", object with decode_chain(list[str]) -> list[str])
    None: no decoder, which joins the tokens with spaces
"""
from libc.stdint cimport int16_t, uint8_t

from hftok._core.arguments cimport bool_argument, str_argument, str_list_argument, usize_argument


# Code point -> byte of the byte-level alphabet, -1 elsewhere: the printable bytes of Latin-1 stand for themselves, the
# other 68 are numbered from U+0100 in ascending order.
cdef int16_t[0x144] BYTE_OF_CHAR


cdef int _make_byte_table() except -1:
    cdef int c, b, n = 0
    for c in range(0x144):
        BYTE_OF_CHAR[c] = -1
    for b in range(256):
        if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE:
            BYTE_OF_CHAR[b] = <int16_t>b
        else:
            BYTE_OF_CHAR[0x100 + n] = <int16_t>b
            n += 1
    return 0


_make_byte_table()


cdef str cleanup(str text):
    """The English clean-up of the WordPiece decoder, in the reference's order."""
    if " " not in text:         # every rule starts with a space
        return text
    return (
        text.replace(" .", ".").replace(" ?", "?").replace(" !", "!").replace(" ,", ",").replace(" ' ", "'")
        .replace(" n't", "n't").replace(" 'm", "'m").replace(" do not", " don't").replace(" 's", "'s")
        .replace(" 've", "'ve").replace(" 're", "'re"))


cdef inline int hex_digit(Py_UCS4 c) noexcept:
    if c"0" <= c <= c"9":
        return <int>c - c"0"
    if c"a" <= c <= c"f":
        return <int>c - c"a" + 10
    if c"A" <= c <= c"F":
        return <int>c - c"A" + 10
    return -1


cdef int byte_token(str token) noexcept:
    # Six bytes "<0x", two, ">"; the two are read by u8::from_str_radix, which takes a plus sign.
    cdef int high, low
    if len(token) != 6 or token[0] != u"<" or token[1] != u"0" or token[2] != u"x" or token[5] != u">":
        return -1
    high = 0 if token[3] == u"+" else hex_digit(token[3])
    low = hex_digit(token[4])
    return -1 if high < 0 or low < 0 else 16 * high + low


cdef bytes byte_level_bytes(str token):
    # A token with any character outside the alphabet (an added token, say) stands for its own text.
    cdef Py_ssize_t i
    cdef Py_UCS4 c
    cdef bytearray result = bytearray(len(token))
    cdef uint8_t *out = <uint8_t *>result
    for i in range(len(token)):
        c = token[i]
        if c >= 0x144 or BYTE_OF_CHAR[c] < 0:
            return token.encode("utf-8")
        out[i] = <uint8_t>BYTE_OF_CHAR[c]
    return bytes(result)


cdef bint is_valid_utf8(bytes data):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


cdef inline list _flush_bytes(list result, bytearray pending):
    # ByteFallback: a run of byte tokens is its text, or one U+FFFD for each where it is no UTF-8.
    try:
        result.append(pending.decode("utf-8"))
    except UnicodeDecodeError:
        result.extend(["\ufffd"] * len(pending))
    pending.clear()
    return result


cdef class Step:
    """One decoder of a program."""

    cdef str token(self, str token, bint first, bint last):
        if self.kind == STEP_WORDPIECE:
            if not first:
                token = token[len(self.text):] if token.startswith(self.text) else " " + token
            return cleanup(token) if self.flag else token
        if self.kind == STEP_METASPACE:
            return token.replace(self.text, "" if first and self.flag else " ")
        if self.kind == STEP_REPLACE:
            # An empty pattern matches before every character and at the end, and nowhere in an empty token.
            return token if not token else token.replace(self.text, self.content)
        if self.kind == STEP_REPLACE_REGEX:
            return _replace_matches(self.other, token, self.content) if token else token
        if self.kind == STEP_BPE:
            return token.replace(self.text, "" if last else " ")
        if self.kind == STEP_STRIP:
            return self._strip(token)
        return token if first else " " + token      # STEP_SPACE

    def _strip(self, str token):
        # The two ends are counted independently; the reference indexes past the token where `stop` reaches beyond its
        # start, and slices backwards where the ends cross.
        cdef Py_ssize_t n = len(token), left = 0, right = n
        cdef Py_UCS4 c = self.text[0]
        while <uint64_t>left < self.start and left < n and token[left] == c:
            left += 1
        while <uint64_t>(n - right) < self.stop:
            if right == 0:
                raise ValueError(
                    f"the Strip decoder cannot strip {self.stop} characters from the end of {token!r}, which has {n}: lower `stop`, or "
                    "strip after Fuse")
            if token[right - 1] != c:
                break
            right -= 1
        if left > right:
            raise ValueError(
                f"the Strip decoder strips {token!r} from both ends at once: lower `start` or `stop`, or strip after Fuse")
        return token[left:right]

    cdef list chain(self, list tokens):
        cdef list result
        cdef Py_ssize_t i, n = len(tokens)
        cdef bytearray pending
        cdef int value
        if self.kind <= LAST_TOKEN_STEP:
            result = []
            for i in range(n):
                result.append(self.token(<str>tokens[i], i == 0, i == n - 1))
            return result
        if self.kind == STEP_FUSE:
            return ["".join(tokens)]
        if self.kind == STEP_BYTE_LEVEL:
            return [b"".join([byte_level_bytes(token) for token in tokens]).decode("utf-8", "replace")]
        if self.kind == STEP_BYTE_FALLBACK:
            result = []
            pending = bytearray()
            for token in tokens:
                value = byte_token(<str>token)
                if value >= 0:
                    pending.append(value)
                    continue
                if pending:
                    _flush_bytes(result, pending)
                result.append(token)
            if pending:
                _flush_bytes(result, pending)
            return result
        if self.kind == STEP_CTC:
            result = []
            previous = None
            for token in tokens:
                if token == previous:
                    continue
                previous = token
                text = (<str>token).replace(self.text, "")
                if self.flag:
                    text = cleanup(text).replace(self.content, " ")
                if text:
                    result.append(text)
            return result
        return _custom(self.other, tokens)


cdef str _replace_matches(object pattern, str token, str content):
    cdef bytes data = token.encode("utf-8"), replacement = content.encode("utf-8")
    return b"".join(
        [replacement if is_match else data[start:end] for (start, end), is_match in pattern.find_matches(token)]).decode("utf-8")


cdef list _custom(object decoder, list tokens):
    # The reference turns whatever goes wrong in a custom decoder into an Exception that names it.
    try:
        return str_list_argument(decoder.decode_chain(tokens), None)
    except BaseException as error:
        try:
            text = str(error)
        except Exception:
            text = "<exception str() failed>"
        raise Exception(f"{type(error).__name__}: {text}") from error


cdef int _compile(list steps, object spec) except -1:
    cdef Step step = Step.__new__(Step)
    if spec is None:
        step.kind = STEP_SPACE
        steps.append(step)
        return 0
    if not isinstance(spec, tuple) or not spec:
        raise ValueError(f"a decoder's spec is a tuple that starts with its name, not {spec!r}")
    kind, *rest = spec
    n = len(rest)
    if kind == "Sequence" and n == 1:
        for part in rest[0]:
            if part is None:
                raise ValueError("a decoder inside a Sequence cannot be None")
            _compile(steps, part)
        return 0
    if kind == "WordPiece" and n == 2:
        step.kind = STEP_WORDPIECE
        step.text = str_argument(rest[0], "prefix")
        step.flag = bool_argument(rest[1], "cleanup")
    elif kind == "ByteLevel" and n == 0:
        step.kind = STEP_BYTE_LEVEL
    elif kind == "Metaspace" and n == 3:
        step.kind = STEP_METASPACE
        step.text = _one_character(rest[0], "replacement")
        if rest[1] not in ("always", "never", "first"):
            raise ValueError(f"{rest[1]!r} is an unknown variant, should be one of ['first', 'never', 'always']")
        step.flag = rest[1] != "never"
    elif kind == "Replace" and n == 3 and rest[0] == "String":
        step.kind = STEP_REPLACE
        step.text = str_argument(rest[1], "pattern")
        step.content = str_argument(rest[2], "content")
    elif kind == "Replace" and n == 3 and rest[0] == "Regex":
        from hftok._core.patterns import Pattern
        step.kind = STEP_REPLACE_REGEX
        step.other = Pattern("Regex", str_argument(rest[1], "pattern"))
        step.content = str_argument(rest[2], "content")
    elif kind == "BPEDecoder" and n == 1:
        step.kind = STEP_BPE
        step.text = str_argument(rest[0], "suffix")
    elif kind == "Fuse" and n == 0:
        step.kind = STEP_FUSE
    elif kind == "ByteFallback" and n == 0:
        step.kind = STEP_BYTE_FALLBACK
    elif kind == "Strip" and n == 3:
        step.kind = STEP_STRIP
        step.text = _one_character(rest[0], "content")
        step.start = usize_argument(rest[1], "left")
        step.stop = usize_argument(rest[2], "right")
    elif kind == "CTC" and n == 3:
        step.kind = STEP_CTC
        step.text = str_argument(rest[0], "pad_token")
        step.content = str_argument(rest[1], "word_delimiter_token")
        step.flag = bool_argument(rest[2], "cleanup")
    elif kind == "Custom" and n == 1:
        step.kind = STEP_CUSTOM
        step.other = rest[0]
    else:
        raise ValueError(f"there is no decoder {kind!r} with {n} parameters")
    steps.append(step)
    return 0


cdef str _one_character(object value, str name):
    cdef str text = str_argument(value, name)
    if len(text) != 1:
        raise ValueError(f"`{name}` must be one character, not {text!r}")
    return text


cdef class DecoderProgram:
    """A decoder made ready to run.

    >>> from hftok._core.decoders import DecoderProgram
    >>> DecoderProgram(("WordPiece", "##", True)).decode(["un", "##related", ",", "then"])
    'unrelated, then'
    """

    def __init__(self, spec):
        """`spec` as described in the module; ValueError or TypeError where it is none."""
        self.spec = spec
        self.steps = []
        _compile(self.steps, spec)

    cdef list run(self, list tokens):
        cdef Step step
        for step in self.steps:
            tokens = step.chain(tokens)
        return tokens

    def decode_chain(self, tokens):
        """The decoded pieces, list[str], that `decode` joins."""
        return self.run(str_list_argument(tokens, "tokens"))

    def decode(self, tokens):
        """The text of a list of tokens, str.

        Raises:
            TypeError, UnicodeEncodeError: `tokens` is no sequence of strings, or one holds a lone surrogate.
            ValueError: a Strip decoder is asked to strip more than a token has.
            Exception: a custom decoder failed ("Type: message").
        """
        return "".join(self.run(str_list_argument(tokens, "tokens")))
