import timeit

from golden import Complex

data = open("payload", "rb").read()
cup = Complex.from_payload(data)
for call in (lambda: Complex.from_payload(data), cup.to_payload):
    print(min(timeit.repeat(call, number=500, repeat=20)) / 500)
