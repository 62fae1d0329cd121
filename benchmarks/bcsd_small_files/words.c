/* Count the words of files, the commonest first. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct word { char *text; unsigned long count; struct word *next; };
static struct word *table[1024];
static unsigned long total;
static void die(const char *what) { fprintf(stderr, "words: %s\n", what); exit(2); }
static void *get(size_t size) { void *p = malloc(size); if (!p) die("no memory"); return p; }
static unsigned hash(const char *s) { unsigned h = 2166136261u; while (*s) h = (h ^ (unsigned char)*s++) * 16777619u; return h & 1023; }
static struct word *find(const char *s) { struct word *w; for (w = table[hash(s)]; w; w = w->next) if (!strcmp(w->text, s)) return w; return NULL; }
static void put(const char *s) {
    struct word *w = find(s);
    if (!w) { unsigned h = hash(s); w = get(sizeof *w); w->text = get(strlen(s) + 1); strcpy(w->text, s); w->count = 0; w->next = table[h]; table[h] = w; }
    w->count++; total++;
}
static int take(FILE *f, char *buffer, int most) {
    int c, n = 0;
    while ((c = getc(f)) != EOF && !isalpha(c)) ;
    if (c == EOF) return 0;
    do { if (n < most - 1) buffer[n++] = tolower(c); } while ((c = getc(f)) != EOF && isalpha(c));
    buffer[n] = 0;
    return n;
}
static void readall(const char *path) {
    char buffer[128];
    FILE *f = path ? fopen(path, "r") : stdin;
    if (!f) die(path);
    while (take(f, buffer, sizeof buffer)) put(buffer);
    if (path) fclose(f);
}
static int order(const void *a, const void *b) {
    const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->text, y->text);
}
static size_t listed(struct word ***out) {
    size_t n = 0, i; struct word *w, **all;
    for (i = 0; i < 1024; i++) for (w = table[i]; w; w = w->next) n++;
    all = get((n + 1) * sizeof *all); n = 0;
    for (i = 0; i < 1024; i++) for (w = table[i]; w; w = w->next) all[n++] = w;
    qsort(all, n, sizeof *all, order);
    *out = all;
    return n;
}
static void dump(size_t most) { struct word **all; size_t n = listed(&all), i; for (i = 0; i < n && i < most; i++) printf("%8lu %5.2f%% %s\n", all[i]->count, 100.0 * all[i]->count / total, all[i]->text); free(all); }
static void clear(void) { size_t i; for (i = 0; i < 1024; i++) { struct word *w = table[i]; while (w) { struct word *n = w->next; free(w->text); free(w); w = n; } table[i] = NULL; } }
int main(int argc, char **argv) {
    size_t most = 20; int i = 1;
    if (argc > 2 && !strcmp(argv[1], "-n")) { most = strtoul(argv[2], NULL, 10); i = 3; }
    if (i == argc) readall(NULL);
    for (; i < argc; i++) readall(argv[i]);
    dump(most); clear();
    return 0;
}
