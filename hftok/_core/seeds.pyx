"""Which tokens of a BPE vocabulary are what their own text is encoded to, without encoding each of them.

Half of the different words of a text are tokens. A worker that meets one for the first time need not merge it if it is known
that the merges, left alone with its text, end in it; that is true of most tokens, but not of all.

Rule. Merging takes the lowest rank first, then the leftmost place (reference: models/bpe/word.rs `merge_all`). Token t is made
from its own text by line k of the list, (l, r) -> t, if l and r are so made, each by a line before k, and no merge crosses
from the part that becomes l to the part that becomes r before line k is reached. What stands at the seam at any time is a
piece at the right edge of l's tree and one at the left edge of r's. Going back in time from (l, r), the piece that was made
last falls apart, and the pair that then stands at the seam must not merge earlier than the piece was made: for the left
piece, at a lower rank; for the right piece, at the same rank neither, since the seam's pair would be the one further to the
left. (Two pieces made by the same line: the right one is the later.) Down to two base symbols, the seam has held.

The proof is not found for tokens whose parts come later in the list than they do; these are left to be encoded, as is all
where ids and strings do not correspond one to one (`scannable` in models/merges). A model that looks for whole words in its
vocabulary (ignore_merges) needs no proof.
"""
from array import array

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from hftok._core.chunk_cache cimport hash_key_fn, ht_key
from hftok._core.models.bpe cimport BPEModel, raw_bytes
from hftok._core.models.merges cimport MergeTable, PairTable, pair_rank, prefetch, prefetch_pair
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.stored cimport Block, demand, view
from hftok._core.text cimport utf8_len

cdef extern from "memory.h" nogil:
    void *ht_aligned(size_t size)
    void ht_aligned_free(void *p)
    void ht_huge(void *p, size_t size)


cdef enum:
    AHEAD = 16               # tokens whose places in memory are asked for at once


cdef inline bint seam_holds(const PairTable *t, const int32_t *rank_of, const uint32_t *part, uint32_t x, uint32_t y) noexcept nogil:
    cdef int32_t made
    while True:
        if rank_of[x] > rank_of[y]:
            made = rank_of[x]
            x = part[2 * made + 1]
            if pair_rank(t, x, y) < <uint32_t>made:
                return False
        else:
            made = rank_of[y]
            if made < 0:
                return True
            y = part[2 * made]
            if pair_rank(t, x, y) <= <uint32_t>made:
                return False


cdef bint provable(BPEModel model) noexcept:
    cdef const PairTable *t = &model.merge_table.table
    return (t.scannable and model.map.unique_ids and not model.merge_table.prefix_length and t.ranks < 0x7FFFFFF0
            and model.map.max_id < 4 * model.map.table.size + 1024)


cdef inline bint is_sum(const VocabTable *v, int64_t whole, int64_t left, int64_t right) noexcept nogil:
    """Whether a token's string is those of two others, one after the other."""
    cdef int64_t n = v.offsets[left + 1] - v.offsets[left], m = v.offsets[right + 1] - v.offsets[right]
    cdef const uint8_t *text = v.text.data + v.offsets[whole]
    return (v.offsets[whole + 1] - v.offsets[whole] == n + m
            and memcmp(text, v.text.data + v.offsets[left], <size_t>n) == 0
            and memcmp(text + n, v.text.data + v.offsets[right], <size_t>m) == 0)


cdef inline void fetch_ahead(MergeTable merges, const VocabTable *v, const int32_t *rank_of, const uint32_t *entry,
                             int64_t rank) noexcept nogil:
    """Ask for what the lines behind line `rank` will read: each step needs what the one before it has brought."""
    cdef const PairTable *t = &merges.table
    cdef const uint32_t *p
    cdef uint32_t left, right
    if rank + 4 * AHEAD >= t.ranks:
        return
    p = merges.parts + 2 * (rank + 3 * AHEAD)
    prefetch(v.ids + p[0])
    prefetch(v.ids + p[1])
    prefetch(v.offsets + p[0])
    prefetch(v.offsets + p[1])
    prefetch(entry + t.merged[rank + 3 * AHEAD])
    p = merges.parts + 2 * (rank + 2 * AHEAD)
    left = v.ids[p[0]]
    right = v.ids[p[1]]
    prefetch(rank_of + left)
    prefetch(rank_of + right)
    prefetch_pair(t, left, right)
    prefetch(v.offsets + entry[t.merged[rank + 2 * AHEAD]])
    prefetch(v.text.data + v.offsets[p[0]])
    prefetch(v.text.data + v.offsets[p[1]])
    prefetch(v.text.data + v.offsets[entry[t.merged[rank + AHEAD]]])


