/* Columns of a comma-separated table: sums, means, extremes, sorted output. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct row { char **cells; int count; };
struct sheet { struct row *rows; int count, room, width; };
static int sort_by; static int descending;
static char *copy(const char *s, size_t n) { char *p = malloc(n + 1); if (!p) { perror("sheet"); exit(1); } memcpy(p, s, n); p[n] = 0; return p; }
static void add_cell(struct row *r, char *text) { r->cells = realloc(r->cells, (r->count + 1) * sizeof *r->cells); if (!r->cells) { perror("sheet"); exit(1); } r->cells[r->count++] = text; }
static char *quoted(const char **at) { const char *s = *at + 1; char *out = copy(s, strlen(s)), *o = out; while (*s) { if (*s == '"') { if (s[1] != '"') { s++; break; } s++; } *o++ = *s++; } *o = 0; *at = s; return out; }
static char *bare(const char **at) { size_t n = strcspn(*at, ",\r\n"); char *out = copy(*at, n); *at += n; return out; }
static struct row parse(const char *line) { struct row r = {0}; for (;;) { while (*line == ' ') line++; add_cell(&r, *line == '"' ? quoted(&line) : bare(&line)); if (*line != ',') break; line++; } return r; }
static void add_row(struct sheet *s, struct row r) { if (s->count == s->room) { s->room = s->room ? s->room * 2 : 32; s->rows = realloc(s->rows, s->room * sizeof *s->rows); if (!s->rows) { perror("sheet"); exit(1); } } s->rows[s->count++] = r; if (r.count > s->width) s->width = r.count; }
static void load(struct sheet *s, FILE *f) { char line[4096]; while (fgets(line, sizeof line, f)) if (line[strspn(line, " \t\r\n")]) add_row(s, parse(line)); }
static const char *cell(const struct row *r, int c) { return c < r->count ? r->cells[c] : ""; }
static int numeric(const char *text, double *v) { char *end; errno = 0; *v = strtod(text, &end); while (isspace((unsigned char)*end)) end++; return *text && !*end && !errno; }
static int compare(const void *a, const void *b) { double x, y; const char *s = cell(a, sort_by), *t = cell(b, sort_by); int d; if (numeric(s, &x) && numeric(t, &y)) d = (x > y) - (x < y); else d = strcmp(s, t); return descending ? -d : d; }
static int column(const struct sheet *s, const char *name) { if (isdigit((unsigned char)*name)) return atoi(name) - 1; for (int c = 0; s->count && c < s->rows[0].count; c++) if (!strcmp(s->rows[0].cells[c], name)) return c; fprintf(stderr, "no column %s\n", name); exit(2); }
static void summary(const struct sheet *s, int c) { double sum = 0, squares = 0, least = INFINITY, most = -INFINITY, v; int n = 0; for (int r = 1; r < s->count; r++) if (numeric(cell(&s->rows[r], c), &v)) { sum += v; squares += v * v; n++; if (v < least) least = v; if (v > most) most = v; } if (!n) printf("%-16s no numbers\n", cell(&s->rows[0], c)); else printf("%-16s n=%d sum=%g mean=%g sd=%g min=%g max=%g\n", cell(&s->rows[0], c), n, sum, sum / n, sqrt(fmax(0, squares / n - sum / n * sum / n)), least, most); }
static int widest(const struct sheet *s, int c) { int w = 0; for (int r = 0; r < s->count; r++) { int n = (int)strlen(cell(&s->rows[r], c)); if (n > w) w = n; } return w; }
static void print(const struct sheet *s) { for (int r = 0; r < s->count; r++) { for (int c = 0; c < s->width; c++) printf("%-*s%s", widest(s, c), cell(&s->rows[r], c), c + 1 < s->width ? "  " : "\n"); } }
static void write_cell(const char *text) { if (!strpbrk(text, ",\"\n")) { fputs(text, stdout); return; } putchar('"'); for (; *text; text++) { if (*text == '"') putchar('"'); putchar(*text); } putchar('"'); }
static void write_csv(const struct sheet *s) { for (int r = 0; r < s->count; r++) for (int c = 0; c < s->rows[r].count; c++) { write_cell(s->rows[r].cells[c]); putchar(c + 1 < s->rows[r].count ? ',' : '\n'); } }
static void release(struct sheet *s) { for (int r = 0; r < s->count; r++) { for (int c = 0; c < s->rows[r].count; c++) free(s->rows[r].cells[c]); free(s->rows[r].cells); } free(s->rows); }
int main(int argc, char **argv) {
    struct sheet s = {0}; int csv = 0;
    load(&s, stdin);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-c")) csv = 1;
        else if (!strcmp(argv[i], "-r")) descending = 1;
        else if (!strcmp(argv[i], "-k") && i + 1 < argc) { sort_by = column(&s, argv[++i]); if (s.count > 1) qsort(s.rows + 1, s.count - 1, sizeof *s.rows, compare); }
        else summary(&s, column(&s, argv[i]));
    }
    if (csv) write_csv(&s); else print(&s);
    release(&s);
    return 0;
}
