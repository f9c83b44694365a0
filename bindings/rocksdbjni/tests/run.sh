#!/usr/bin/env bash
# Runs the published rocksdbjni and Kafka Streams on emulated drives, with the preloaded object:
# run.sh PROGRAMS OBJECTS [KILLS [ROCKSDBJNI]], where PROGRAMS has the program terrace, and OBJECTS
# what `make` builds. Maven gets the libraries. Without ROCKSDBJNI, the version is the one that
# Kafka Streams is made for. The state of each drive is checked after each process.
set -euo pipefail
programs=$1
objects=$2
kills=${3:-5}
version=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "run.sh: $*" >&2; exit 1; }

mvn() {
    command mvn --batch-mode --quiet "$@" > "$work/mvn" 2>&1 || { cat "$work/mvn" >&2; exit 1; }
}
mvn --file "$here/pom.xml" dependency:build-classpath -Dmdep.outputFile="$work/libraries"
libraries=$(cat "$work/libraries")
if [ -n "$version" ]; then
    mvn dependency:copy -Dartifact="org.rocksdb:rocksdbjni:$version" -DoutputDirectory="$work"
    libraries=$work/rocksdbjni-$version.jar:$libraries
fi
mkdir "$work/classes"
javac -Xlint:all -Werror -d "$work/classes" -cp "$libraries" "$here"/*.java "$here"/kafka/*.java

# drive NAME SIZE: a drive with 14 open zones.
drive() {
    "$programs/terrace" device create "$work/$1" --size "$2" --zone-size 1MiB --max-open 14 \
        --max-active 14 > "$work/said"
    "$programs/terrace" format "$work/$1" --files > "$work/said"
}

# jvm DRIVE CLASS ARGUMENTS: becomes a process of the JVM, with the drive at $work/data. Only
# processes end here, not the host, so the image need not reach its disk.
jvm() {
    local name=$1
    shift
    exec env TERRACE_DRIVE="$work/$name?unsynced" TERRACE_PREFIX="${prefix-$work/data}" \
        LD_PRELOAD="$objects/libterrace_rocksdbjni.so" \
        java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$work/classes:$libraries" "$@"
}

# on DRIVE CLASS ARGUMENTS: such a process, until its end. It writes to $work/out and $work/err.
on() { (jvm "$@") > "$work/out" 2> "$work/err"; }

# passes DRIVE CLASS ARGUMENTS: the same; the process must succeed, and the drive be sound.
passes() {
    echo "$*"
    on "$@" || { cat "$work/out" "$work/err" >&2; fail "$*: expected success, found status $?"; }
    sound "$1"
}

sound() {
    "$programs/terrace" check "$work/$1" > "$work/said" || { cat "$work/said" >&2; exit 1; }
    grep -q '^clean$' "$work/said" || fail "$1: expected a clean drive, found $(cat "$work/said")"
}

# ends REASON DRIVE CLASS ARGUMENTS: the process ends with status 1 and this reason.
ends() {
    local reason=$1 status=0
    shift
    echo "$* ($reason)"
    on "$@" || status=$?
    [ "$status" = 1 ] || fail "$*: expected status 1, found $status: $(cat "$work/err")"
    grep -q "^libterrace_rocksdbjni: .*$reason" "$work/err" ||
        fail "$*: expected a reason with '$reason', found $(cat "$work/err")"
}

files_of_host() { find "$work/data" -type f 2> "$work/said" | wc -l; }

contents() {
    drive contents.img 256MiB
    mkdir "$work/other"
    for part in fill reopen copies ingest both pair; do
        passes contents.img Databases "$part" "$work/data/db" "$work/other"
        ! grep -q 'not closed in order' "$work/said" ||
            fail "$part: expected a drive that was closed, found one that was not"
    done
    passes contents.img Databases unclosed "$work/data/db"
    passes contents.img Databases unclosed-reopen "$work/data/db"
    passes contents.img Databases destroy "$work/data/db"
    [ "$(files_of_host)" = 0 ] || fail "expected no file below the prefix on the host, found some"
    "$programs/terrace" fs ls "$work/contents.img" /db-families/ > "$work/said"
    grep -q '/db-families/CURRENT' "$work/said" ||
        fail "expected a database on the drive, found $(cat "$work/said")"
    mkdir "$work/other/host-pair"
    # Without a drive, the same program writes to the host.
    env -u TERRACE_DRIVE -u TERRACE_PREFIX LD_PRELOAD="$objects/libterrace_rocksdbjni.so" \
        java -Xmx256m -cp "$work/classes:$libraries" Databases pair "$work/other/host" \
        > "$work/said"
    [ -e "$work/other/host-pair/one/CURRENT" ] || fail "expected a database on the host, found none"
}

kills() {
    drive kills.img 128MiB
    local last=0 number
    for kill in $(seq "$kills"); do
        (jvm kills.img Acknowledged write "$work/data/history" $((last + 1))) > "$work/out" &
        local process=$!
        written
        sleep "0.$((RANDOM % 900 + 100))"
        kill -KILL "$process"
        wait "$process" 2> "$work/err" || true
        # The last line may be cut.
        number=$(sed '/^$/d' "$work/out" | tail -n 1)
        [ "$(tail -c 1 "$work/out" | wc -l)" = 1 ] || number=$(head -n -1 "$work/out" | tail -n 1)
        sound kills.img
        passes kills.img Acknowledged verify "$work/data/history" "${number:-$last}"
        last=$(cat "$work/out")
        echo "kill $kill: ${number:-none} acknowledged, $last found"
    done
}

# Waits until the process has written a line.
written() {
    for _ in $(seq 300); do
        [ ! -s "$work/out" ] || return 0
        sleep 0.1
    done
    fail "expected a process that writes, found none"
}

refusals() {
    ends 'none.img' none.img Databases pair "$work/data/db"
    head -c 1048576 /dev/zero > "$work/zeros.img"
    ends 'zeros.img' zeros.img Databases pair "$work/data/db"
    prefix='' ends 'TERRACE_PREFIX: expected the absolute path' contents.img Databases pair /db
    prefix=data ends 'found data' contents.img Databases pair /db
    (jvm contents.img Acknowledged write "$work/data/busy" 1) > "$work/out" &
    local process=$!
    written
    ends 'contents.img' contents.img Databases pair "$work/data/db"
    cat "$work/err"
    kill -KILL "$process"
    wait "$process" 2> "$work/err" || true
    sound contents.img
    # Objects for another version.
    mkdir "$work/objects"
    cp "$objects/libterrace_rocksdbjni.so" "$work/objects"
    objects=$work/objects ends 'built by `make VERSION=' contents.img Databases pair "$work/data/db"
    drive full.img 48MiB
    passes full.img Databases full "$work/data/db"
}

streams() {
    drive streams.img 256MiB
    for round in 1 2 3; do
        passes streams.img Streams "$round" "$work/data"
    done
    [ "$(files_of_host)" = 0 ] || fail "expected no file of the stores on the host, found some"
}

contents
kills
refusals
[ -n "$version" ] || streams