cdef int32_t *ranks_of_making(BPEModel model) except NULL:
    """By id, for a model that is `provable`; the caller frees them."""
    cdef MergeTable merges = model.merge_table
    cdef const PairTable *t = &merges.table
    cdef const VocabTable *v = &model.map.table
    cdef int64_t i, n = model.map.max_id + 1, rank, a, b, c
    cdef int32_t *rank_of
    cdef uint32_t *part              # ids of the left and right part of each rank
    cdef uint32_t *entry             # place of each id
    cdef uint32_t left, right
    rank_of = <int32_t *>malloc(<size_t>n * 4)
    part = <uint32_t *>malloc(<size_t>(t.ranks + 1) * 8)
    entry = <uint32_t *>malloc(<size_t>n * 4)
    if rank_of == NULL or part == NULL or entry == NULL:
        free(rank_of)
        free(part)
        free(entry)
        raise MemoryError("out of memory while looking through the vocabulary")
    with nogil:
        for i in range(n):
            rank_of[i] = UNPROVED
        for i in range(v.size):
            entry[v.ids[i]] = <uint32_t>i
            a = v.offsets[i]
            # Words begin as characters: ByteLevel's, or any.
            if v.offsets[i + 1] > a and utf8_len(v.text.data[a]) == v.offsets[i + 1] - a:
                rank_of[v.ids[i]] = BASE
        for rank in range(t.ranks):
            fetch_ahead(merges, v, rank_of, entry, rank)
            a = merges.parts[2 * rank]
            b = merges.parts[2 * rank + 1]
            left = part[2 * rank] = v.ids[a]
            right = part[2 * rank + 1] = v.ids[b]
            if rank_of[t.merged[rank]] != UNPROVED:
                continue
            c = entry[t.merged[rank]]
            if (rank_of[left] != UNPROVED and rank_of[right] != UNPROVED
                    and pair_rank(t, left, right) == <uint32_t>rank          # else a later line has the pair
                    and is_sum(v, c, a, b) and seam_holds(t, rank_of, part, left, right)):
                rank_of[t.merged[rank]] = <int32_t>rank
    free(part)
    free(entry)
    return rank_of


cdef int64_t chunk_text(const uint8_t *token, int64_t n, bint marks, uint8_t *out) noexcept nogil:
    """The chunk (at most LONG_KEY bytes) that the model sees as this token; its length, or 0 where there is none."""
    cdef int64_t i = 0, k = 0
    if not marks:
        k = raw_bytes(token, n, out, LONG_KEY)
        i = n
    while i < n:
        if k == LONG_KEY:
            return 0
        if n - i >= 3 and token[i] == 0xE2 and token[i + 1] == 0x96 and token[i + 2] == 0x81:
            out[k] = c' '
            i += 3
        elif token[i] == c' ':
            return 0             # no text has one: it would have become a mark
        else:
            out[k] = token[i]
            i += 1
        k += 1
    return 0 if k and memchr(out, 0, <size_t>k) != NULL else k


cdef void seeds_free(SeedTable *seeds) noexcept nogil:
    ht_aligned_free(seeds.table)
    free(seeds.longer)
    seeds.table = NULL
    seeds.longer = NULL


cdef inline void put_seed(SeedTable *seeds, const ht_key *key, uint32_t hash, uint32_t id) noexcept nogil:
    cdef uint32_t bit = passed_bit(hash)
    cdef uint8_t *b
    cdef ht_key *k
    cdef int slot
    while True:
        b = seeds.table + (<size_t>(hash & seeds.mask) << 6)
        k = <ht_key *>b
        for slot in range(3):
            if k[slot].lo == 0:
                k[slot] = key[0]
                (<uint32_t *>(b + 48))[slot] = id
                return
        (<uint32_t *>(b + 48))[PASSED] |= bit
        hash += 1


