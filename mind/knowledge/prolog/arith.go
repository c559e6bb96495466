package prolog

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"time"
)

func isNumber(t Term) bool {
	switch t.(type) {
	case Int, Float, *big.Int:
		return true
	}
	return false
}

// eval computes an arithmetic expression.
func (h *heap) eval(t Term) (Term, error) { return h.evalDeep(t, 0) }

func (h *heap) evalDeep(t Term, depth int) (Term, error) {
	switch t := deref(t).(type) {
	case Int, Float, *big.Int:
		return t, nil
	case *Var:
		return nil, instantiationError()
	case Atom:
		switch t {
		case "pi":
			return Float(math.Pi), nil
		case "e":
			return Float(math.E), nil
		case "inf", "infinite":
			return Float(math.Inf(1)), nil
		case "nan":
			return Float(math.NaN()), nil
		case "random", "random_float":
			return Float(rand.Float64()), nil
		case "cputime", "realtime":
			return Float(float64(time.Now().UnixNano()) / 1e9), nil
		case "epsilon":
			return Float(0x1p-52), nil
		case "max_tagged_integer", "max_integer":
			return Int(math.MaxInt64), nil
		case "min_integer":
			return Int(math.MinInt64), nil
		}
		return nil, notEvaluable(t, 0)
	case String:
		if r := []rune(string(t)); len(r) == 1 {
			return Int(r[0]), nil
		}
		return nil, typeError("evaluable", t)
	case *Compound:
		if depth > maxNesting {
			return nil, errNesting
		}
		if err := h.spend(1); err != nil {
			return nil, err
		}
		if t.name == atomDot && len(t.args) == 2 && deref(t.args[1]) == Term(atomNil) {
			return h.evalDeep(t.args[0], depth+1)
		}
		if len(t.args) > 2 {
			return nil, notEvaluable(t.name, len(t.args))
		}
		x, err := h.evalDeep(t.args[0], depth+1)
		if err != nil {
			return nil, err
		}
		if len(t.args) == 1 {
			if z, ok := x.(*big.Int); ok {
				if err := h.charge(bigSize(z.BitLen())); err != nil {
					return nil, err
				}
			}
			return unary(t.name, x)
		}
		y, err := h.evalDeep(t.args[1], depth+1)
		if err != nil {
			return nil, err
		}
		return h.binary(t.name, x, y)
	default:
		return nil, typeError("evaluable", t)
	}
}

// binary is the function binary within limits: what integers beyond 64 bits take, and how long, is counted before.
func (h *heap) binary(name Atom, x, y Term) (Term, error) {
	_, ok1 := x.(Int)
	_, ok2 := y.(Int)
	grows := name == "**" || name == "^" || name == "<<"
	if (!ok1 || !ok2 || grows) && isInteger(x) && isInteger(y) {
		bits, steps := bigCost(name, bigOf(x), bigOf(y))
		if err := h.charge(bigSize(bits)); err != nil {
			return nil, err
		}
		if err := h.spend(steps); err != nil {
			return nil, err
		}
	}
	return binary(name, x, y)
}

func notEvaluable(name Atom, arity int) error {
	return thrown(newTerm("type_error", Atom("evaluable"), newTerm("/", name, Int(arity))), "%s/%d is nothing that can be computed", name, arity)
}

func toFloat(t Term) float64 {
	switch t := t.(type) {
	case Int:
		return float64(t)
	case *big.Int:
		return bigFloat(t)
	}
	return float64(t.(Float))
}

// float returns a result, unless it is none.
func float(f float64, args ...Term) (Term, error) {
	special := func(f float64) bool { return math.IsInf(f, 0) || math.IsNaN(f) }
	if special(f) {
		for _, a := range args {
			if special(toFloat(a)) {
				return Float(f), nil
			}
		}
		if math.IsNaN(f) {
			return nil, evaluationError("undefined", "the result of the computation is not defined")
		}
		return nil, evaluationError("float_overflow", "the result of the computation is too large")
	}
	return Float(f), nil
}

func overflow() error {
	return evaluationError("int_overflow", "an integer has more than %d bits; with floats (1.0 * …) it is computed approximately", maxBits)
}

