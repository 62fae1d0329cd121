/* Lines that a small regular expression matches: . * + ? ^ $ [a-z] and \ before a character. */
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
static int fold, invert, numbers, quiet; static unsigned long hits;
static int here(const char *re, const char *text);
static int lower(int c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
static int same(int a, int b) { return fold ? lower(a) == lower(b) : a == b; }
static int width(const char *re) { if (*re == '\\' && re[1]) return 2; if (*re == '[') { const char *p = re + 1; if (*p == '^') p++; if (*p == ']') p++; while (*p && *p != ']') p++; return *p ? (int)(p - re) + 1 : 1; } return 1; }
static int among(const char *re, int n, int c) {
    int no = re[1] == '^', found = 0, i = no ? 2 : 1;
    for (; i < n - 1; i++) {
        if (i + 2 < n - 1 && re[i + 1] == '-') { int a = re[i], b = re[i + 2]; if (fold) { a = lower(a); b = lower(b); c = lower(c); } if (c >= a && c <= b) found = 1; i += 2; }
        else if (same(re[i], c)) found = 1;
    }
    return found != no;
}
static int one(const char *re, int n, int c) { if (!c) return 0; if (*re == '.') return 1; if (*re == '[' && n > 1) return among(re, n, c); return same(n == 2 ? re[1] : *re, c); }
static int many(const char *re, int n, const char *rest, const char *text, int least) { const char *t = text; while (one(re, n, (unsigned char)*t)) t++; for (; t - text >= least; t--) if (here(rest, t)) return 1; return 0; }
static int maybe(const char *re, int n, const char *rest, const char *text) { return (one(re, n, (unsigned char)*text) && here(rest, text + 1)) || here(rest, text); }
static int here(const char *re, const char *text) {
    int n;
    if (!*re) return 1;
    if (*re == '$' && !re[1]) return !*text;
    n = width(re);
    if (re[n] == '*') return many(re, n, re + n + 1, text, 0);
    if (re[n] == '+') return many(re, n, re + n + 1, text, 1);
    if (re[n] == '?') return maybe(re, n, re + n + 1, text);
    return one(re, n, (unsigned char)*text) && here(re + n, text + 1);
}
static int anywhere(const char *re, const char *text) { if (*re == '^') return here(re + 1, text); do if (here(re, text)) return 1; while (*text++); return 0; }
static char *next_line(FILE *f, char **buffer, size_t *room) {
    size_t n = 0; int c;
    while ((c = getc(f)) != EOF) { if (n + 2 > *room) { *room = *room ? *room * 2 : 128; *buffer = realloc(*buffer, *room); if (!*buffer) exit(2); } if (c == '\n') break; (*buffer)[n++] = c; }
    if (c == EOF && !n) return NULL;
    if (!*buffer) { *buffer = malloc(*room = 128); if (!*buffer) exit(2); }
    (*buffer)[n] = 0;
    return *buffer;
}
static void show(const char *path, unsigned long number, const char *line) { if (quiet) return; if (path) printf("%s:", path); if (numbers) printf("%lu:", number); puts(line); }
static void scan(const char *re, FILE *f, const char *path) { char *buffer = NULL; size_t room = 0; unsigned long number = 0; while (next_line(f, &buffer, &room)) { number++; if (anywhere(re, buffer) != invert) { hits++; show(path, number, buffer); } } free(buffer); }
static int scan_file(const char *re, const char *path, int named) { FILE *f = fopen(path, "r"); if (!f) { perror(path); return 1; } scan(re, f, named ? path : NULL); fclose(f); return 0; }
static void usage(void) { fputs("usage: seek [-invq] PATTERN [FILE...]\n", stderr); exit(2); }
int main(int argc, char **argv) {
    int c, bad = 0;
    while ((c = getopt(argc, argv, "invq")) != -1) switch (c) { case 'i': fold = 1; break; case 'n': numbers = 1; break; case 'v': invert = 1; break; case 'q': quiet = 1; break; default: usage(); }
    if (optind == argc) usage();
    if (optind + 1 == argc) scan(argv[optind], stdin, NULL);
    for (int i = optind + 1; i < argc; i++) bad |= scan_file(argv[optind], argv[i], argc - optind > 2);
    return bad ? 2 : !hits;
}
