package idf

import (
	"math"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
)

// SetNumbers returns a value, as [Type.Decode] returns it, with other numbers at some paths, as
// [Type.Numbers] takes them. Objects and lists are changed in place. Integers are rounded, and kept
// in their range; a bool is true for all but 0, an enumeration has the value of the number; times stay as they
// are. The error is Invalid for a path that cannot be one, and NotFound for one that the value does not have.
func SetNumbers(v any, paths []string, numbers []float64) (any, error) {
	return set(v, paths, "number", func(i int, v any) (any, bool) { return replaced(v, numbers[i]) })
}

// SetTexts is SetNumbers for strings, with paths as [Found] has them.
func SetTexts(v any, paths, texts []string) (any, error) {
	return set(v, paths, "text", func(i int, v any) (any, bool) {
		_, ok := v.(string)
		return texts[i], ok
	})
}

func set(v any, paths []string, what string, replace func(i int, v any) (any, bool)) (any, error) {
	for i, path := range paths {
		var steps []step
		if path != "" {
			var err error
			if steps, err = parsePath(path); err != nil {
				return nil, engram.Errorf(engram.Invalid, shorten(path), "no path of a member: %w", err)
			}
		}
		var ok bool
		if v, ok = setMember(v, steps, func(v any) (any, bool) { return replace(i, v) }); !ok {
			return nil, engram.Errorf(engram.NotFound, shorten(path), "the value has no %s there", what)
		}
	}
	return v, nil
}

func setMember(v any, steps []step, replace func(any) (any, bool)) (any, bool) {
	if len(steps) == 0 {
		return replace(v)
	}
	switch v := v.(type) {
	case map[string]any:
		child, ok := v[steps[0].name]
		if ok {
			child, ok = setMember(child, steps[1:], replace)
		}
		if ok {
			v[steps[0].name] = child
		}
		return v, ok
	case []any:
		i, err := strconv.Atoi(steps[0].name)
		if err != nil || !steps[0].index || i < 0 || i >= len(v) {
			return v, false
		}
		child, ok := setMember(v[i], steps[1:], replace)
		if ok {
			v[i] = child
		}
		return v, ok
	}
	return v, false
}

// replaced is x as a value of the same kind as v.
func replaced(v any, x float64) (any, bool) {
	within := func(low, high float64) float64 { return math.Min(math.Max(math.Round(x), low), high) }
	switch v := v.(type) {
	case float64:
		return x, true
	case float32:
		return float32(x), true
	case int32:
		return int32(within(math.MinInt32, math.MaxInt32)), true
	case uint32:
		return uint32(within(0, math.MaxUint32)), true
	case int64:
		return int64(within(-(1 << 62), 1<<62)), true
	case uint64:
		return uint64(within(0, 1<<62)), true
	case time.Duration:
		return time.Duration(math.Min(math.Max(x*1e9, -(1<<62)), 1<<62)), true
	case bool:
		return x != 0, true
	case Enum:
		if n := int32(within(math.MinInt32, math.MaxInt32)); n != v.Number {
			return Enum{Number: n}, true
		}
		return v, true
	case engram.Time:
		return v, true
	}
	return v, false
}
