// What the files in ../debug_files are made from: functions with every kind of name.
#ifdef _WIN32
#define STDCALL __stdcall
#define FASTCALL __fastcall
#else
#define STDCALL
#define FASTCALL
#endif
#define APART __attribute__((noinline))
extern "C" {
int table[16];
static APART int hidden(int *v, int n) {
  int most = v[0];
  for (int i = 1; i < n; i++)
    if (v[i] > most) most = v[i];
  return most;
}
APART int shown(int *v, int n) { return hidden(v, n) + hidden(v + 1, n - 1); }
APART int STDCALL standard(int a, int b) { return shown(table + a, b) * 3; }
APART int FASTCALL fast(int a, int b) { return shown(table + a, b) * 5; }
APART int _low(int a) { return a ^ table[3]; }
int entry() { return standard(1, 2) + fast(2, 3) + _low(7); }
}
namespace outer {
namespace {
APART int quiet(int x) { return x * 7 + table[1]; }
}
int use(int x) { return quiet(x) + 2; }
int use(short x) { return quiet(x) - 3; }
template <class T> struct Box {
  T value;
  APART T get(T other) { return value * other - quiet(other); }
};
template struct Box<short>;
}
