"""Training of a BPE model from counted words: the way from words to vocabulary and merges.

What it does: numbers the initial symbols, runs the textbook engine, falls back to the reference's own bookkeeping when that
finds a string that can be made in two ways, and gives vocabulary and merges. Progress is reported and Ctrl-C heeded between
slices of work; nothing is returned and nothing of the caller's changed when either raises.

Rule of the reference: BpeTrainer::do_train in models/bpe/trainer.rs. Counting words is left to words and the feeders, the
engines to merge_engine and affix_engine; writing the result into a model is the caller's.

On purpose different from the reference: counts have 64 bits (there: 32, wrapping); where it is random, see symbols.
"""
import numpy as np

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from hftok._core.parallel import enabled, threads_for
from hftok._core.training.affix_engine cimport AffixEngine, affix_free, affix_init, affix_load, affix_run
from hftok._core.training.merge_engine cimport engine_run
from hftok._core.training.merge_state cimport (
    ENGINE_COLLISION, ENGINE_DONE, ENGINE_NO_MEMORY, ENGINE_PAUSED, Engine, engine_free, engine_init, engine_load)
from hftok._core.training.progress cimport Progress, Watch, watch_of
from hftok._core.training.replay cimport replay
from hftok._core.training.symbols cimport Symbols
from hftok._core.training.token_strings cimport TokenStrings, strings_append
from hftok._core.training.words cimport WordCounts

cdef int64_t SLICE = 20_000_000          # slots of work between two looks at the clock


class TrainedBpe:
    """What a BPE training gives.

    vocab     list of str in id order; of bytes where the symbols were bytes
    merges    uint32 array (merges, 2): left and right id of each merge, by rank
    made      uint32 array (merges,): the id that each merge makes
    """

    __slots__ = ("made", "merges", "statistics", "vocab")

    def __init__(self, vocab, merges, made, statistics):
        self.vocab = vocab
        self.merges = merges
        self.made = made
        self.statistics = statistics

    def merge_strings(self):
        """The merges as pairs of strings, by rank."""
        vocab = self.vocab
        return [(vocab[left], vocab[right]) for left, right in self.merges.tolist()]

    def __repr__(self):
        return f"TrainedBpe(vocab: {len(self.vocab)} tokens, merges: {len(self.merges)})"


