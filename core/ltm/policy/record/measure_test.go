package record

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Whole numbers are compared exactly, also those that doubles round.
func TestIntegersAreComparedExactly(t *testing.T) {
	found := rapid.Custom(func(t *rapid.T) *idf.Found {
		near := rapid.SampledFrom([]uint64{0, 1 << 53, 1 << 62, 1 << 63, math.MaxUint64}).Draw(t, "near") + rapid.Uint64Range(0, 4).Draw(t, "more") - 2
		if rapid.Bool().Draw(t, "any") {
			near = rapid.Uint64().Draw(t, "bits")
		}
		if rapid.Bool().Draw(t, "signed") {
			return &idf.Found{Kind: idf.KindNumber, Num: float64(int64(near)), Int: int64(near)}
		}
		return &idf.Found{Kind: idf.KindNumber, Num: float64(near), Int: int64(near)}
	})
	exactly := func(f *idf.Found) *big.Int {
		if f.Num > 0 && f.Int < 0 {
			return new(big.Int).SetUint64(uint64(f.Int))
		}
		return big.NewInt(f.Int)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := found.Draw(t, "a"), found.Draw(t, "b")
		apart := new(big.Int).Sub(exactly(a), exactly(b))
		apart.Abs(apart)
		bound := rapid.Float64Range(0, 4e19).Draw(t, "bound")
		if rapid.Bool().Draw(t, "about the difference") {
			bound, _ = new(big.Float).SetInt(apart).Float64()
			bound = max(0, bound+rapid.SampledFrom([]float64{-1, -0.5, 0, 0.5, 1}).Draw(t, "beside"))
		}
		limit, _ := big.NewFloat(bound).Int(nil)
		if got, want := integerOf(a).within(integerOf(b), bound), apart.Cmp(limit) <= 0; got != want {
			t.Fatalf("%v and %v are within %v: %v, want %v", exactly(a), exactly(b), bound, got, want)
		}
	})
	for _, f := range []float64{0.5, -1e300, 1e300, math.Inf(1), math.NaN()} {
		if n := integerOf(&idf.Found{Num: f, Int: int64(f)}); n.is {
			t.Errorf("%v is taken for the whole number %+v", f, n)
		}
	}
}

// A difference of one of numbers that one double stands for is a change.
func TestChangeOfLargeIntegers(t *testing.T) {
	const large = 1 << 60
	var snapshots []*engram.Snapshot
	for i, n := range []int64{large, large + 1, large + 3, large + 4, -large} {
		snapshots = append(snapshots, valueOf(t, engram.Time(i), map[string]any{"ticks": n}))
	}
	kept, why := recordedAt(NewFilter(policy.Policy{Record: policy.Change, Similar: policy.Similarity{Numbers: 2}}, idf.NewRegistry()), snapshots...)
	if !slices.Equal(kept, []int{0, 2, 4}) {
		t.Errorf("recorded %v: %v", kept, why)
	}
}
