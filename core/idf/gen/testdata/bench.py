"""Prints the seconds to read and to write the object of bench_test.go."""

import timeit

from golden import Complex

data = open("payload", "rb").read()
o = Complex.from_payload(data)
for call in (lambda: Complex.from_payload(data), o.to_payload):
    print(min(timeit.repeat(call, number=500, repeat=20)) / 500)
