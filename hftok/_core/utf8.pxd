from libc.stdint cimport int64_t, uint8_t

# Length of the valid UTF-8 prefix of text (size itself if all of it is valid).
cdef int64_t utf8_valid_prefix(const uint8_t *text, int64_t size) noexcept nogil
# Bytes that utf8_repair would write.
cdef int64_t utf8_repaired_size(const uint8_t *text, int64_t size) noexcept nogil
# Copy, with every maximal invalid subpart as U+FFFD (Rust's from_utf8_lossy, Python's errors="replace").
cdef int64_t utf8_repair(const uint8_t *text, int64_t size, uint8_t *out) noexcept nogil
