#!/usr/bin/env bash
# Make the files in ../files and ../debug_files again. Needs gcc, clang, lld, llvm and gcc-aarch64-linux-gnu; the tests do not.
set -euo pipefail
cd "$(dirname "$0")"
out=../files
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
small=(-shared -nostdlib -g0 -w -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 -Wl,--build-id=none)
for level in O0 O1 O2 O3 Os; do
  gcc -"$level" -fPIC "${small[@]}" sample.c -o "$out/gcc-$level-x86_64.so"
done
for level in O0 O2 O3; do
  clang -"$level" -fPIC "${small[@]}" sample.c -o "$out/clang-$level-x86_64.so"
  aarch64-linux-gnu-gcc -"$level" -fPIC "${small[@]}" sample.c -o "$out/gcc-$level-aarch64.so"
  clang --target=aarch64-linux-gnu -fuse-ld=lld -"$level" -fPIC "${small[@]}" sample.c -o "$out/clang-$level-aarch64.so"
done
gcc -O2 -fno-pic -no-pie -nostdlib -static -g0 -w -Wl,--unresolved-symbols=ignore-all -Wl,-e,entry \
  -Wl,-z,noseparate-code -Wl,--build-id=none sample.c -o "$out/gcc-O2-fixed-x86_64"
gcc -O2 -fPIC -g0 -w -c sample.c -o "$out/gcc-O2-x86_64.o"
aarch64-linux-gnu-gcc -O2 -fPIC -g0 -w -c sample.c -o "$out/gcc-O2-aarch64.o"
gcc "${small[@]}" odd_x86_64.s -o "$out/odd-x86_64.so"
strip -o "$out/gcc-O2-x86_64-stripped.so" "$out/gcc-O2-x86_64.so"
aarch64-linux-gnu-strip -o "$out/gcc-O2-aarch64-stripped.so" "$out/gcc-O2-aarch64.so"
other() {  # NAME FLAG...
  clang "${@:2}" -O2 -ffreestanding -w -c sample.c -o "$work/sample.o"
  ld.lld --unresolved-symbols=ignore-all -e entry -z noseparate-code "$work/sample.o" -o "$out/clang-O2-$1"
}
other i386 --target=i386-linux-gnu -fno-pic
other arm --target=arm-linux-gnueabihf
other thumb --target=arm-linux-gnueabihf -march=armv7-a -mthumb
other mips --target=mips-linux-gnu
other mipsel --target=mipsel-linux-gnu
clang --target=x86_64-pc-windows-msvc -O2 -ffreestanding -w -c sample.c -o "$work/sample.obj"
lld-link /dll /noentry /force:unresolved /export:entry /export:dense /timestamp:0 "$work/sample.obj" "/out:$out/clang-O2-x86_64.dll" 2>/dev/null
rm -f "$out/clang-O2-x86_64.lib"
clang --target=x86_64-apple-darwin -O2 -ffreestanding -w -c sample.c -o "$work/sample.o"
"$(dirname "$(readlink -f "$(command -v ld.lld)")")/ld64.lld" -arch x86_64 -platform_version macos 11 11 -dylib \
  -undefined dynamic_lookup -o "$out/clang-O2-x86_64.dylib" "$work/sample.o"
# Objects whose calls only relocations tell.
llc -mtriple=riscv64-linux-gnu -mattr=+m,+a,+c,+relax -relocation-model=pic -filetype=obj calls.ll -o "$out/llvm-riscv64.o"
llc -mtriple=powerpc64le-linux-gnu -relocation-model=pic -filetype=obj calls.ll -o "$out/llvm-ppc64.o"
# The two versions in ../difference/files.
out=../difference/files
patch() {  # NAME COMPILER FLAG...
  "$2" "${small[@]}" "${@:3}" "$out/patch.c" -o "$out/patch-$1"
}
for version in old new; do
  flag=$([ "$version" = new ] && echo -DNEW || echo -DOLD)
  patch "$version-x86_64.so" gcc -O2 -fPIC "$flag"
  patch "$version-aarch64.so" aarch64-linux-gnu-gcc -O2 -fPIC "$flag"
  patch "$version-mipsel.so" mipsel-linux-gnu-gcc -O2 -fPIC "$flag"
  patch "$version-arm.so" arm-linux-gnueabihf-gcc -O2 -fPIC "$flag"
  strip -o "$out/patch-$version-x86_64-stripped.so" "$out/patch-$version-x86_64.so"
done
# The old version with other registers, in another order.
patch registers-x86_64.so gcc -O2 -fPIC -DOLD -ffixed-rbx -ffixed-r12 -fno-schedule-insns2 -fno-reorder-blocks
# Programs whose names are beside them.
out="$(realpath ../debug_files)"
cp linked.c "$work"
(
  cd "$work"
  windows=x86_64-w64-mingw32
  $windows-gcc -g -O2 -shared -nostdlib -Wl,-e,shown -Wl,--no-insert-timestamp linked.c -o whole.dll
  $windows-objcopy --only-keep-debug whole.dll linked.debug
  $windows-strip whole.dll -o linked.dll
  $windows-objcopy --add-gnu-debuglink=linked.debug linked.dll
  for file in linked.dll linked.debug; do xz -9c "$file" > "$out/$file.xz"; done
)
lld="$(dirname "$(readlink -f "$(command -v ld.lld)")")/ld64.lld"
cp named.cpp "$work"
cd "$work"
named=(-O1 -g -fno-rtti -fno-exceptions -w -fdebug-compilation-dir=. -c named.cpp)
for target in x86_64 aarch64 i686; do
  clang --target=$target-pc-windows-msvc "${named[@]}" -gcodeview -o named.obj
  lld-link /debug /nodefaultlib /dll /noentry /export:shown /brepro /pdbaltpath:%_PDB% named.obj \
    "/out:named-$target.dll" "/pdb:named-$target.pdb"
  xz -c "named-$target.dll" > "$out/named-$target.dll.xz"
  xz -c "named-$target.pdb" > "$out/named-$target.pdb.xz"
done
clang --target=arm64-apple-macos11 "${named[@]}" -o named.o
"$lld" -arch arm64 -platform_version macos 11 11 -dylib -install_name named.dylib -o named.dylib named.o
dsymutil named.dylib
llvm-strip named.dylib
xz -c named.dylib > "$out/named.dylib.xz"
xz -c named.dylib.dSYM/Contents/Resources/DWARF/named.dylib > "$out/named.dylib.dSYM.xz"
