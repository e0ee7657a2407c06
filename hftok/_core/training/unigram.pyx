"""Training of a Unigram model: seeds from repeated substrings, expectation maximization, pruning.

What it does: the reference's UnigramTrainer (do_train in models/unigram/trainer.rs) step by step. Seeds are all characters and
the best repeated substrings of the unique words, each word counted once (make_seed_sentence_pieces); E-steps with the words'
counts and M-steps with digamma (run_e_step, run_m_step); pruning by the loss that a piece's second best segmentation would
bring (prune_sentence_pieces); then the required characters and the best pieces make the vocabulary (finalize).

The reference adds up floating point numbers in the order of a hash map and of its threads, and gives characters that fell out of
the model their penalties in hash order too, so two of its runs differ in the last places of the scores, and in which
such character gets which penalty. Here words are sorted, sums are made in fixed groups, and characters come in code point
order: the result is the same in every run and for any number of threads.

On purpose different: counts have 64 bits (there: 32, wrapping); ValueError where the reference panics on a NaN or never ends.
Segmenting is left to lattice, substrings to substrings.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from hftok._core.parallel cimport parallel_for
from hftok._core.text cimport utf8_decode
from hftok._core.training.lattice cimport (
    Lattice, PieceModel, add_best, add_expected, lattice_free, second_best, sort_pieces, trie_build, trie_free)
from hftok._core.training.progress cimport Progress, Watch, stopped, watch_of, watched_for
from hftok._core.training.slots cimport LOOK
from hftok._core.training.substrings cimport SubstringList, keep_best, repeated_substrings
from hftok._core.training.symbols cimport valid_size
from hftok._core.training.words cimport WordCounts, byte_order

from hftok._core.training.bpe import checked_size, thread_count

cdef enum:
    GROUPS = 8                  # sums of the E-step are made in at most so many groups of words
    PIECES = 512                # pieces in a unit of pruning

cdef double UNKNOWN_PENALTY = 10.0


class TrainedUnigram:
    """What a Unigram training gives.

    vocab   list of (str, float), token and score, in id order; special tokens have score 0
    unk_id  the id of the unknown token, or None
    """

    __slots__ = ("unk_id", "vocab")

    def __init__(self, vocab, unk_id):
        self.vocab = vocab
        self.unk_id = unk_id

    def __repr__(self):
        return f"TrainedUnigram(vocab: {len(self.vocab)} tokens)"


cdef double digamma(double x) noexcept nogil:
    """The reference's approximation, term by term."""
    cdef double result = 0.0
    cdef double xx, xx2, xx4
    while x < 7.0:
        result -= 1.0 / x
        x += 1.0
    x -= 0.5
    xx = 1.0 / x
    xx2 = xx * xx
    xx4 = xx2 * xx2
    result += (log(x) + (1.0 / 24.0) * xx2 - 7.0 / 960.0 * xx4 + (31.0 / 8064.0) * xx4 * xx2
               - (127.0 / 30720.0) * xx4 * xx4)
    return result


cdef struct Work:
    const PieceModel *model
    Lattice *lattice            # one per thread
    const uint32_t *text        # symbols of all words, a boundary after each
    const int64_t *word         # where each word begins
    const double *count
    const int64_t *group        # the first word of each group
    int64_t round               # each group is gone through in so many rounds, that one may stop between them
    int64_t rounds
    double *sum                 # groups x pieces
    int64_t pieces
    # Pruning
    const uint32_t *piece_text
    const int64_t *piece_start
    const double *frequency
    double total_frequency
    double total_count
    double *loss                # by piece; not a number: it has no other segmentation
    uint8_t *dropped


cdef inline int64_t first_word(const Work *w, int64_t g, int64_t round) noexcept nogil:
    """Where a round of a group begins."""
    return w.group[g] + (w.group[g + 1] - w.group[g]) * round // w.rounds


cdef void expect_group(void *ctx, int64_t g, int thread) noexcept nogil:
    cdef Work *w = <Work *>ctx
    cdef int64_t i
    for i in range(first_word(w, g, w.round), first_word(w, g, w.round + 1)):
        add_expected(w.model, &w.lattice[thread], w.text + w.word[i], w.word[i + 1] - w.word[i] - 1, w.count[i],
                     w.sum + g * w.pieces)


