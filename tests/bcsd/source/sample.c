/* One function per thing that an extractor must get right. Built by build.sh; see ../test_expected.py. */
extern int puts(const char *text);
extern void abort(void);
extern int visible(int value);

int global_counter = 7;
static const int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};

/* One block, no edge. */
__attribute__((noinline)) int add_three(int a, int b, int c) { return a + b + c; }

/* Two ways, one join. */
__attribute__((noinline)) int larger(int a, int b) {
    if (a > b)
        global_counter++;
    return a > b ? a : b;
}

/* A loop with a constant outside of every small range. */
__attribute__((noinline)) unsigned checksum(const unsigned char *bytes, int count) {
    unsigned sum = 0xedb88320u;
    while (count-- > 0)
        sum = (sum << 5) ^ (sum >> 27) ^ *bytes++;
    return sum;
}

/* Recursion: a call to itself is an internal call, not an edge. */
__attribute__((noinline)) int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

/* Never returns: nothing falls through its call, nor through calls of it. */
__attribute__((noinline, noreturn)) void fail_with(const char *text) {
    puts(text);
    abort();
}

__attribute__((noinline)) int checked(int value) {
    if (value < 0)
        fail_with("negative");
    return value * 3;
}

/* A dense switch: a jump table at every level. */
__attribute__((noinline)) int dense(int op, int a, int b) {
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a & b;
    case 4: puts("four"); return a | b;
    case 5: return a ^ b;
    case 6: puts("six"); return a << (b & 31);
    case 7: return global_counter;
    case 8: return factorial(a);
    case 9: return checksum((const unsigned char *)&a, b);
    case 10: return a / (b | 1);
    case 11: return ~a;
    case 12: return larger(a, b);
    case 13: return a % (b | 1);
    case 14: return a >> (b & 31);
    case 15: puts("fifteen"); return b - a;
    case 16: return b * 7 + a;
    case 17: return add_three(a, b, 17);
    default: return -1;
    }
}

/* A switch that begins at 100, with holes: the default is in the table too. */
__attribute__((noinline)) int offset_switch(int code) {
    int result = 0;
    switch (code) {
    case 100: result = checked(code); break;
    case 101: result = larger(code, 5); break;
    case 102: result = 17; puts("a"); break;
    case 104: result = add_three(1, 2, code); break;
    case 105: result = 99; puts("b"); break;
    case 107: result = dense(3, code, 4); break;
    case 108: global_counter = code; break;
    default: puts("none"); break;
    }
    return result + global_counter;
}

/* A sparse switch: comparisons, no table. */
__attribute__((noinline)) int sparse(int code) {
    switch (code) {
    case 1: return 10;
    case 1000: return 20;
    case 1000000: return 30;
    default: return 0;
    }
}

/* A computed goto: its table holds code addresses in data. */
__attribute__((noinline)) int interpret(const unsigned char *program) {
    static const void *const labels[] = {&&halt, &&increment, &&twice, &&negate};
    int accumulator = 0;
    goto *labels[*program++ & 3];
increment:
    accumulator += 1;
    goto *labels[*program++ & 3];
twice:
    accumulator *= 2;
    goto *labels[*program++ & 3];
negate:
    accumulator = -accumulator;
    goto *labels[*program++ & 3];
halt:
    return accumulator;
}

/* Calls through pointers: an indirect call is no edge, an indirect tail call is no unresolved switch. */
typedef int (*handler)(int);
static const handler handlers[3] = {factorial, checked, sparse};
__attribute__((noinline)) int dispatch(unsigned which, int value) {
    if (which >= 3)
        return -1;
    return handlers[which](value) + 1;
}
__attribute__((noinline)) int forward(handler target, int value) { return target(value); }

/* A tail call to a sibling, and one to an import. */
__attribute__((noinline)) int sibling(int value) { return factorial(value + 1); }
__attribute__((noinline)) int say(const char *text) { return puts(text); }

/* Nested loops over a table in read-only data. */
__attribute__((noinline)) int weigh(const int *values, int count) {
    int total = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < 8; j++)
            if (values[i] & (1 << j))
                total += weights[j] * values[i];
    return total;
}

/* An exported function that this file calls itself: through a stub in a shared object, yet internal. */
__attribute__((noinline)) int visible(int value) { return value + global_counter; }

int entry(int argument) {
    static unsigned char program[4] = {1, 2, 3, 0};
    int values[4] = {argument, 2, 3, 4};
    if (argument == 12345)
        fail_with("unlikely");
    return dense(argument & 31, argument, 3) + offset_switch(argument) + interpret(program) +
           dispatch(argument & 3, argument) + forward(checked, argument) + sibling(argument) + say("done") +
           weigh(values, 4) + visible(argument) + sparse(argument);
}