func unary(name Atom, x Term) (Term, error) {
	if z, ok := x.(*big.Int); ok {
		if result, ok, err := bigUnary(name, z); ok || err != nil {
			return result, err
		}
	}
	i, isInt := x.(Int)
	f := toFloat(x)
	switch name {
	case "-":
		if isInt {
			if i == math.MinInt64 {
				return integerOf(new(big.Int).Neg(bigOf(i)))
			}
			return -i, nil
		}
		return Float(-f), nil
	case "+":
		return x, nil
	case "abs":
		if isInt {
			if i < 0 {
				return unary("-", x)
			}
			return x, nil
		}
		return Float(math.Abs(f)), nil
	case "sign":
		if isInt {
			switch {
			case i > 0:
				return Int(1), nil
			case i < 0:
				return Int(-1), nil
			}
			return Int(0), nil
		}
		switch {
		case f > 0:
			return Float(1), nil
		case f < 0:
			return Float(-1), nil
		}
		return x, nil
	case "float":
		return Float(f), nil
	case "integer":
		if isInt {
			return x, nil
		}
		return rounded(math.Round(f))
	case "round", "truncate", "floor", "ceiling":
		if isInt {
			return x, nil
		}
		return rounded(map[Atom]func(float64) float64{"round": math.Round, "truncate": math.Trunc, "floor": math.Floor, "ceiling": math.Ceil}[name](f))
	case "float_integer_part":
		return Float(math.Trunc(f)), nil
	case "float_fractional_part":
		return Float(f - math.Trunc(f)), nil
	case "sqrt":
		return float(math.Sqrt(f), x)
	case "exp":
		return float(math.Exp(f), x)
	case "log", "log2":
		if f <= 0 {
			return nil, evaluationError("undefined", "%s of %s is not defined", name, show(x))
		}
		if name == "log2" {
			return float(math.Log2(f), x)
		}
		return float(math.Log(f), x)
	case "\\":
		if isInt {
			return ^i, nil
		}
		return nil, typeError("integer", x)
	case "msb":
		if isInt && i > 0 {
			return Int(bits.Len64(uint64(i)) - 1), nil
		}
		return nil, typeError("integer", x)
	case "lsb":
		if isInt && i > 0 {
			return Int(bits.TrailingZeros64(uint64(i))), nil
		}
		return nil, typeError("integer", x)
	case "popcount":
		if isInt && i >= 0 {
			return Int(bits.OnesCount64(uint64(i))), nil
		}
		return nil, typeError("integer", x)
	case "trunc":
		return unary("truncate", x)
	case "random":
		if !isInt || i <= 0 {
			return nil, typeError("positive_integer", x)
		}
		return Int(rand.Int64N(int64(i))), nil
	case "cot", "acot":
		if f == 0 && name == "cot" {
			return nil, evaluationError("undefined", "cot of 0 is not defined")
		}
		if name == "cot" {
			return float(1/math.Tan(f), x)
		}
		return float(math.Atan(1/f), x)
	case "lgamma":
		g, _ := math.Lgamma(f)
		return float(g, x)
	case "succ":
		return binary("+", x, Int(1))
	}
	if g, ok := trigonometry[name]; ok {
		return float(g(f), x)
	}
	return nil, notEvaluable(name, 1)
}

var trigonometry = map[Atom]func(float64) float64{
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"erf": math.Erf, "erfc": math.Erfc,
}

func binary(name Atom, x, y Term) (Term, error) {
	i, ok1 := x.(Int)
	j, ok2 := y.(Int)
	if ok1 && ok2 {
		return integers(name, i, j)
	}
	if isInteger(x) && isInteger(y) {
		return bigIntegers(name, bigOf(x), bigOf(y))
	}
	f, g := toFloat(x), toFloat(y)
	switch name {
	case "+":
		return float(f+g, x, y)
	case "-":
		return float(f-g, x, y)
	case "*":
		return float(f*g, x, y)
	case "/":
		if g == 0 {
			return nil, divisionByZero()
		}
		return float(f/g, x, y)
	case "**", "^":
		if f == 0 && g < 0 {
			return nil, divisionByZero()
		}
		return float(math.Pow(f, g), x, y)
	case "min", "max":
		c := compareNumbers(x, y)
		if name == "min" {
			c = -c
		}
		if c > 0 || c == 0 && !ok1 {
			return x, nil
		}
		return y, nil
	case "atan2", "atan":
		return float(math.Atan2(f, g), x, y)
	case "nexttoward":
		return Float(math.Nextafter(f, g)), nil
	case "copysign":
		return Float(math.Copysign(f, g)), nil
	case "log":
		return float(math.Log(g)/math.Log(f), x, y)
	case "truncate":
		return rounded(math.Trunc(f))
	case "//", "mod", "rem", "div", ">>", "<<", "/\\", "\\/", "xor", "gcd":
		if !isInteger(x) {
			return nil, typeError("integer", x)
		}
		return nil, typeError("integer", y)
	}
	return nil, notEvaluable(name, 2)
}

func divisionByZero() error {
	return evaluationError("zero_divisor", "division by zero")
}

