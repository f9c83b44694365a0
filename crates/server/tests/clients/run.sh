#!/usr/bin/env bash
# Runs the clients boto3, rclone and s3cmd against a server on an image and one on a directory:
# run.sh DIRECTORY, where the programs terrace and terrace-serve are. boto3 must be found by python3.
# Afterwards the store must be sound.
set -euo pipefail
programs=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" || true; fi; rm -rf "$work"' EXIT
unset AWS_CA_BUNDLE http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

cp "$here/keys.toml" "$work/keys.toml"
chmod 600 "$work/keys.toml"
mkdir "$work/directory"
"$programs/terrace" format "$work/directory" > "$work/format"
"$programs/terrace" device create "$work/image" --size 2GiB --zone-size 8MiB > "$work/create"
"$programs/terrace" format "$work/image" > "$work/format"

# A tree with files below and above the size of an entry, and some that go in parts.
mkdir -p "$work/tree/a/b"
for n in $(seq 40); do head -c $((n * n * 37)) /dev/urandom > "$work/tree/a/file $n"; done
head -c 7000000 /dev/urandom > "$work/tree/a/b/seven"
head -c 12000000 /dev/urandom > "$work/tree/twelve"
: > "$work/tree/empty"

with_rclone() {
    export RCLONE_CONFIG="" RCLONE_CONFIG_T_TYPE=s3 RCLONE_CONFIG_T_PROVIDER=Other
    export RCLONE_CONFIG_T_ENDPOINT=$1 RCLONE_CONFIG_T_ACCESS_KEY_ID=admin
    export RCLONE_CONFIG_T_SECRET_ACCESS_KEY=adminadminadminadmin
    local tree=$work/rclone-tree
    rm -rf "$tree" && cp -r "$work/tree" "$tree"
    rclone mkdir t:rclone
    rclone sync --quiet --s3-upload-cutoff 5M --s3-chunk-size 5M "$tree" t:rclone/tree
    rclone check --quiet "$tree" t:rclone/tree
    rclone check --quiet --download "$tree" t:rclone/tree
    echo more >> "$tree/empty"
    rm "$tree/a/file 3"
    touch -d 2001-01-01 "$tree/a/file 4"
    rclone sync --quiet --s3-upload-cutoff 5M --s3-chunk-size 5M "$tree" t:rclone/tree
    rclone check --quiet "$tree" t:rclone/tree
    rclone copy --quiet t:rclone/tree t:rclone/copy
    rclone check --quiet t:rclone/tree t:rclone/copy
    rclone lsf -R t:rclone/tree | sort > "$work/list"
    (cd "$tree" && find . -mindepth 1 -type d -printf '%P/\n' -o -type f -printf '%P\n' | sort) \
        | diff - "$work/list"
    rclone purge --quiet t:rclone
}

with_s3cmd() {
    printf '[default]\naccess_key = admin\nsecret_key = adminadminadminadmin\n' > "$work/s3cfg"
    printf 'host_base = %s\nhost_bucket = %s\n' "$1" "$1" >> "$work/s3cfg"
    printf 'use_https = False\nbucket_location = us-east-1\n' >> "$work/s3cfg"
    s() { s3cmd -c "$work/s3cfg" --no-progress --quiet "$@"; }
    s mb s3://s3cmd
    s sync --multipart-chunk-size-mb=5 "$work/tree/" s3://s3cmd/tree/
    rm -rf "$work/back" && mkdir "$work/back"
    s get --recursive s3://s3cmd/tree/ "$work/back/"
    diff -r "$work/tree" "$work/back"
    s modify --add-header=x-amz-meta-k:v s3://s3cmd/tree/empty
    s3cmd -c "$work/s3cfg" info s3://s3cmd/tree/empty > "$work/info"
    grep -q 'x-amz-meta-k: v' "$work/info"
    s cp s3://s3cmd/tree/twelve s3://s3cmd/again
    s get --force s3://s3cmd/again "$work/again"
    cmp "$work/again" "$work/tree/twelve"
    s mv s3://s3cmd/again s3://s3cmd/moved
    s del s3://s3cmd/moved
    s del --recursive --force s3://s3cmd/
    s rb s3://s3cmd
}

# Starts a server on a store, and sets its address.
start() {
    # That of the server before has an address, too.
    rm -f "$work/log"
    "$programs/terrace" serve "$work/$1" --listen 127.0.0.1:0 --keys "$work/keys.toml" "${@:2}" \
        2> "$work/log" &
    server=$!
    for _ in $(seq 100); do grep -qs address= "$work/log" && break; sleep 0.1; done
    address=$(sed -n 's/.*address=\([^ ]*\).*/\1/p' "$work/log")
}

# Ends it in order, and checks its store.
end() {
    kill -TERM "$server"
    wait "$server"
    server=
    grep -q 'closed cut_off=0' "$work/log"
    "$programs/terrace" check "$work/$1" | tail -n 1 | grep -qx clean
}

for store in image directory; do
    start "$store"
    python3 "$here/check.py" "http://$address"
    with_rclone "http://$address"
    with_s3cmd "$address"
    end "$store"
    echo "$store: boto3, rclone and s3cmd: ok"
done

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/certificate.pem" \
    -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2> "$work/openssl"
start directory --tls-certificate "$work/certificate.pem" --tls-key "$work/key.pem"
AWS_CA_BUNDLE=$work/certificate.pem SSL_CERT_FILE=$work/certificate.pem \
    python3 "$here/check.py" "https://$address"
end directory
echo "directory: boto3 by TLS: ok"
