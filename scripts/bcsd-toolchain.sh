#!/usr/bin/env bash
# Install what `weft bcsd dataset build` needs on Debian or Ubuntu: source packages, gcc and clang for x86-64
# and AArch64; with --cross gcc for i386, ARM32, MIPS32, RISC-V and PPC64 too, and g++ for AArch64 and ARM32.
# Run as root, once.
set -euo pipefail

sources=/etc/apt/sources.list.d/weft-source-packages.sources
if ! apt-get indextargets 2>/dev/null | grep -q 'Created-By: Sources'; then
  . /etc/os-release
  case "$ID" in
    debian) uri=http://deb.debian.org/debian keyring=/usr/share/keyrings/debian-archive-keyring.gpg components=main ;;
    ubuntu) uri=http://archive.ubuntu.com/ubuntu keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg components='main universe' ;;
    *) echo "bcsd-toolchain: unknown distribution $ID: enable deb-src by hand" >&2; exit 2 ;;
  esac
  cat > "$sources" <<EOF
Types: deb-src
URIs: $uri
Suites: $VERSION_CODENAME $VERSION_CODENAME-updates
Components: $components
Signed-By: $keyring
EOF
fi
cross=()
if [ "${1:-}" = --cross ]; then
  cross+=(g++-aarch64-linux-gnu g++-arm-linux-gnueabihf)
  for triple in i686-linux-gnu:i386 arm-linux-gnueabihf:armhf mipsel-linux-gnu:mipsel riscv64-linux-gnu:riscv64 \
    powerpc64le-linux-gnu:ppc64el; do
    cross+=("gcc-${triple%:*}" "libc6-dev-${triple#*:}-cross")
  done
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
  gcc g++ clang binutils dpkg-dev make tclsh graphviz \
  gcc-aarch64-linux-gnu binutils-aarch64-linux-gnu libc6-dev libc6-dev-arm64-cross "${cross[@]}"
