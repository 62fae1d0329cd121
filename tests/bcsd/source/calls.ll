declare i32 @ext(i32)
define i32 @own(i32 %x) noinline {
  %c = icmp ugt i32 %x, 10
  br i1 %c, label %a, label %b
a:
  %y = mul i32 %x, 77
  ret i32 %y
b:
  ret i32 3
}
define i32 @f(i32 %x) {
  %a = call i32 @ext(i32 %x)
  %b = call i32 @own(i32 %a)
  %d = add i32 %a, %b
  ret i32 %d
}
define i32 @t(i32 %x) {
  %a = tail call i32 @own(i32 %x)
  ret i32 %a
}
define i32 @u(i32 %x) {
  %a = tail call i32 @ext(i32 %x)
  ret i32 %a
}
