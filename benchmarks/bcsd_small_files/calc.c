/* A calculator: expressions with variables, one a line. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char *at; static int wrong; static double vars[26];
static double expression(void);
static void skip(void) { while (*at == ' ' || *at == '\t') at++; }
static int accept(char c) { skip(); if (*at != c) return 0; at++; return 1; }
static double fail(const char *why) { if (!wrong) printf("error: %s near '%.10s'\n", why, at); wrong = 1; return 0; }
static double number(void) { char *end; double v = strtod(at, &end); if (end == at) return fail("number"); at = end; return v; }
static double call(const char *name, double x) {
    if (!strcmp(name, "sqrt")) return x < 0 ? fail("sqrt") : sqrt(x);
    if (!strcmp(name, "sin")) return sin(x);
    if (!strcmp(name, "cos")) return cos(x);
    if (!strcmp(name, "ln")) return x <= 0 ? fail("ln") : log(x);
    if (!strcmp(name, "abs")) return fabs(x);
    return fail("function");
}
static int word(char *out) { int n = 0; while (isalpha((unsigned char)*at) && n < 15) out[n++] = *at++; out[n] = 0; return n; }
static double primary(void) {
    char name[16]; double v;
    skip();
    if (accept('(')) { v = expression(); if (!accept(')')) return fail(")"); return v; }
    if (isalpha((unsigned char)*at)) {
        if (word(name) == 1) return vars[tolower(name[0]) - 'a'];
        if (!accept('(')) return fail("(");
        v = expression();
        if (!accept(')')) return fail(")");
        return call(name, v);
    }
    return number();
}
static double power(void) { double v = primary(); if (accept('^')) return pow(v, power()); return v; }
static double signs(void) { if (accept('-')) return -signs(); if (accept('+')) return signs(); return power(); }
static double term(void) {
    double v = signs(), w;
    for (;;) {
        if (accept('*')) v *= signs();
        else if (accept('/')) { w = signs(); if (w == 0) return fail("division by zero"); v /= w; }
        else if (accept('%')) { w = signs(); if (w == 0) return fail("division by zero"); v = fmod(v, w); }
        else return v;
    }
}
static double expression(void) { double v = term(); for (;;) { if (accept('+')) v += term(); else if (accept('-')) v -= term(); else return v; } }
static int assigns(const char *line) { while (*line == ' ') line++; if (!isalpha((unsigned char)*line)) return -1; int c = tolower(*line++) - 'a'; while (*line == ' ') line++; return *line == '=' ? c : -1; }
static void evaluate(char *line) {
    int target = assigns(line); double v;
    line[strcspn(line, "\r\n")] = 0; at = line; wrong = 0;
    if (target >= 0) at = strchr(line, '=') + 1;
    v = expression(); skip();
    if (*at && !wrong) fail("end");
    if (wrong) return;
    if (target >= 0) vars[target] = v;
    printf("%.12g\n", v);
}
static void list(void) { for (int i = 0; i < 26; i++) if (vars[i] != 0) printf("%c = %.12g\n", 'a' + i, vars[i]); }
int main(void) { char line[512]; while (fgets(line, sizeof line, stdin)) { if (!strcmp(line, "vars\n")) list(); else if (line[0] != '\n') evaluate(line); } return 0; }
