/* Two versions of one program: each function of the patch is changed in one way. See ../../source/build.sh. */
typedef unsigned long size_t;
extern int report(const char *text, int value);
extern int check(int value);
extern int verify(int value);
extern void *memcpy(void *to, const void *from, size_t size);
extern int assertion(const char *text, const char *file, int line);

struct item {
  int kind;
  int size;
  char *name;
  struct item *next;
  long stamp;
};

#define APART __attribute__((noinline, noclone, noipa))

int limit_low = 10, limit_high = 20;
static int hits, misses;
static const double FACTORS[] = {0.5, 0.25, 2.0};

#ifdef NEW
#define PICK(old, new) new
char shift_everything[200] = {1};
APART int added_function(struct item *item) {
  int sum = 0;
  for (; item; item = item->next)
    sum += item->size * 7 + check(item->kind);
  return report("only in the new version", sum);
}
#else
#define PICK(old, new) old
APART int removed_function(int a, int b) {
  while (a > b) {
    a -= verify(b) + 3;
    b ^= a << 4;
  }
  return report("only in the old version", a | b);
}
#endif

APART int helper_one(int value) {
  hits += value;
  return check(value + 1) + hits;
}

APART int helper_two(int value) {
  misses -= value;
  return verify(value - 1) * misses;
}

APART int the_constant(struct item *item) { return item->size * 3 + check(PICK(1024, 4096)); }

APART int the_string(int value) { return report(PICK("value is %d", "value is %u"), value) + 1; }

APART int the_import(int value) { return PICK(check, verify)(value * 5) + 2; }

APART int the_callee(int value) { return PICK(helper_one, helper_two)(value + 9) - 4; }

APART int the_global(int value) { return value > PICK(limit_low, limit_high) ? value : check(value); }

APART int the_field(struct item *item) { return check(item->PICK(kind, size)) + 3; }

APART int the_condition(int a, int b) { return a PICK(<, <=) b ? check(a) : verify(b); }

APART double the_number(double x) { return x * PICK(1.5, 2.5) + FACTORS[1]; }

APART int the_block(struct item *item, int value) {
  int sum = 0;
  for (; item; item = item->next) {
    sum += item->size;
#ifdef NEW
    if (item->kind == 3)
      sum += verify(value);
#endif
  }
  return sum + check(value);
}

APART int the_bound(char *to, const char *from, size_t size) {
#ifdef NEW
  if (size > 64)
    return -1;
#endif
  memcpy(to, from, size);
  return report("copied", (int)size);
}

APART int the_order(struct item *item, int value) {
  int before = PICK(check(value), item->size);
  int after = PICK(item->size, check(value));
  return before * 2 + after * 3;
}

APART int the_buffer(const char *from, size_t size) {
  char buffer[PICK(64, 96)];
  memcpy(buffer, from, size);
  return report(buffer, 1);
}

APART int the_line(int value) {
  if (value < 0)
    return assertion("value >= 0", "patch.c", PICK(77, 93));
  return check(value);
}

APART int the_same(struct item *item, int value) {
  int sum = the_constant(item) + limit_low;
  for (; item; item = item->next)
    sum += report("the same in both", item->size) + helper_one(value);
  hits = sum;
  return sum + misses;
}

APART int PICK(name_before, name_after)(struct item *item, int value) {
  long sum = value;
  while (item) {
    sum = sum * 31 + item->stamp;
    if (sum > 1000)
      sum -= verify((int)sum);
    item = item->next;
  }
  return (int)sum;
}

APART int the_many(int a, int b, int c, int d, int e, int f) {
  int x = a * b + c, y = c * d - e, z = e * f ^ a;
  for (int i = 0; i < f; i++) {
    x += check(y) * a;
    y ^= verify(z) + b;
    z -= check(x) - (c & d);
  }
  return x + y * 2 + z * 3 + a * 5 + b * 7 + c * 11 + d * 13 + e * 17;
}

APART int the_local(struct item *item) {
  struct item copy = {PICK(28, 128), item->size};
  return report((char *)&copy, 3);
}
