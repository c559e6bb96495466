package predict

import (
	"encoding/binary"
	"math"

	"github.com/seed-301d4374/engram"
)

// modelVersion begins a Model's bytes. Others are refused.
const modelVersion = "EPM1"

// Append appends the Model's bytes: its sums, that it can be refined from. They are at most 1 MiB
// for 43 members. What Fit makes of the sums is not among them.
func (m *Model) Append(b []byte) []byte {
	b = append(b, modelVersion...)
	b = binary.AppendUvarint(b, uint64(len(m.Kinds)))
	for i, k := range m.Kinds {
		b = append(b, byte(k))
		b = binary.AppendVarint(b, int64(m.Pairs[i]))
	}
	b = binary.AppendVarint(b, int64(m.Episodes))
	b = binary.AppendUvarint(b, uint64(m.stride))
	b = binary.AppendUvarint(b, uint64(len(m.groups)))
	for g := range m.groups {
		b = binary.AppendUvarint(b, uint64(len(m.groups[g].Members)))
		for _, i := range m.groups[g].Members {
			b = binary.AppendUvarint(b, uint64(i))
		}
	}
	m.floats(func(f *float64) bool {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(*f))
		return true
	})
	return b
}

// floats calls f with each number of the Model that its bytes have, until it returns false.
func (m *Model) floats(f func(*float64) bool) bool {
	of := func(all []sums) bool {
		for s := range all {
			u := &all[s]
			if !f(&u.Count) {
				return false
			}
			for k := range u.Gram {
				if !f(&u.Gram[k]) {
					return false
				}
			}
			for h := range u.Right {
				for k := range u.Right[h] {
					if !f(&u.Right[h][k]) {
						return false
					}
				}
				if !f(&u.Truth[h]) {
					return false
				}
			}
		}
		return true
	}
	for i := range m.members {
		if m.Kinds[i] == Held {
			continue
		}
		if !of(m.members[i].sums[:]) || !of(m.members[i].told) {
			return false
		}
	}
	for g := range m.groups {
		for a := range m.groups[g].Next {
			for h := range m.groups[g].Next[a] {
				for d := range m.groups[g].Next[a][h] {
					if !f(&m.groups[g].Next[a][h][d]) {
						return false
					}
				}
			}
		}
	}
	return true
}

// DecodeModel reads the bytes of Append, which may come from anybody. The error is Corrupt.
func DecodeModel(b []byte) (*Model, error) {
	corrupt := func(why string) (*Model, error) {
		return nil, engram.Errorf(engram.Corrupt, "", "no trained model: %s", why)
	}
	if len(b) < len(modelVersion) || string(b[:len(modelVersion)]) != modelVersion {
		return corrupt("its version is not known")
	}
	b = b[len(modelVersion):]
	fine := true
	number := func(most int) int {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(most) {
			fine = false
			return 0
		}
		b = b[n:]
		return int(v)
	}
	signed := func(least, most int64) int {
		v, n := binary.Varint(b)
		if n <= 0 || v < least || v > most {
			fine = false
			return 0
		}
		b = b[n:]
		return int(v)
	}
	kinds := make([]Kind, number(MaxMembers))
	pairs := make([]int, len(kinds))
	for i := range kinds {
		if len(b) == 0 || Kind(b[0]) > Radian {
			return corrupt("it is cut off")
		}
		kinds[i], b = Kind(b[0]), b[1:]
		pairs[i] = signed(-1, MaxMembers-1)
	}
	learned := 0
	for _, k := range kinds {
		if k != Held {
			learned++
		}
	}
	// What is said to follow is there before it is made room for.
	if !fine || learned*folds*8*len(newSums(len(horizons)).Gram) > len(b) {
		return corrupt("it is cut off")
	}
	m, err := NewModel(kinds, pairs)
	if err != nil {
		return nil, err
	}
	m.Episodes, m.stride = signed(0, 1<<40), number(mostStride)
	groups := make([]group, number(len(kinds)))
	taken := map[int]bool{}
	for g := range groups {
		groups[g].Members = make([]int, number(len(kinds)))
		for k := range groups[g].Members {
			i := number(len(kinds) - 1)
			if !fine || taken[i] || kinds[i] == Held {
				return corrupt("its groups are none")
			}
			taken[i], groups[g].Members[k] = true, i
		}
	}
	if !fine {
		return corrupt("a number is out of its range")
	}
	m.repeat(groups)
	whole := m.floats(func(f *float64) bool {
		if len(b) < 8 {
			return false
		}
		*f, b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		return !math.IsNaN(*f) && math.Abs(*f) <= 1e200
	})
	if !whole || len(b) > 0 {
		return corrupt("it is cut off, or has what is no number")
	}
	return m, nil
}