func integers(name Atom, i, j Int) (Term, error) {
	switch name {
	case "+":
		s := i + j
		if (s > i) != (j > 0) && j != 0 {
			return bigIntegers(name, bigOf(i), bigOf(j))
		}
		return s, nil
	case "-":
		s := i - j
		if (s < i) != (j > 0) && j != 0 {
			return bigIntegers(name, bigOf(i), bigOf(j))
		}
		return s, nil
	case "*":
		if i == 0 || j == 0 {
			return Int(0), nil
		}
		p := i * j
		if p/j != i || i == -1 && j == math.MinInt64 || j == -1 && i == math.MinInt64 {
			return bigIntegers(name, bigOf(i), bigOf(j))
		}
		return p, nil
	case "/":
		if j == 0 {
			return nil, divisionByZero()
		}
		if i%j == 0 {
			return integers("//", i, j)
		}
		return Float(float64(i) / float64(j)), nil
	case "//", "rem", "mod", "div", "tdiv":
		if j == 0 {
			return nil, divisionByZero()
		}
		if j == -1 && i == math.MinInt64 {
			if name == "rem" || name == "mod" {
				return Int(0), nil
			}
			return bigIntegers(name, bigOf(i), bigOf(j))
		}
		switch name {
		case "rem":
			return i % j, nil
		case "mod":
			r := i % j
			if r != 0 && (r < 0) != (j < 0) {
				r += j
			}
			return r, nil
		case "div":
			q := i / j
			if i%j != 0 && (i < 0) != (j < 0) {
				q--
			}
			return q, nil
		}
		return i / j, nil
	case "**", "^":
		return bigPower(name, bigOf(i), bigOf(j))
	case "min":
		return min(i, j), nil
	case "max":
		return max(i, j), nil
	case ">>":
		if j < 0 || j > 63 {
			return bigIntegers(name, bigOf(i), bigOf(j))
		}
		return i >> uint(j), nil
	case "<<":
		if j < 0 || j > 63 || i<<uint(j)>>uint(j) != i {
			return bigIntegers(name, bigOf(i), bigOf(j))
		}
		return i << uint(j), nil
	case "/\\":
		return i & j, nil
	case "\\/":
		return i | j, nil
	case "xor":
		return i ^ j, nil
	case "getbit":
		if i < 0 || j < 0 {
			return nil, typeError("not_less_than_zero", min(i, j))
		}
		return i >> uint(min(j, 63)) & 1, nil
	case "lcm":
		return bigIntegers(name, bigOf(i), bigOf(j))
	case "gcd":
		for j != 0 {
			i, j = j, i%j
		}
		if i < 0 {
			return unary("-", i)
		}
		return i, nil
	}
	return binary(name, Float(i), Float(j))
}

// arithmeticPredicates are those over numbers.
func arithmeticPredicates() map[string]map[int]builtin {
	numeric := func(f func(int) bool) map[int]builtin {
		return map[int]builtin{2: func(m *machine, args []Term) (bool, error) {
			x, err := m.eval(args[0])
			if err != nil {
				return false, err
			}
			y, err := m.eval(args[1])
			if err != nil {
				return false, err
			}
			if math.IsNaN(toFloat(x)) || math.IsNaN(toFloat(y)) {
				return f(2), nil
			}
			return f(compareNumbers(x, y)), nil
		}}
	}
	return map[string]map[int]builtin{
		"is": {2: func(m *machine, args []Term) (bool, error) {
			x, err := m.eval(args[1])
			if err != nil {
				return false, err
			}
			return m.unify(args[0], x)
		}},
		"=:=":  numeric(func(c int) bool { return c == 0 }),
		"=\\=": numeric(func(c int) bool { return c != 0 }),
		"<":    numeric(func(c int) bool { return c == -1 }),
		">":    numeric(func(c int) bool { return c == 1 }),
		"=<":   numeric(func(c int) bool { return c == -1 || c == 0 }),
		">=":   numeric(func(c int) bool { return c == 1 || c == 0 }),
		"succ": {2: func(m *machine, args []Term) (bool, error) {
			if _, free := deref(args[0]).(*Var); free {
				y, err := integerArg(args[1])
				if err != nil || y == 0 {
					return false, err
				}
				if y < 0 {
					return false, typeError("not_less_than_zero", y)
				}
				return m.unify(args[0], y-1)
			}
			x, err := integerArg(args[0])
			if err != nil {
				return false, err
			}
			if x < 0 {
				return false, typeError("not_less_than_zero", x)
			}
			if y := deref(args[1]); !isFree(y) && !isInteger(y) {
				return false, typeError("integer", y)
			}
			y, err := m.binary("+", x, Int(1))
			if err != nil {
				return false, err
			}
			return m.unify(args[1], y)
		}},
		"plus": {3: func(m *machine, args []Term) (bool, error) {
			free := -1
			for i, arg := range args {
				if _, ok := deref(arg).(*Var); ok {
					free = i
				}
			}
			left, right, sign, to := 0, 1, Atom("+"), 2
			if free == 0 || free == 1 {
				left, right, sign, to = 2, 1-free, "-", free
			}
			x, err := m.eval(args[left])
			if err != nil {
				return false, err
			}
			y, err := m.eval(args[right])
			if err != nil {
				return false, err
			}
			z, err := m.binary(sign, x, y)
			if err != nil {
				return false, err
			}
			return m.unify(args[to], z)
		}},
	}
}
