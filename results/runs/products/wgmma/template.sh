#!/bin/bash
# template.sh [check|small|mid|big]...: builds template.cu where nvcc and cuBLASLt are, checks and times the points beside it that
# template.py made (points/ or $POINTS). Tables go to $OUT, too. About 20 s to build, 30 to check, 30, 60 and 90 for the sets.
SRC=$(cd "$(dirname "$0")" && pwd) W=/tmp/template OUT=${OUT:-/tmp/template/out}
POINTS=${POINTS:-$SRC/points}
mkdir -p $W "$OUT"
PATH=$PATH:/usr/local/cuda/bin
H=$(find /usr/local /opt -name cublasLt.h 2>/dev/null | head -1) L=$(find /usr/local /opt \( -name libcublasLt.so -o -name 'libcublasLt.so.1?' \) 2>/dev/null | grep -v stubs | head -1)
C=$(find / -name 'libcuda.so*' -not -path '/proc/*' 2>/dev/null | head -1)
[ -x $W/template ] || nvcc -std=c++17 -O2 -w -gencode=arch=compute_90a,code=sm_90a -I"$(dirname "$H")" -I$SRC -o $W/template $SRC/template.cu -Xlinker $L -Xlinker $C -Xlinker -rpath -Xlinker $(dirname $L) || exit
cat $POINTS/points?.txt >$POINTS/all.txt
echo "built in $SECONDS s"
for what in "${@:-check}"; do
  timeout -k 2 ${LIMIT:-140} $W/template $POINTS/all.txt $what 2>&1 | tee "$OUT/$what.txt"
  echo "$what: $SECONDS s"
done