def checked_size(name, value, minimum=0, most=(1 << 64) - 1):
    """An int argument within bounds, as the reference's unsigned types demand."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    value = value.__index__()
    if value < minimum or value > most:
        raise OverflowError(f"{name} must be from {minimum} to {most}, got {value}")
    return value


def thread_count(threads):
    """Threads to use for an argument `threads`: None leaves it to the environment; a forked child always gets one."""
    if threads is None:
        return threads_for(1024)
    threads = checked_size("threads", threads, minimum=1, most=1024)
    return threads if enabled(True) else 1


def train_bpe(words, *, vocab_size=30000, min_frequency=0, special_tokens=(), limit_alphabet=None, initial_alphabet=(),
              continuing_subword_prefix=None, end_of_word_suffix=None, max_token_length=None, symbols="characters",
              base_symbol_order=None, after=None, threads=None, memory_limit=None, progress=None, tuning=None):
    """Learn BPE merges from counted words.

    words                      WordCounts, or what its constructor takes
    vocab_size                 stop when the vocabulary has this many tokens; special tokens and alphabet are kept even
                               where they alone are more
    min_frequency              stop at pairs with a lower count; 0 acts as 1
    special_tokens             str, first ids in this order
    limit_alphabet             keep at most this many characters, the most frequent
    initial_alphabet           characters to have in any case (of each string the first character)
    continuing_subword_prefix  put before every symbol that does not begin a word
    end_of_word_suffix         put after every symbol that ends a word
    max_token_length           in initial symbols; a merge of three or more of them must stay below it
    symbols                    "characters": words are UTF-8, symbols are characters; "byte_level": words are raw bytes, the
                               symbols the characters that ByteLevel writes for them; "bytes": words and symbols are raw
                               bytes, ids 0 to 255, the vocabulary is bytes
    base_symbol_order          strings; symbols with affixes get their ids in this order, those not listed afterwards as
                               they are met in the words in the order of their bytes
    after                      uint32 array (merges, 3): left, right and made id of merges to make first, which the result
                               begins with. The ids are those of special_tokens, which then hold the whole vocabulary
    threads                    at most so many; None: as many as this process may use, by TOKENIZERS_PARALLELISM and
                               OMP_NUM_THREADS too. The result is the same for any number
    memory_limit               bytes that the pair index may take, roughly, beside the text; less memory costs time
    tuning                     settings of the engine, for tests: they change time and memory only
    progress                   called as progress(stage, current, total) at most every 0.1 s, and at each stage's end; what
                               it raises is raised here

    Returns TrainedBpe. Raises ValueError for words that are not UTF-8 and for settings that exclude each other, OverflowError
    for counts that pass 2**63 - 1 in sum, MemoryError, and KeyboardInterrupt.

    >>> trained = train_bpe({"low": 5, "lower": 2, "newest": 6, "widest": 3}, vocab_size=13)
    >>> trained.merge_strings()
    [('e', 's'), ('es', 't'), ('l', 'o')]
    >>> trained.vocab[-3:]
    ['es', 'est', 'lo']
    """
    cdef Engine engine
    cdef AffixEngine affix_engine
    cdef Symbols table
    cdef Progress clock
    cdef int status, count
    cdef Watch *watch
    cdef bytes prefix
    cdef int64_t most_tokens, i
    if not isinstance(words, WordCounts):
        words = WordCounts(words)
    most_tokens = min(checked_size("vocab_size", vocab_size), INT64_MAX)
    least = min(checked_size("min_frequency", min_frequency), INT64_MAX)
    longest = INT64_MAX if max_token_length is None else min(checked_size("max_token_length", max_token_length), INT64_MAX)
    if limit_alphabet is not None:
        limit_alphabet = checked_size("limit_alphabet", limit_alphabet)
    if memory_limit is not None:
        memory_limit = min(checked_size("memory_limit", memory_limit, minimum=1), INT64_MAX)
    count = thread_count(threads)
    clock = Progress(progress)
    table = Symbols(words, symbols, special_tokens, limit_alphabet, initial_alphabet, continuing_subword_prefix,
                    end_of_word_suffix, base_symbol_order, clock)
    clock.finish("Tokenize words", len(words))
    prefix = (continuing_subword_prefix or "").encode("utf-8")
    cdef bint characters = symbols != "bytes"

    try:
        if engine_init(&engine, count):
            raise MemoryError("out of memory while training")
        engine.watch = watch_of(clock)
        engine.vocab_size = most_tokens
        engine.least = max(least, 1)
        engine.max_length = longest
        engine.prefix = <const uint8_t *>prefix
        engine.prefix_size = len(prefix)
        if memory_limit is not None:
            engine.memory_limit = memory_limit
        if tuning:
            engine.pass_share = tuning.get("pass_share", engine.pass_share)
            engine.batch_limit = tuning.get("batch_limit", engine.batch_limit)
            engine.spare_rows = tuning.get("spare_rows", engine.spare_rows)
            engine.sum_cells = tuning.get("sum_cells", engine.sum_cells)
            engine.serial_places = tuning.get("serial_places", engine.serial_places)
            engine.dense_ids = tuning.get("dense_ids", engine.dense_ids)
            engine.slots.chunk_size = tuning.get("chunk_size", engine.slots.chunk_size)
        add_strings(&engine.strings, table.vocab)
        status = 0
        used = np.array(table.used, dtype=np.int64)
        load_engine(&engine, table, used, clock)
        if after is not None and len(after):
            if continuing_subword_prefix or end_of_word_suffix:
                raise ValueError("a vocabulary with affixes cannot be gone on from")
            replay_merges(&engine, after, clock)
        while True:
            with nogil:
                status = engine_run(&engine, SLICE)
            if status != ENGINE_PAUSED:
                break
            clock.step("Compute merges", engine.merges, vocab_size)
        if status == ENGINE_NO_MEMORY:
            clock.fail("out of memory while training; a memory_limit makes the pair index smaller")
        if status == ENGINE_COLLISION and after is not None:
            raise ValueError("a merge would make a token that the vocabulary has already: it was not trained by merging pairs of "
                             "its own tokens in this order, and cannot be gone on from")
        if status == ENGINE_DONE:
            clock.finish("Compute merges", engine.merges)
            return result(&engine.strings, engine.merge, engine.merges, characters,
                          {"engine": "merge_engine", "passes": engine.passes, "batches": engine.batches, "scans": engine.scans,
                           "listed": engine.listed, "threshold": engine.threshold})
    finally:
        engine_free(&engine)

    watch = watch_of(clock)
    try:
        if affix_init(&affix_engine):
            raise MemoryError("out of memory while training")
        affix_engine.vocab_size = most_tokens
        affix_engine.min_frequency = least
        affix_engine.max_length = longest
        affix_engine.prefix = <const uint8_t *>prefix
        affix_engine.prefix_size = len(prefix)
        add_strings(&affix_engine.strings, table.vocab)
        with nogil:
            status = affix_load(&affix_engine, &table.source, watch)
        if status:
            clock.fail("out of memory while training")
        while True:
            with nogil:
                status = affix_run(&affix_engine, SLICE // 10)
            if status != ENGINE_PAUSED:
                break
            clock.step("Compute merges", affix_engine.merges, vocab_size)
        if status == ENGINE_NO_MEMORY:
            raise MemoryError("out of memory while training")
        clock.finish("Compute merges", affix_engine.merges)
        return result(&affix_engine.strings, affix_engine.merge, affix_engine.merges, characters,
                      {"engine": "affix_engine", "below_zero": affix_engine.below_zero})
    finally:
        affix_free(&affix_engine)


cdef int add_strings(TokenStrings *strings, list vocab) except -1:
    cdef bytes token
    for token in vocab:
        if strings_append(strings, <const uint8_t *>token, len(token)) < 0:
            raise MemoryError("out of memory while training")
    return 0


cdef int load_engine(Engine *engine, Symbols table, used, Progress clock) except -1:
    cdef const int64_t[::1] ids = used
    cdef int status
    with nogil:
        status = engine_load(engine, &table.source, &ids[0] if ids.shape[0] else NULL, ids.shape[0])
    if status:
        clock.fail("out of memory while laying out the words")
    return 0


cdef int replay_merges(Engine *engine, after, Progress clock) except -1:
    rows = np.ascontiguousarray(after, dtype=np.uint32)
    cdef const uint32_t[:, ::1] merge = rows
    cdef int64_t n = merge.shape[0]
    cdef int status
    if merge.shape[1] != 3 or rows.max() >= engine.strings.size:
        raise ValueError("merges to go on from need three ids each, of the vocabulary")
    if len(np.unique(rows[:, 0].astype(np.uint64) << np.uint64(32) | rows[:, 1])) < n:
        raise ValueError("a pair is merged twice: this vocabulary cannot be gone on from")
    with nogil:
        status = replay(engine, &merge[0, 0], n)
    if status:
        clock.fail("out of memory while making the earlier merges")
    return 0


cdef object result(const TokenStrings *strings, const uint32_t *merge, int64_t merges, bint characters, dict statistics):
    cdef int64_t i
    cdef list vocab = []
    cdef bytes token
    for i in range(strings.size):
        token = (<char *>strings.text)[strings.offset[i]:strings.offset[i + 1]]
        vocab.append(token.decode("utf-8") if characters else token)
    table = np.empty((merges, 3), dtype=np.uint32)
    cdef uint32_t[:, ::1] view = table
    if merges:
        memcpy(&view[0, 0], merge, <size_t>merges * 3 * sizeof(uint32_t))
    keys = table[:, 0].astype(np.uint64) << np.uint64(32) | table[:, 1]
    if len(np.unique(keys)) < merges:
        # A pair that was merged twice keeps its last rank: the reference collects merges into a map by pair.
        last = {pair: rank for rank, pair in enumerate(keys.tolist())}
        table = table[sorted(last.values())]
    return TrainedBpe(vocab, np.ascontiguousarray(table[:, :2]), np.ascontiguousarray(table[:, 2]), statistics)
