package prolog

import (
	"math"
	"math/big"
)

// Integers beyond 64 bits are *big.Int, those that fit are Int always.

// maxBits is how long an integer may become.
const maxBits = 1 << 20

// integerOf returns an integer in its one form.
func integerOf(z *big.Int) (Term, error) {
	switch {
	case z.IsInt64():
		return Int(z.Int64()), nil
	case z.BitLen() > maxBits:
		return nil, overflow()
	}
	return z, nil
}

// bigOf returns an integer as a big one; nil if it is none.
func bigOf(t Term) *big.Int {
	switch t := t.(type) {
	case Int:
		return big.NewInt(int64(t))
	case *big.Int:
		return t
	}
	return nil
}

// bigSize is what an integer of so many bits takes of memory.
func bigSize(bits int) int { return 64 + bits/8 }

// bigCost is how many bits the result of two integers may have, and how many steps it takes beyond going
// through these.
func bigCost(name Atom, x, y *big.Int) (bits int, steps int64) {
	a, b := int64(x.BitLen()), int64(y.BitLen())
	words := a / 64 * (b / 64)
	switch name {
	case "**", "^", "<<":
		n := int64(maxBits)
		switch {
		case !y.IsInt64() || y.Int64() > maxBits:
		case name == "<<":
			n = a + max(y.Int64(), 0)
		default:
			n = a * max(y.Int64(), 1)
		}
		n = min(n, maxBits)
		return int(n), n / 64
	case "*", "//", "rem", "mod", "div", "tdiv":
		steps = words / 512
	case "/", "gcd", "lcm":
		steps = words / 32
	}
	return int(a + b), steps
}

func isInteger(t Term) bool {
	switch t.(type) {
	case Int, *big.Int:
		return true
	}
	return false
}

func bigFloat(z *big.Int) float64 {
	f, _ := new(big.Float).SetInt(z).Float64()
	return f
}

// rounded returns a float that has no fraction as an integer.
func rounded(f float64) (Term, error) {
	if f >= -1<<63 && f < 1<<63 {
		return Int(f), nil
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, evaluationError("undefined", "%s is no integer", formatFloat(Float(f)))
	}
	z, _ := big.NewFloat(f).Int(nil)
	return integerOf(z)
}

// bigUnary is unary of a big integer; ok is false for what is computed with its float.
func bigUnary(name Atom, x *big.Int) (result Term, ok bool, err error) {
	z := new(big.Int)
	switch name {
	case "-":
		z.Neg(x)
	case "+", "integer", "round", "truncate", "trunc", "floor", "ceiling":
		return x, true, nil
	case "abs":
		z.Abs(x)
	case "sign":
		return Int(x.Sign()), true, nil
	case "\\":
		z.Not(x)
	case "msb":
		if x.Sign() > 0 {
			return Int(x.BitLen() - 1), true, nil
		}
		return nil, true, typeError("not_less_than_one", x)
	default:
		return nil, false, nil
	}
	result, err = integerOf(z)
	return result, true, err
}

// bigIntegers is integers of big ones, or of those whose result does not fit.
func bigIntegers(name Atom, x, y *big.Int) (Term, error) {
	z := new(big.Int)
	switch name {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		if x.BitLen()+y.BitLen() > maxBits+64 {
			return nil, overflow()
		}
		z.Mul(x, y)
	case "/", "//", "rem", "mod", "div", "tdiv":
		if y.Sign() == 0 {
			return nil, divisionByZero()
		}
		rest := new(big.Int)
		z.QuoRem(x, y, rest)
		switch {
		case name == "/" && rest.Sign() != 0:
			f, _ := new(big.Rat).SetFrac(x, y).Float64()
			return float(f)
		case name == "rem":
			z = rest
		case name == "mod":
			if z = rest; rest.Sign() != 0 && rest.Sign() != y.Sign() {
				z.Add(rest, y)
			}
		case name == "div" && rest.Sign() != 0 && rest.Sign() != y.Sign():
			z.Sub(z, big.NewInt(1))
		}
	case "**", "^":
		return bigPower(name, x, y)
	case "min", "max":
		if c := x.Cmp(y); c < 0 == (name == "min") {
			return integerOf(x)
		}
		return integerOf(y)
	case ">>", "<<":
		if !y.IsInt64() || y.Int64() > maxBits || y.Int64() < -maxBits {
			return nil, overflow()
		}
		n := y.Int64()
		if name == ">>" {
			n = -n
		}
		switch {
		case n < 0:
			z.Rsh(x, uint(-n))
		case x.BitLen()+int(n) > maxBits:
			return nil, overflow()
		default:
			z.Lsh(x, uint(n))
		}
	case "/\\":
		z.And(x, y)
	case "\\/":
		z.Or(x, y)
	case "xor":
		z.Xor(x, y)
	case "lcm":
		if x.Sign() == 0 || y.Sign() == 0 {
			return Int(0), nil
		}
		z.GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))
		z.Abs(z.Mul(z.Quo(x, z), y))
	case "gcd":
		z.GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))
	default:
		return binary(name, Float(bigFloat(x)), Float(bigFloat(y)))
	}
	return integerOf(z)
}

func bigPower(name Atom, x, y *big.Int) (Term, error) {
	one := x.IsInt64() && (x.Int64() == 1 || x.Int64() == -1)
	switch {
	case y.Sign() < 0 && !one:
		return binary(name, Float(bigFloat(x)), Float(bigFloat(y)))
	case one && y.Bit(0) == 0:
		return Int(1), nil
	case one:
		return integerOf(x)
	case x.Sign() == 0 && y.Sign() > 0:
		return Int(0), nil
	case !y.IsInt64() || y.Int64() > maxBits || int64(x.BitLen()-1)*y.Int64() > maxBits:
		return nil, overflow()
	}
	return integerOf(new(big.Int).Exp(x, y, nil))
}