cdef void segment_group(void *ctx, int64_t g, int thread) noexcept nogil:
    cdef Work *w = <Work *>ctx
    cdef int64_t i
    for i in range(first_word(w, g, w.round), first_word(w, g, w.round + 1)):
        add_best(w.model, &w.lattice[thread], w.text + w.word[i], w.word[i + 1] - w.word[i] - 1, w.count[i],
                 w.sum + g * w.pieces)


cdef void weigh_pieces(void *ctx, int64_t unit, int thread) noexcept nogil:
    """Loss in likelihood if a piece were replaced by its second best segmentation."""
    cdef Work *w = <Work *>ctx
    cdef Lattice *l = &w.lattice[thread]
    cdef int64_t id, n, i
    cdef int64_t size = 0
    cdef int kind
    cdef int32_t *path
    cdef double f, logsum, logsum_other, score_other
    path = <int32_t *>malloc(<size_t>w.model.longest * sizeof(int32_t))
    if path == NULL:
        l.failed = 1
        return
    logsum = log(w.total_frequency)
    for id in range(max(unit * PIECES, <int64_t>1), min((unit + 1) * PIECES, w.pieces)):
        n = w.piece_start[id + 1] - w.piece_start[id]
        kind = second_best(w.model, l, w.piece_text + w.piece_start[id], n, path, &size)
        f = w.frequency[id]
        w.loss[id] = 0.0
        w.dropped[id] = 0
        if kind < 0:
            break
        if kind != 2 or size == 0:
            # Nothing to replace it with: it stays, unless it is itself not the best segmentation and never used.
            w.loss[id] = NAN
            w.dropped[id] = kind == 1 and f == 0.0
        elif f == 0.0 or isnan(f):
            w.dropped[id] = 1
        else:
            # All its occurrences go to the other pieces. The factor is the number of all pieces less one, not of those that
            # take its place: `alternatives.len()` where SentencePiece has that of alternatives[id].
            logsum_other = log(w.total_frequency + f * <double>(w.pieces - 1))
            score_other = 0.0
            for i in range(size):
                score_other += log(w.frequency[path[i]] + f) - logsum_other
            w.loss[id] = f / w.total_count * (log(f) - logsum - score_other)
            if isnan(w.loss[id]):
                l.failed = 2
                break
    free(path)


