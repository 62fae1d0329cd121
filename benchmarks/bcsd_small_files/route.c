/* Shortest ways in a graph: edges as "FROM TO LENGTH" lines, then a question. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <float.h>
struct edge { int to; double length; struct edge *next; };
struct node { char name[32]; struct edge *out; double best; int before, place; };
static struct node *nodes; static int count, room; static int *heap, size;
static int index_of(const char *name) {
    for (int i = 0; i < count; i++) if (!strcmp(nodes[i].name, name)) return i;
    if (count == room) { room = room ? 2 * room : 16; nodes = realloc(nodes, room * sizeof *nodes); if (!nodes) abort(); }
    memset(&nodes[count], 0, sizeof *nodes); snprintf(nodes[count].name, sizeof nodes->name, "%s", name);
    return count++;
}
static void join(int a, int b, double length) { struct edge *e = malloc(sizeof *e); if (!e) abort(); e->to = b; e->length = length; e->next = nodes[a].out; nodes[a].out = e; }
static void swap(int i, int j) { int t = heap[i]; heap[i] = heap[j]; heap[j] = t; nodes[heap[i]].place = i; nodes[heap[j]].place = j; }
static int less(int i, int j) { return nodes[heap[i]].best < nodes[heap[j]].best; }
static void up(int i) { while (i && less(i, (i - 1) / 2)) { swap(i, (i - 1) / 2); i = (i - 1) / 2; } }
static void down(int i) { for (;;) { int c = 2 * i + 1; if (c >= size) return; if (c + 1 < size && less(c + 1, c)) c++; if (!less(c, i)) return; swap(c, i); i = c; } }
static int pop(void) { int top = heap[0]; swap(0, --size); down(0); nodes[top].place = -1; return top; }
static void start(int from) { heap = malloc((count + 1) * sizeof *heap); if (!heap) abort(); size = 0; for (int i = 0; i < count; i++) { nodes[i].best = i == from ? 0 : DBL_MAX; nodes[i].before = -1; nodes[i].place = size; heap[size++] = i; up(size - 1); } }
static void relax(int n) { for (struct edge *e = nodes[n].out; e; e = e->next) { double d = nodes[n].best + e->length; if (d < nodes[e->to].best) { nodes[e->to].best = d; nodes[e->to].before = n; up(nodes[e->to].place); } } }
static void search(int from) { start(from); while (size) { int n = pop(); if (nodes[n].best == DBL_MAX) break; relax(n); } free(heap); heap = NULL; }
static void way(int n) { if (nodes[n].before >= 0) { way(nodes[n].before); printf(" -> "); } printf("%s", nodes[n].name); }
static void answer(const char *a, const char *b) { int from = index_of(a), to = index_of(b); search(from); if (nodes[to].best == DBL_MAX) printf("%s: no way from %s\n", b, a); else { way(to); printf("  (%g)\n", nodes[to].best); } }
static int degree(int n) { int d = 0; for (struct edge *e = nodes[n].out; e; e = e->next) d++; return d; }
static void mark(int n, int *seen, int c) { if (seen[n]) return; seen[n] = c; for (struct edge *e = nodes[n].out; e; e = e->next) mark(e->to, seen, c); }
static int parts(void) { int c = 0, *seen = calloc(count + 1, sizeof *seen); if (!seen) abort(); for (int i = 0; i < count; i++) if (!seen[i]) mark(i, seen, ++c); free(seen); return c; }
static void statistics(void) { int most = 0; for (int i = 0; i < count; i++) if (degree(i) > degree(most)) most = i; printf("%d nodes, %d parts", count, parts()); if (count) printf(", %s has %d edges", nodes[most].name, degree(most)); putchar('\n'); }
static void release(void) { for (int i = 0; i < count; i++) while (nodes[i].out) { struct edge *e = nodes[i].out; nodes[i].out = e->next; free(e); } free(nodes); }
int main(void) {
    char line[256], a[32], b[32]; double d;
    while (fgets(line, sizeof line, stdin)) {
        int n = sscanf(line, "%31s %31s %lf", a, b, &d);
        if (n == 3) { int i = index_of(a), j = index_of(b); if (d < 0) { fprintf(stderr, "negative length\n"); return 1; } join(i, j, d); join(j, i, d); }
        else if (n == 2) answer(a, b);
        else if (n == 1) statistics();
    }
    release();
    return 0;
}
