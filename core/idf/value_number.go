package idf

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// A number on its way from plain Go or JSON into a member. Integers stay integers,
// so that none is lost to a float.
type number struct {
	kind numberKind
	u    uint64 // magnitude of an integer
	neg  bool
	f    float64
	text string // of a number that came as text, whose digits say a float to be rounded once
}

type numberKind uint8

const (
	notNumber numberKind = iota
	anInteger
	aFloat
)

func intNumber(v int64) number {
	if v < 0 {
		return number{kind: anInteger, u: -uint64(v), neg: true}
	}
	return number{kind: anInteger, u: uint64(v)}
}

// numberOf returns v as a number; it is notNumber if v is none.
func numberOf(v any) number {
	switch v := v.(type) {
	case float64:
		return number{kind: aFloat, f: v}
	case float32:
		return number{kind: aFloat, f: float64(v)}
	case int:
		return intNumber(int64(v))
	case int64:
		return intNumber(v)
	case int32:
		return intNumber(int64(v))
	case uint64:
		return number{kind: anInteger, u: v}
	case uint32:
		return number{kind: anInteger, u: uint64(v)}
	case uint8:
		return number{kind: anInteger, u: uint64(v)}
	case Enum:
		return intNumber(int64(v.Number))
	case jsonNumber:
		return parseNumber(string(v))
	case nil, bool, string, engram.Time, time.Duration:
		return number{}
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return intNumber(rv.Int())
	case rv.CanUint():
		return number{kind: anInteger, u: rv.Uint()}
	case rv.CanFloat():
		return number{kind: aFloat, f: rv.Float()}
	}
	return number{}
}

// parseNumber reads a JSON number, or one of the words for what JSON has no
// numbers for.
func parseNumber(s string) number {
	switch s {
	case "NaN":
		return number{kind: aFloat, f: math.NaN()}
	case "Infinity":
		return number{kind: aFloat, f: math.Inf(1)}
	case "-Infinity":
		return number{kind: aFloat, f: math.Inf(-1)}
	}
	if !isJSONNumber(s) {
		return number{}
	}
	digits, neg := strings.CutPrefix(s, "-")
	if u, err := strconv.ParseUint(digits, 10, 64); err == nil && (!neg || u > 0) {
		return number{kind: anInteger, u: u, neg: neg, text: s}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil { // beyond the range of a double
		return number{}
	}
	return number{kind: aFloat, f: f, text: s}
}

// isJSONNumber reports whether s is a number by the grammar of JSON.
func isJSONNumber(s string) bool {
	n := scanNumber(s)
	return n > 0 && n == len(s)
}

// scanNumber returns the length of the number that s begins with, 0 if none.
func scanNumber[T string | []byte](s T) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if start := i; !digits() || s[start] == '0' && i > start+1 {
		return 0
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// int64 returns the number if it is an integer that fits; a float must have no
// fraction.
func (n number) int64() (int64, bool) {
	switch {
	case n.kind == aFloat:
		if n.f != math.Trunc(n.f) || n.f < -1<<63 || n.f >= 1<<63 {
			return 0, false
		}
		return int64(n.f), true
	case n.neg:
		return int64(-n.u), n.kind == anInteger && n.u <= 1<<63
	}
	return int64(n.u), n.kind == anInteger && n.u <= math.MaxInt64
}

func (n number) uint64() (uint64, bool) {
	if n.kind == aFloat {
		if n.f != math.Trunc(n.f) || n.f < 0 || n.f >= 1<<64 {
			return 0, false
		}
		return uint64(n.f), true
	}
	return n.u, n.kind == anInteger && !n.neg
}

// float64 returns the number if a double holds it exactly, as it does every float;
// one that came as text is rounded.
func (n number) float64() (float64, bool) {
	if n.text != "" {
		f, err := strconv.ParseFloat(n.text, 64)
		return f, err == nil
	}
	if n.kind != anInteger {
		return n.f, n.kind == aFloat
	}
	f := float64(n.u)
	exact := f < 1<<64 && uint64(f) == n.u
	if n.neg {
		f = -f
	}
	return f, exact
}

// float32 returns the number rounded to a float; an integer of Go must be held
// exactly, and a finite number must stay finite.
func (n number) float32() (float32, bool) {
	if n.text != "" {
		f, err := strconv.ParseFloat(n.text, 32)
		return float32(f), err == nil
	}
	d, ok := n.float64()
	f := float32(d)
	if n.kind == anInteger {
		return f, ok && float64(f) == d
	}
	return f, ok && (!math.IsInf(float64(f), 0) || math.IsInf(d, 0))
}
