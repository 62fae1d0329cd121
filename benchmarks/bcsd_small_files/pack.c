/* A small packer: LZ77 with a hash chain, and a checksum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { WINDOW = 4096, SHORTEST = 3, LONGEST = 18 };
static uint32_t crcs[256];
struct bits { unsigned char *data; size_t size, room; unsigned hold; int have; };
static void crc_table(void) { for (uint32_t i = 0; i < 256; i++) { uint32_t c = i; for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1; crcs[i] = c; } }
static uint32_t crc(const unsigned char *p, size_t n) { uint32_t c = ~0u; while (n--) c = crcs[(c ^ *p++) & 255] ^ (c >> 8); return ~c; }
static void grow(struct bits *b) { if (b->size + 1 < b->room) return; b->room = b->room ? b->room * 2 : 256; b->data = realloc(b->data, b->room); if (!b->data) { perror("pack"); exit(1); } }
static void write_bits(struct bits *b, unsigned value, int count) { b->hold |= value << b->have; b->have += count; while (b->have >= 8) { grow(b); b->data[b->size++] = b->hold & 255; b->hold >>= 8; b->have -= 8; } }
static void flush_bits(struct bits *b) { if (b->have) { grow(b); b->data[b->size++] = b->hold & 255; b->hold = 0; b->have = 0; } }
static int read_bits(struct bits *b, int count) { while (b->have < count) { if (b->size == b->room) return -1; b->hold |= (unsigned)b->data[b->size++] << b->have; b->have += 8; } int v = b->hold & ((1u << count) - 1); b->hold >>= count; b->have -= count; return v; }
static unsigned key(const unsigned char *p) { return ((p[0] << 6) ^ (p[1] << 3) ^ p[2]) & 4095; }
static int longest(const unsigned char *p, const unsigned char *end, const unsigned char *base, const int *head, const int *chain, int *from) {
    int best = 0;
    for (int i = head[key(p)], tries = 0; i >= 0 && tries < 64; i = chain[i & (WINDOW - 1)], tries++) {
        const unsigned char *q = base + i; int n = 0;
        if (p - q >= WINDOW || q >= p) break;
        while (n < LONGEST && p + n < end && p[n] == q[n]) n++;
        if (n > best) { best = n; *from = (int)(p - q); }
    }
    return best;
}
static void squeeze(const unsigned char *in, size_t n, struct bits *out) {
    static int head[4096], chain[WINDOW];
    memset(head, -1, sizeof head);
    for (size_t i = 0; i < n;) {
        int from = 0, len = i + SHORTEST <= n ? longest(in + i, in + n, in, head, chain, &from) : 0;
        if (len < SHORTEST) { len = 1; write_bits(out, 0, 1); write_bits(out, in[i], 8); }
        else { write_bits(out, 1, 1); write_bits(out, from, 12); write_bits(out, len - SHORTEST, 4); }
        for (; len--; i++) if (i + SHORTEST <= n) { unsigned k = key(in + i); chain[i & (WINDOW - 1)] = head[k]; head[k] = (int)i; }
    }
    flush_bits(out);
}
static size_t expand(struct bits *in, unsigned char *out, size_t n) {
    size_t at = 0;
    while (at < n) {
        int flag = read_bits(in, 1);
        if (flag < 0) return at;
        if (!flag) { int c = read_bits(in, 8); if (c < 0) return at; out[at++] = c; continue; }
        int from = read_bits(in, 12), len = read_bits(in, 4);
        if (from <= 0 || (size_t)from > at || len < 0) return at;
        for (len += SHORTEST; len-- && at < n; at++) out[at] = out[at - from];
    }
    return at;
}
static unsigned char *slurp(FILE *f, size_t *n) { size_t room = 4096; unsigned char *p = malloc(room); *n = 0; for (size_t got; p && (got = fread(p + *n, 1, room - *n, f)) > 0;) { *n += got; if (*n == room) p = realloc(p, room *= 2); } return p; }
static void put32(uint32_t v) { for (int i = 0; i < 4; i++) putchar(v >> 8 * i & 255); }
static uint32_t get32(const unsigned char *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }
static int pack(void) { size_t n; unsigned char *in = slurp(stdin, &n); struct bits out = {0}; if (!in) return 1; squeeze(in, n, &out); fputs("PCK1", stdout); put32((uint32_t)n); put32(crc(in, n)); fwrite(out.data, 1, out.size, stdout); fprintf(stderr, "%zu -> %zu\n", n, out.size + 12); free(in); free(out.data); return 0; }
static int unpack(void) {
    size_t n; unsigned char *in = slurp(stdin, &n);
    if (!in || n < 12 || memcmp(in, "PCK1", 4)) { fputs("not packed\n", stderr); return 1; }
    size_t want = get32(in + 4); unsigned char *out = malloc(want + 1);
    struct bits b = {in + 12, 0, n - 12, 0, 0};
    if (!out || expand(&b, out, want) != want || crc(out, want) != get32(in + 8)) { fputs("damaged\n", stderr); return 1; }
    fwrite(out, 1, want, stdout); free(in); free(out);
    return 0;
}
int main(int argc, char **argv) { crc_table(); return argc > 1 && !strcmp(argv[1], "-d") ? unpack() : pack(); }
