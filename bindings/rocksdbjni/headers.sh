#!/bin/sh
# Prints the directory of RocksDB's headers of a version, of a package of the Rust registry that has
# RocksDB's source: `headers.sh VERSION DIRECTORY`, where DIRECTORY may be written. The file
# `versions` says which package that is.
set -eu
version=$1
place=$2
line=$(grep "^$version " "$(dirname "$0")/versions") || {
  echo "headers.sh: expected one of $(grep -o '^[0-9.]*' "$(dirname "$0")/versions" | xargs), \
found $version; a further version is a line of the file \`versions\`" >&2
  exit 1
}
set -- $line
mkdir -p "$place/src"
: > "$place/src/lib.rs"
cat > "$place/Cargo.toml" <<END
[package]
name = "headers"
version = "0.0.0"
edition = "2021"

[dependencies]
$2 = "=$3"

[workspace]
END
cargo fetch --quiet --manifest-path "$place/Cargo.toml"
manifest=$(cargo metadata --offline --format-version 1 --manifest-path "$place/Cargo.toml" |
  grep -o "\"manifest_path\":\"[^\"]*/$2-$3[^\"]*/Cargo.toml\"" | head -n 1 | cut -d '"' -f 4)
headers=$(dirname "$manifest")/rocksdb/include
found=$(sed -n 's/^#define ROCKSDB_\(MAJOR\|MINOR\|PATCH\) //p' "$headers/rocksdb/version.h" |
  xargs | tr ' ' .)
if [ "$found" != "$version" ]; then
  echo "headers.sh: expected headers of $version in $2 $3, found those of $found" >&2
  exit 1
fi
echo "$headers"
