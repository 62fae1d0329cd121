/* Conway's game on a torus, with patterns read from a file and a history that finds cycles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
struct field { int width, height; unsigned char *cells, *other; };
static unsigned long long seen[256]; static int seen_count;
static struct field *make(int width, int height) { struct field *f = calloc(1, sizeof *f); if (!f) return NULL; f->width = width; f->height = height; f->cells = calloc(width, height); f->other = calloc(width, height); if (!f->cells || !f->other) { free(f->cells); free(f->other); free(f); return NULL; } return f; }
static void destroy(struct field *f) { free(f->cells); free(f->other); free(f); }
static int wrap(int v, int n) { v %= n; return v < 0 ? v + n : v; }
static int get(const struct field *f, int x, int y) { return f->cells[wrap(y, f->height) * f->width + wrap(x, f->width)]; }
static void set(struct field *f, int x, int y, int v) { f->cells[wrap(y, f->height) * f->width + wrap(x, f->width)] = v; }
static int neighbours(const struct field *f, int x, int y) { int n = 0; for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) if (dx || dy) n += get(f, x + dx, y + dy); return n; }
static int lives(int alive, int n) { return n == 3 || (alive && n == 2); }
static int step(struct field *f) { int changed = 0; for (int y = 0; y < f->height; y++) for (int x = 0; x < f->width; x++) { int a = get(f, x, y), b = lives(a, neighbours(f, x, y)); f->other[y * f->width + x] = b; changed += a != b; } unsigned char *t = f->cells; f->cells = f->other; f->other = t; return changed; }
static int population(const struct field *f) { int n = 0; for (int i = 0; i < f->width * f->height; i++) n += f->cells[i]; return n; }
static unsigned long long digest(const struct field *f) { unsigned long long h = 1469598103934665603ull; for (int i = 0; i < f->width * f->height; i++) h = (h ^ f->cells[i]) * 1099511628211ull; return h; }
static int repeats(const struct field *f) { unsigned long long d = digest(f); for (int i = 0; i < seen_count; i++) if (seen[i] == d) return seen_count - i; seen[seen_count++ & 255] = d; if (seen_count > 255) seen_count = 0; return 0; }
static void scatter(struct field *f, unsigned seed, int percent) { srand(seed); for (int y = 0; y < f->height; y++) for (int x = 0; x < f->width; x++) set(f, x, y, rand() % 100 < percent); }
static int load(struct field *f, const char *path) { char line[512]; int y = 0; FILE *in = fopen(path, "r"); if (!in) { perror(path); return -1; } while (fgets(line, sizeof line, in)) { if (line[0] == '!') continue; for (int x = 0; line[x] && line[x] != '\n'; x++) set(f, x, y, line[x] == 'O' || line[x] == '*'); y++; } fclose(in); return y; }
static void glider(struct field *f, int x, int y) { static const char shape[3][4] = {".O.", "..O", "OOO"}; for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) set(f, x + i, y + j, shape[j][i] == 'O'); }
static void draw(const struct field *f, int generation) { printf("\033[H%d: %d\n", generation, population(f)); for (int y = 0; y < f->height; y++) { for (int x = 0; x < f->width; x++) putchar(get(f, x, y) ? 'O' : '.'); putchar('\n'); } fflush(stdout); }
static void rest(int ms) { struct timespec t = {ms / 1000, ms % 1000 * 1000000L}; nanosleep(&t, NULL); }
static int number(const char *text, int least, int most, const char *what) { char *end; long v = strtol(text, &end, 10); if (*end || v < least || v > most) { fprintf(stderr, "%s: %s is not in %d..%d\n", what, text, least, most); exit(2); } return (int)v; }
int main(int argc, char **argv) {
    int generations = 100, cycle = 0, pause = 0; const char *path = NULL; unsigned seed = 1;
    for (int i = 1; i < argc; i++) { if (!strcmp(argv[i], "-g") && i + 1 < argc) generations = number(argv[++i], 1, 100000, "generations"); else if (!strcmp(argv[i], "-p") && i + 1 < argc) pause = number(argv[++i], 0, 5000, "pause"); else if (!strcmp(argv[i], "-s") && i + 1 < argc) seed = number(argv[++i], 0, 1 << 30, "seed"); else path = argv[i]; }
    struct field *f = make(64, 32);
    if (!f) return 1;
    if (path) { if (load(f, path) < 0) return 1; } else if (seed) scatter(f, seed, 30); else glider(f, 1, 1);
    for (int g = 0; g < generations && !cycle; g++) { draw(f, g); if (!step(f)) { cycle = 1; break; } cycle = repeats(f); if (pause) rest(pause); }
    printf("%d cells, cycle %d\n", population(f), cycle); destroy(f);
    return 0;
}
