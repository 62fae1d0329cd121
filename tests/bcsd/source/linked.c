static __attribute__((noinline)) int hidden(int *values, int count) {
  int most = values[0];
  for (int i = 1; i < count; i++)
    if (values[i] > most) most = values[i] + 7;
  return most;
}
__attribute__((noinline)) int a_function_with_a_long_name(int *values, int count) {
  return count > 3 ? hidden(values, count) * 3 : hidden(values + 1, count - 1);
}
__declspec(dllexport) int shown(int *values, int count) {
  return hidden(values, count) + a_function_with_a_long_name(values + 1, count - 1);
}