cdef bint seed_table(SeedTable *seeds, hash_key_fn hash_key, BPEModel model, bint marks) except -1:
    cdef const VocabTable *v = &model.map.table
    cdef Proof proof = None
    cdef const uint8_t *proved = NULL
    cdef uint32_t id
    cdef int64_t i, k, n, waiting = 0, buckets = 64
    cdef uint8_t text[LONG_KEY]
    cdef uint64_t bit
    cdef ht_key keys[AHEAD]
    cdef uint32_t hashes[AHEAD]
    cdef uint32_t ids[AHEAD]
    cdef bint whole = model.ignore_merges and model.map.unique_ids
    if not whole:
        if not provable(model):
            return False
        proof = proof_of(model)
        proof.find_tokens(model)
        proved = proof.proved
    while buckets * 2 < v.size:      # at most two slots in three are taken
        buckets *= 2
    seeds.mask = <uint32_t>(buckets - 1)
    seeds.table = <uint8_t *>ht_aligned(<size_t>buckets * 64)
    seeds.longer = <uint64_t *>calloc((<int64_t>1 << LONG_BITS) >> 6, 8) if whole else NULL
    if seeds.table == NULL or (whole and seeds.longer == NULL):
        seeds_free(seeds)
        raise MemoryError("no memory for the tokens known beforehand")
    ht_huge(seeds.table, <size_t>buckets * 64)
    memset(seeds.table, 0, <size_t>buckets * 64)
    with nogil:
        for i in range(v.size):
            id = v.ids[i]
            if proved != NULL and not proved[id >> 3] >> (id & 7) & 1:
                continue
            n = chunk_text(v.text.data + v.offsets[i], v.offsets[i + 1] - v.offsets[i], marks, text)
            if n > 16 and whole:
                bit = long_bit(text, n)
                seeds.longer[bit >> 6] |= <uint64_t>1 << (bit & 63)
            if n == 0 or n > 16:
                continue
            memset(&keys[waiting], 0, 16)
            memcpy(&keys[waiting], text, <size_t>n)
            hashes[waiting] = hash_key(keys[waiting])
            ids[waiting] = id
            prefetch(seeds.table + (<size_t>(hashes[waiting] & seeds.mask) << 6))
            waiting += 1
            if waiting == AHEAD:
                for k in range(waiting):
                    put_seed(seeds, &keys[k], hashes[k], ids[k])
                waiting = 0
        for k in range(waiting):
            put_seed(seeds, &keys[k], hashes[k], ids[k])
    return True


cdef class Proof:
    """What the rule says of the tokens of one table of merges, whatever the options of the models that share it. It is made when
    it is first asked for; two threads may both make it, and find the same."""

    def __dealloc__(self):
        if not self.borrowed:
            free(self.proved)

    cdef int find_tokens(self, BPEModel model) except -1:
        """Make `proved`, if there is none yet."""
        cdef int64_t i, n = model.map.max_id + 1
        cdef int32_t *rank_of
        cdef uint8_t *bits
        if self.proved != NULL:
            return 0
        bits = <uint8_t *>calloc(<size_t>(n >> 3) + 1, 1)
        if bits == NULL:
            raise MemoryError("out of memory while looking through the vocabulary")
        try:
            rank_of = ranks_of_making(model)
        except BaseException:
            free(bits)
            raise
        for i in range(n):
            bits[i >> 3] |= (rank_of[i] != UNPROVED) << (i & 7)
        free(rank_of)
        if self.proved == NULL:      # the GIL was given away meanwhile
            self.proved = bits
        else:
            free(bits)
        return 0


cdef Proof proof_of(BPEModel model):
    """The proof of a model that is `provable`, shared by all models of these merges."""
    if model.merge_table.proof is None:
        model.merge_table.proof = Proof()
    return model.merge_table.proof


cdef list unproved_words(BPEModel model):
    """The words (bytes) that are tokens, in ByteLevel characters, without being known to be what the merges make of them; None
    where nothing is known of this model."""
    cdef const VocabTable *v = &model.map.table
    cdef Proof proof
    cdef int64_t i, n
    cdef list words = []
    cdef bytearray word
    if not provable(model):
        return None
    proof = proof_of(model)
    proof.find_tokens(model)
    for i in range(v.size):
        if proof.holds(v.ids[i]):
            continue
        n = v.offsets[i + 1] - v.offsets[i]
        word = bytearray(n)
        n = raw_bytes(v.text.data + v.offsets[i], n, <uint8_t *><char *>word, n)
        if n:
            words.append(bytes(word[:n]))
    return words


def prove(BPEModel model not None):
    """Find out now what a large text will ask of the vocabulary; in a few ms to a tenth of a second, without the GIL."""
    if provable(model):
        proof_of(model).find_tokens(model)


def proof_sections(BPEModel model not None):
    """What has been found out, as arrays by name (see stored)."""
    cdef Proof proof = model.merge_table.proof
    if proof is None or proof.proved == NULL:
        return {}
    return {"proof.tokens": view(proof.proved, (<int64_t>model.map.max_id >> 3) + 1)}


def take_proof(BPEModel model not None, Block block not None):
    """Take the proof from a block, if it has one. StoredError where it is damaged."""
    cdef Proof proof
    if "proof.tokens" not in block.sections:
        return
    demand(provable(model))
    proof = Proof()
    proof.block = block
    proof.borrowed = True
    proof.proved = <uint8_t *>block.exactly("proof.tokens", 1, (<int64_t>model.map.max_id >> 3) + 1)
    model.merge_table.proof = proof


def proved_tokens(BPEModel model not None):
    """The ids that are known to be what their own text is encoded to, for tests and inspection: list of int."""
    cdef Proof proof
    if not provable(model):
        return []
    proof = proof_of(model)
    proof.find_tokens(model)
    return [i for i in range(model.map.max_id + 1) if proof.holds(i)]
