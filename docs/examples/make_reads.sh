#!/bin/sh
# Writes short reads of a sequence that is always the same, as a FASTA file:
# pieces of 80 bases, each 7 behind the one before, in no order.
#
#   make_reads.sh [BASES] >reads.fasta
awk -v bases="${1:-2000}" '
BEGIN {
  length_of_read = 80
  step = 7
  # Lehmer numbers: every product is a whole number that awk can hold.
  state = 88172645
  for (i = 0; i < bases; ++i) {
    state = state * 16807 % 2147483647
    sequence = sequence substr("ACGT", int(state / 1024) % 4 + 1, 1)
  }
  reads = int((bases + step - 1) / step)
  stride = 997  # a prime: all reads once, unless it divides their number
  if (reads % stride == 0) stride = 991
  for (i = 0; i < reads; ++i) {
    read = substr(sequence, i * stride % reads * step + 1, length_of_read)
    print ">read" i
    for (at = 1; at <= length(read); at += 60) print substr(read, at, 60)
  }
}'
