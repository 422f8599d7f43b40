"""Each policy as its pseudo-code reads, compiled but with no cleverness: what the benchmarks compare against."""