cdef class Trainer:
    """One training: texts, seeds and the pieces that are left."""
    cdef int threads
    cdef Progress clock
    cdef PieceModel model
    cdef Lattice *lattice
    cdef object text                # uint32: symbols; 0 is the boundary after each word
    cdef object starts              # int64 (words + 1,)
    cdef object counts              # float64 (words,)
    cdef object groups              # int64
    cdef object code_points         # uint32 by symbol
    cdef object seed_text           # uint32: symbols of all seeds
    cdef object seed_starts         # int64 (seeds + 1,)
    cdef object sorted_seeds        # int64 (seeds,): by their symbols
    cdef object nodes               # uint32 (seeds,): trie node; 0 for seeds that were dropped before the trie was made
    cdef int64_t trie_pieces        # how many pieces the trie was made of
    cdef object alive               # int64 (pieces,): seed of each piece id
    cdef object scores              # float64 (pieces,)
    cdef object piece_text          # uint32: symbols of the pieces, made for pruning
    cdef object piece_starts
    cdef object probabilities
    cdef readonly object required   # code points that the vocabulary must hold, ascending

    def __cinit__(self):
        self.lattice = NULL
        memset(&self.model, 0, sizeof(PieceModel))

    def __dealloc__(self):
        cdef int t
        if self.lattice != NULL:
            for t in range(self.threads):
                lattice_free(&self.lattice[t])
        free(self.lattice)
        trie_free(&self.model.trie)

    def __init__(self, WordCounts words not None, initial_alphabet, int64_t seed_size, int64_t longest, int threads,
                 Progress clock not None):
        self.threads = threads
        self.clock = clock
        self.lattice = <Lattice *>calloc(<size_t>threads, sizeof(Lattice))
        if self.lattice == NULL:
            raise MemoryError("out of memory while training")
        weights = self.load_words(words, initial_alphabet)
        self.make_seeds(weights, seed_size, longest)

    cdef object load_words(self, WordCounts words, initial_alphabet):
        """Words in byte order as symbols; returns the weighted count of every symbol."""
        cdef int64_t n = words.size
        cdef int64_t i, at, total, end
        cdef int length = 1
        order = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] order_view = order
        cdef uint64_t *weight = NULL
        cdef uint32_t *symbol = NULL
        cdef uint32_t c
        cdef uint32_t[::1] text_view
        cdef int64_t[::1] starts_view
        cdef double[::1] counts_view
        cdef Watch *watch = watch_of(self.clock)
        cdef int64_t looked = 0
        if n and byte_order(words, &order_view[0], watch):
            self.clock.fail("out of memory while sorting words")
        total = 0
        sizes = np.empty(n + 1, dtype=np.int64)
        starts_view = sizes
        counts = np.empty(n, dtype=np.float64)
        counts_view = counts
        cdef int64_t kept = 0
        cdef int64_t bad = -1
        try:
            weight = <uint64_t *>calloc(0x110000, sizeof(uint64_t))
            symbol = <uint32_t *>calloc(0x110000, sizeof(uint32_t))
            if weight == NULL or symbol == NULL:
                raise MemoryError("out of memory while counting characters")
            with nogil:
                for i in range(n):
                    at = words.offset[order_view[i]]
                    end = words.offset[order_view[i] + 1]
                    if words.count[order_view[i]] == 0:
                        continue
                    starts_view[kept] = total
                    counts_view[kept] = <double>words.count[order_view[i]]
                    order_view[kept] = order_view[i]
                    kept += 1
                    while at < end:
                        if valid_size(words.text + at, end - at) == 0:
                            bad = i
                            break
                        c = utf8_decode(words.text + at, &length)
                        if (words.count[order_view[i]] > <uint64_t>INT64_MAX
                                or weight[c] > <uint64_t>INT64_MAX - words.count[order_view[i]]):
                            bad = -2
                            break
                        weight[c] += words.count[order_view[i]]
                        at += length
                        total += 1
                    total += 1
                    if total - looked >= LOOK and bad == -1:
                        looked = total
                        if stopped(watch):
                            bad = -3
                    if bad != -1:
                        break
                starts_view[kept] = total
            if bad == -3:
                self.clock.fail("")
            if bad == -2:
                raise OverflowError("a character's count passes 2**63 - 1; scale the word counts down")
            if bad >= 0:
                raise ValueError("a word is not valid UTF-8")
            if total >= 0xFFFFFFF0:
                raise ValueError(f"the unique words have {total} characters together; 2**32 are the most, drop rare words")
            seen = [i for i in range(0x110000) if weight[i]]
            # NUL is the boundary of the seed search and never a piece, but a character of its word.
            pieces = [c for c in seen if c]
            weights = np.array([0, *[weight[c] for c in pieces]], dtype=np.float64)
            for i, code_point in enumerate(seen if 0 not in seen else [*pieces, 0]):
                symbol[<uint32_t>code_point] = <uint32_t>i + 1
            self.code_points = np.array([0, *pieces, *([0] if 0 in seen else [])], dtype=np.uint32)
            self.required = sorted({*seen, *(ord(text[0]) for text in initial_alphabet if text)})
            text = np.empty(total + 1, dtype=np.uint32)
            text_view = text
            with nogil:
                total = looked = 0
                for i in range(kept):
                    if total - looked >= LOOK:
                        looked = total
                        if stopped(watch):
                            bad = -3
                            break
                    at = words.offset[order_view[i]]
                    end = words.offset[order_view[i] + 1]
                    while at < end:
                        text_view[total] = symbol[utf8_decode(words.text + at, &length)]
                        at += length
                        total += 1
                    text_view[total] = 0
                    total += 1
            if bad == -3:
                self.clock.fail("")
        finally:
            free(weight)
            free(symbol)
        self.text = text[:total]
        self.starts = sizes[:kept + 1].copy()
        self.counts = counts[:kept].copy()
        # Groups of words with about as many symbols each: as many as the text deserves, whatever the number of threads.
        groups = max(1, min(GROUPS, total // 4096))
        self.groups = np.concatenate(
            ([0], np.searchsorted(self.starts, [total * g // groups for g in range(1, groups)]), [kept])).astype(np.int64)
        return weights

    cdef object make_seeds(self, weights, int64_t seed_size, int64_t longest):
        """The unknown piece, all characters by falling (count, character), then substrings by falling (count * size, string)."""
        cdef SubstringList found
        cdef int64_t n = len(self.text)
        cdef int64_t i, k, at
        cdef int status = 0
        cdef uint32_t symbols = <uint32_t>len(weights)
        text = self.text
        if len(self.code_points) > symbols:
            text = np.where(text == symbols, np.uint32(0), text)      # NUL: a boundary here
        cdef const uint32_t[::1] view = text
        cdef int64_t most = max(<int64_t>1, seed_size - (<int64_t>symbols - 1))
        cdef int threads = self.threads
        cdef Watch *watch = watch_of(self.clock)
        found.item = NULL
        found.size = found.capacity = 0
        try:
            with nogil:
                if n:
                    status = repeated_substrings(&view[0], n, symbols, longest, threads, &found, watch)
                    if status == 0:
                        status = keep_best(&found, &view[0], most, watch)
            if status:
                self.clock.fail("out of memory while looking for repeated substrings")
            characters = sorted(range(1, symbols), key=lambda s: (weights[s], s), reverse=True)
            # The unknown piece is spelled <UNK>, which the reference puts into its trie as any other.
            numbers = {c: s for s, c in enumerate(self.code_points[:symbols].tolist())}
            unknown = [numbers.get(ord(c), 0) for c in "<UNK>"]
            unknown = [] if 0 in unknown else unknown
            starts = np.zeros(1 + len(characters) + found.size + 1, dtype=np.int64)
            values = np.empty(1 + len(characters) + found.size, dtype=np.float64)
            starts[1] = len(unknown)
            starts[2:2 + len(characters)] = len(unknown) + 1 + np.arange(len(characters))
            values[0] = 0.0
            values[1:1 + len(characters)] = weights[characters] if characters else []
            k = 1 + len(characters)
            at = starts[k]
            for i in range(found.size):
                at += found.item[i].size
            seed_text = np.empty(at + 1, dtype=np.uint32)
            seed_text[:len(unknown)] = unknown
            seed_text[len(unknown):len(unknown) + len(characters)] = characters
            seeds = seed_text
            fill_substrings(&found, view, seeds, starts, values, k)
        finally:
            free(found.item)
        # to_log_prob
        total = sequential_sum(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = natural_logs(values)
            scores -= natural_logs(np.array([total]))[0]
        scores[0] = np.nan
        self.seed_text = seed_text
        self.seed_starts = starts
        self.scores = scores
        self.alive = np.arange(len(values), dtype=np.int64)
        self.model.longest = max(1, longest, len(unknown))
        order = np.empty(len(values), dtype=np.int64)
        cdef int64_t[::1] order_view = order
        cdef const uint32_t[::1] seeds_view = seed_text
        cdef const int64_t[::1] starts_view = starts
        cdef int64_t count = len(values)
        with nogil:
            status = sort_pieces(&seeds_view[0], &starts_view[0], &order_view[0], count, watch)
        if status:
            self.clock.fail("out of memory while sorting seeds")
        self.sorted_seeds = order
        self.trie_pieces = 0

    cdef object build_trie(self):
        """Make the trie of the pieces that are left."""
        kept = np.zeros(len(self.sorted_seeds), dtype=bool)
        kept[self.alive] = True
        order = self.sorted_seeds[kept[self.sorted_seeds]]
        places = np.empty(len(order), dtype=np.uint32)
        cdef const uint32_t[::1] text = self.seed_text
        cdef const int64_t[::1] starts = self.seed_starts
        cdef const int64_t[::1] order_view = order
        cdef uint32_t[::1] view = places
        cdef int64_t n = len(order)
        cdef uint32_t symbols = <uint32_t>len(self.code_points)
        cdef int failed
        with nogil:
            failed = trie_build(&self.model.trie, symbols, &text[0], &starts[0], &order_view[0], n, &view[0])
        if failed:
            raise MemoryError("out of memory while building the piece trie")
        self.nodes = np.zeros(len(self.sorted_seeds), dtype=np.uint32)
        self.nodes[order] = places
        self.trie_pieces = n

    cdef object use_pieces(self):
        """Make the pieces of now what the trie finds. Of two pieces with one string (a seed <UNK>) the later one is found."""
        cdef int64_t n = len(self.alive)
        if 10 * n < 9 * self.trie_pieces or self.trie_pieces == 0:
            self.build_trie()
        cdef const uint32_t[::1] nodes = self.nodes
        cdef const int64_t[::1] alive = self.alive
        cdef const double[::1] scores = self.scores
        cdef int64_t i
        cdef double lowest = INFINITY
        self.probabilities = np.empty(n, dtype=np.float64)
        cdef double[::1] probabilities = self.probabilities
        if n > 0x7FFFFFFF:
            raise ValueError("more than 2**31 - 1 pieces; lower seed_size")
        with nogil:
            for i in range(self.model.trie.nodes):
                self.model.trie.node[i].id = -1
            for i in range(n):
                if nodes[alive[i]]:
                    self.model.trie.node[nodes[alive[i]]].id = <int32_t>i
                probabilities[i] = exp(scores[i])
                if scores[i] < lowest:
                    lowest = scores[i]
        self.model.score = &scores[0]
        self.model.probability = &probabilities[0]
        self.model.unk_score = lowest - UNKNOWN_PENALTY
        self.model.unk_probability = exp(self.model.unk_score)
        return lowest

    cdef object run(self, bint best):
        """Sums over all words, by piece: of expected counts, or of counts in the best segmentation."""
        cdef Work w
        cdef const uint32_t[::1] text = self.text
        cdef const int64_t[::1] starts = self.starts
        cdef const double[::1] counts = self.counts
        cdef const int64_t[::1] groups = self.groups
        cdef int64_t parts = len(self.groups) - 1
        cdef int64_t n = len(self.alive)
        cdef int64_t g, i
        cdef Watch *watch = watch_of(self.clock)
        sums = np.zeros((parts, n), dtype=np.float64)
        cdef double[:, ::1] view = sums
        if len(self.counts) == 0:
            return sums[0]
        memset(&w, 0, sizeof(Work))
        w.model = &self.model
        w.lattice = self.lattice
        w.text = &text[0]
        w.word = &starts[0]
        w.count = &counts[0]
        w.group = &groups[0]
        w.sum = &view[0, 0]
        w.pieces = n
        # A symbol takes about a tenth of a microsecond, or a few.
        w.rounds = 1 + len(self.text) // (LOOK // 4)
        with nogil:
            for w.round in range(w.rounds):
                parallel_for(segment_group if best else expect_group, &w, parts, self.threads)
                if stopped(watch):
                    break
            for g in range(1, parts):
                for i in range(n):
                    view[0, i] += view[g, i]
        self.check_lattices()
        return sums[0]

    cdef object check_lattices(self):
        cdef int t
        if self.clock.watch.stop:
            self.clock.fail("")
        for t in range(self.threads):
            if self.lattice[t].failed == 1:
                raise MemoryError("out of memory while segmenting words")
            if self.lattice[t].failed:
                raise ValueError("the likelihood of a word is not a number; does a word hold the text <UNK>, or is it far too "
                                 "long? Split words with a pre-tokenizer")

    cdef object em_step(self):
        """One E-step and one M-step."""
        expected = self.run(False)
        cdef double[::1] e = expected
        cdef const int64_t[::1] alive = self.alive
        cdef int64_t n = len(self.alive)
        cdef int64_t i
        cdef int64_t kept = 1
        cdef double sum = 0.0
        cdef double logsum
        next_alive = np.empty(n, dtype=np.int64)
        scores = np.empty(n, dtype=np.float64)
        cdef int64_t[::1] a = next_alive
        cdef double[::1] s = scores
        a[0] = 0
        s[0] = NAN
        with nogil:
            for i in range(1, n):
                if e[i] < 0.5:
                    continue
                a[kept] = alive[i]
                s[kept] = e[i]
                sum += e[i]
                kept += 1
            logsum = digamma(sum)
            for i in range(kept):
                s[i] = digamma(s[i]) - logsum
        self.alive = next_alive[:kept].copy()
        self.scores = scores[:kept].copy()
        return self.use_pieces()

    cdef object prune(self, int64_t wanted, double factor):
        """Drop the pieces whose loss is least."""
        cdef Work w
        cdef int64_t n = len(self.alive)
        cdef int64_t i
        cdef Watch *watch = watch_of(self.clock)
        frequency = self.run(True)
        self.gather_piece_text()
        loss = np.zeros(n, dtype=np.float64)
        dropped = np.zeros(n, dtype=np.uint8)
        cdef const double[::1] f = frequency
        cdef double[::1] loss_view = loss
        cdef uint8_t[::1] dropped_view = dropped
        cdef const uint32_t[::1] text = self.piece_text
        cdef const int64_t[::1] starts = self.piece_starts
        memset(&w, 0, sizeof(Work))
        w.model = &self.model
        w.lattice = self.lattice
        w.pieces = n
        w.piece_text = &text[0]
        w.piece_start = &starts[0]
        w.frequency = &f[0]
        w.loss = &loss_view[0]
        w.dropped = &dropped_view[0]
        w.total_frequency = sequential_sum(frequency)
        w.total_count = sequential_sum(self.counts)
        with nogil:
            watched_for(weigh_pieces, &w, (n + PIECES - 1) // PIECES, self.threads, watch)
        self.check_lattices()
        size = max(wanted, <int64_t>(<double>n * factor))
        fixed = np.flatnonzero(np.isnan(loss) & (dropped == 0))
        candidates = np.flatnonzero(~np.isnan(loss) & (dropped == 0))
        # The unknown piece is the first in any case.
        fixed = np.concatenate(([0], fixed[fixed > 0]))
        candidates = candidates[candidates > 0]
        candidates = candidates[np.argsort(-loss[candidates], kind="stable")]
        if len(fixed) <= size:                   # `new_pieces.len() == pruned_size`: never met where there are more already
            candidates = candidates[:size - len(fixed)]
        kept = np.concatenate((fixed, candidates))
        self.alive = self.alive[kept]
        self.scores = self.scores[kept]
        self.use_pieces()

    cdef object gather_piece_text(self):
        cdef const int64_t[::1] alive = self.alive
        cdef const int64_t[::1] from_ = self.seed_starts
        cdef const uint32_t[::1] seeds = self.seed_text
        cdef int64_t n = len(self.alive)
        cdef int64_t i, k, at = 0
        self.piece_starts = np.zeros(n + 1, dtype=np.int64)
        cdef int64_t[::1] starts = self.piece_starts
        for i in range(n):
            starts[i + 1] = starts[i] + from_[alive[i] + 1] - from_[alive[i]]
        self.piece_text = np.empty(starts[n] + 1, dtype=np.uint32)
        cdef uint32_t[::1] text = self.piece_text
        for i in range(n):
            for k in range(from_[alive[i]], from_[alive[i] + 1]):
                text[at] = seeds[k]
                at += 1

    cdef str piece(self, int64_t id):
        if id == 0:
            return "<UNK>"
        seed = self.alive[id]
        return "".join(map(chr, self.code_points[self.seed_text[self.seed_starts[seed]:self.seed_starts[seed + 1]]].tolist()))

    cdef object finalize(self, int64_t vocab_size, list special_tokens, unk_token):
        cdef int64_t i
        cdef double lowest = self.use_pieces()
        cdef double penalty = 0.0
        scores = self.scores.tolist()
        single = {}
        pieces = []
        starts, alive = self.seed_starts, self.alive
        sizes = (starts[alive + 1] - starts[alive]).tolist()
        for i in range(1, len(scores)):
            if sizes[i] == 1:
                single[self.piece(i)] = scores[i]
        inserted = {"<UNK>"}
        for code_point in self.required:
            char = chr(code_point)
            inserted.add(char)
            if char in single:
                pieces.append((char, single[char]))
            else:
                pieces.append((char, lowest + penalty))
                penalty += 0.0001
        unk_id = None
        add_unk = False
        if unk_token is not None:
            add_unk = unk_token not in special_tokens
            unk_id = 0 if add_unk else special_tokens.index(unk_token)
        # Where the special tokens alone are more than the vocabulary, the reference's subtraction wraps around: no limit.
        room = vocab_size - len(special_tokens) - add_unk
        for i in range(1, len(scores)):
            token = self.piece(i)
            if token in inserted:
                continue
            inserted.add(token)
            pieces.append((token, scores[i]))
            if len(pieces) == room:
                break
        pieces.sort(key=lambda piece: -piece[1])
        head = [(token, 0.0) for token in special_tokens]
        if add_unk:
            head.insert(0, (unk_token, 0.0))
        return TrainedUnigram(head + pieces, unk_id)


cdef object fill_substrings(SubstringList *found, const uint32_t[::1] text, uint32_t[::1] seeds, int64_t[::1] starts,
                            double[::1] values, int64_t k):
    cdef int64_t i, j
    cdef int64_t at = starts[k]
    for i in range(found.size):
        for j in range(found.item[i].size):
            seeds[at] = text[found.item[i].start + j]
            at += 1
        starts[k + i + 1] = at
        values[k + i] = <double>found.item[i].score


cdef double sequential_sum(const double[::1] v):
    """From first to last, as the reference adds; NumPy adds pairwise."""
    cdef double sum = 0.0
    cdef int64_t i
    for i in range(v.shape[0]):
        sum += v[i]
    return sum


cdef object natural_logs(const double[::1] v):
    """C's log of each: NumPy's own may differ in the last place."""
    result = np.empty(v.shape[0], dtype=np.float64)
    cdef double[::1] r = result
    cdef int64_t i
    for i in range(v.shape[0]):
        r[i] = log(v[i])
    return result


def train_unigram(words, *, vocab_size=8000, special_tokens=(), initial_alphabet=(), unk_token=None, shrinking_factor=0.75,
                  n_sub_iterations=2, max_piece_length=16, seed_size=1_000_000, threads=None, progress=None):
    """Learn a Unigram model from counted words.

    words             WordCounts, or what its constructor takes
    vocab_size        tokens in all, special ones included
    special_tokens    str, first ids in this order
    initial_alphabet  characters to have in any case (of each string the first character)
    unk_token         the unknown token; takes id 0 where it is not among the special tokens
    shrinking_factor  how many of the pieces a pruning leaves, 0 to 1
    n_sub_iterations  EM iterations between prunings
    max_piece_length  in characters
    seed_size         pieces to begin with, at most
    threads           as in bpe.train_bpe; the result is the same for any number
    progress          called as progress(stage, current, total), as bpe.train_bpe does

    Returns TrainedUnigram. Raises Exception where the vocabulary is too small for the alphabet (the reference's message),
    ValueError for words that are not UTF-8 and where no vocabulary of this size can be reached, MemoryError, KeyboardInterrupt.

    >>> trained = train_unigram({"low": 5, "lower": 2, "lowest": 3, "newest": 6}, vocab_size=12, unk_token="<unk>")
    >>> trained.vocab[trained.unk_id], len(trained.vocab)
    (('<unk>', 0.0), 12)
    """
    cdef Trainer trainer
    cdef Progress clock
    cdef int64_t before, still
    if not isinstance(words, WordCounts):
        words = WordCounts(words)
    special_tokens = list(special_tokens)
    size = min(checked_size("vocab_size", vocab_size, most=(1 << 32) - 1), 1 << 40)
    rounds = checked_size("n_sub_iterations", n_sub_iterations, most=(1 << 32) - 1)
    longest = min(checked_size("max_piece_length", max_piece_length), 1 << 31)
    seeds = min(checked_size("seed_size", seed_size), 1 << 40)
    count = thread_count(threads)
    factor = float(shrinking_factor)
    clock = Progress(progress)
    trainer = Trainer(words, initial_alphabet, seeds, longest, count, clock)
    clock.finish("Suffix array seeds", len(words))
    if len(trainer.required) > size:
        raise Exception("The vocabulary is not large enough to contain all chars")
    wanted = size * 11 // 10
    trainer.use_pieces()
    pieces = len(trainer.alive)
    loops = 1
    if 0.0 < factor < 1.0 and wanted:
        loops = max(int((np.log(wanted) - np.log(pieces)) / np.log(factor)) + 1, 1)
    updates = loops * max(rounds, 1)
    done = 0
    still = 0
    while True:
        for _ in range(rounds):
            trainer.em_step()
            done += 1
            clock.step("EM training", min(done, updates), updates)
        if len(trainer.alive) <= wanted:
            break
        before = len(trainer.alive)
        trainer.prune(wanted, factor)
        clock.step("EM training", min(done, updates), updates)
        # The reference would go on for ever.
        still = still + 1 if len(trainer.alive) >= before else 0
        if still == 50 or (still and rounds == 0):
            raise ValueError(f"{before} pieces are left and none can be dropped, but vocab_size={vocab_size} allows {wanted}; "
                             "raise vocab_size, or lower shrinking_factor below 1")
    clock.finish("EM training", updates)
    return trainer.finalize(size, special_tokens, unk_token)
