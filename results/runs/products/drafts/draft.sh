#!/bin/bash
# draft.sh: builds the drafts and their faults, runs them plain and under the sanitizers, then mma.sync against wgmma. Results in $OUT.
# [check|sweep]; under 5 minutes. Logs stay in /tmp/draft.
SRC=$(cd "$(dirname "$0")" && pwd) W=/tmp/draft OUT=${OUT:-/tmp/draft/out} PART=${1:-all}
rm -rf $W/log; mkdir -p $W/log $W/inc $W/o "$OUT"
[ -d $W/inc/cute ] || xz -dc $SRC/headers.tar.xz | tar -C $W/inc -x
export SRC W NVCC="nvcc -std=c++17 -O3 --expt-relaxed-constexpr -DNDEBUG -gencode=arch=compute_90a,code=sm_90a -I$W/inc -I$SRC"
PATH=$PATH:/usr/local/cuda/bin
command -v compute-sanitizer >/dev/null || PATH=$PATH:$(dirname "$(find /usr/local /opt -name compute-sanitizer -type f 2>/dev/null | head -1)")
H=$(find /usr/local /opt -name cublasLt.h 2>/dev/null | head -1) L=$(find /usr/local /opt \( -name libcublasLt.so -o -name 'libcublasLt.so.1?' \) 2>/dev/null | grep -v stubs | head -1)
export LT_INC="-I$(dirname "$H")"
PROGRAMS="ring ring-A ring-B1 ring-B2 ring-C ring-G ring-H dsmem dsmem-C dsmem-E dsmem-F dsmem-G dsmem-H split split-D split-E split-F split-G split-H"
PARTS="wgmma_small-128 mma_sync-128 mma_sync-64 wgmma_small-64 mma_sync-16 wgmma_small-16 mma_sync-8 wgmma_small-8 sweep-0"
[ $PART = check ] && PARTS=
[ $PART = sweep ] && PROGRAMS=
build() {
  local n=$1 f=${1%-*} v=${1#*-}
  case $n in
    sweep-*) timeout 150 $NVCC $LT_INC -c -o $W/o/$n.o $SRC/$f.cu ;;
    mma_sync-*|wgmma_small-*) timeout 150 $NVCC -DPART=$v -c -o $W/o/$n.o $SRC/$f.cu ;;
    *-*) timeout 150 $NVCC -lineinfo -DFAULT -DFAULT_$v -o $W/o/$n $SRC/$f.cu ;;
    *) timeout 150 $NVCC -lineinfo -o $W/o/$n $SRC/$f.cu ;;
  esac >$W/log/$n.build 2>&1 || echo "BUILD FAILED $n: $(grep -m2 -i error $W/log/$n.build | cut -c1-200 | tr '\n' ' ')"
}
plain() { timeout -k 2 25 $W/o/$1 >$W/log/$1.plain 2>&1; echo "rc=$?" >>$W/log/$1.plain; }
sanitize() {
  local n=$1 t=$2 more= s=30
  grep -qE '^rc=1(24|37)$' $W/log/$n.plain && s=12  # it hangs
  [ $t = racecheck ] && more="--racecheck-report all"
  timeout -k 2 $s compute-sanitizer --tool $t $more --print-limit 20 --launch-timeout 60 $W/o/$n --small >$W/log/$n.$t 2>&1; echo "rc=$?" >>$W/log/$n.$t
}
export -f build plain sanitize
echo $PARTS $PROGRAMS | tr ' ' '\n' | xargs -P 16 -I{} bash -c 'build {}'
if [ -n "$PARTS" ]; then
  (cd $W/o && timeout 60 $NVCC -o $W/o/sweep $(for p in $PARTS; do [ -f $p.o ] && echo $p.o; done) -Xlinker $L -Xlinker -rpath -Xlinker $(dirname $L)) >$W/log/sweep.build 2>&1 || tail -3 $W/log/sweep.build
fi
B=$SECONDS
for p in $PROGRAMS; do [ -x $W/o/$p ] && echo $p; done | xargs -P 6 -I{} bash -c 'plain {}'
P=$SECONDS
for p in $PROGRAMS; do for t in memcheck racecheck initcheck synccheck; do [ -x $W/o/$p ] && echo $p $t; done; done | xargs -P 10 -L 1 bash -c 'sanitize $0 $1'
S=$SECONDS
if [ -n "$PROGRAMS" ]; then python3 $SRC/table.py $W/log "$OUT/draft.json" $PROGRAMS; fi
if [ -x $W/o/sweep ]; then timeout -k 2 ${SWEEP_S:-120} $W/o/sweep "$OUT/sweep.json"; echo "sweep rc=$?"; fi
tar -C $W -cJf "$OUT/logs.tar.xz" log
echo "seconds: build $B, plain $((P-B)), sanitizers $((S-P)), sweep $((SECONDS-S)), all $SECONDS"
