package pose

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

type csvRow map[string]string

func readCSV(t testing.TB, name string) []csvRow {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, "oracle", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]csvRow, len(all)-1)
	for i, line := range all[1:] {
		rows[i] = csvRow{}
		for j, head := range all[0] {
			rows[i][head] = line[j]
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return rows
}

func (r csvRow) num(t testing.TB, key string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(r[key], 64)
	if err != nil {
		t.Fatalf("column %s: %v", key, err)
	}
	return x
}

func (r csvRow) pose(t testing.TB, prefix string) Pose {
	return Pose{
		T: Vec3{r.num(t, prefix+"x"), r.num(t, prefix+"y"), r.num(t, prefix+"z")},
		R: Quat{r.num(t, prefix+"qw"), r.num(t, prefix+"qx"), r.num(t, prefix+"qy"), r.num(t, prefix+"qz")},
	}
}

func (r csvRow) cov(t testing.TB, prefix string) Cov {
	t.Helper()
	var m [6][6]float64
	for i := range 6 {
		for j := range 6 {
			m[i][j] = r.num(t, prefix+"c"+strconv.Itoa(i)+strconv.Itoa(j))
		}
	}
	c, err := NewCov(&m)
	if err != nil {
		t.Fatalf("case %s: %v", r["case"], err)
	}
	return c
}

// poseError returns the largest difference between numbers of a and b, the sign of
// the quaternion left aside.
func poseError(a, b Pose) float64 {
	s := 1.0
	if a.R.W*b.R.W+a.R.X*b.R.X+a.R.Y*b.R.Y+a.R.Z*b.R.Z < 0 {
		s = -1
	}
	e := 0.0
	for _, d := range []float64{
		a.T.X - b.T.X, a.T.Y - b.T.Y, a.T.Z - b.T.Z,
		a.R.W - s*b.R.W, a.R.X - s*b.R.X, a.R.Y - s*b.R.Y, a.R.Z - s*b.R.Z,
	} {
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		e = math.Max(e, math.Abs(d))
	}
	return e
}

// covError returns the largest difference relative to the largest element.
func covError(a, b *Cov) float64 {
	if a.Mask != b.Mask {
		return math.Inf(1)
	}
	var e, largest float64
	for i := range a.S {
		if math.IsNaN(a.S[i] - b.S[i]) {
			return math.Inf(1)
		}
		e = math.Max(e, math.Abs(a.S[i]-b.S[i]))
		largest = math.Max(largest, math.Abs(b.S[i]))
	}
	if largest == 0 {
		return e
	}
	return e / largest
}

func TestCovarianceOracle(t *testing.T) {
	count := map[string]int{}
	for _, r := range readCSV(t, "covariance/right_se3.csv") {
		a, b, c := r.pose(t, "a_"), r.pose(t, "b_"), r.pose(t, "c_")
		ca, cb, want := r.cov(t, "a_"), r.cov(t, "b_"), r.cov(t, "c_")
		var got Cov
		var p Pose
		switch r["op"] {
		case "compose":
			p, got = a.Mul(b), ComposeCov(&ca, b, &cb)
		case "inverse":
			p, got = a.Inverse(), InverseCov(a, &ca)
		case "between":
			p, got = a.Inverse().Mul(b), BetweenCov(a, &ca, b, &cb)
		case "adjoint_cov":
			p, got = a, ca.Transported(a)
		case "interp_indep":
			u := r.num(t, "alpha")
			p = Geodesic(a, b, u)
			got = InterpolateCov(a, &ca, b, &cb, u, p)
		default:
			t.Fatalf("unknown operation %q", r["op"])
		}
		count[r["op"]]++
		if e := poseError(p, c); e > 1e-12*math.Max(1, c.T.Norm()) {
			t.Errorf("%s %s: pose differs by %g", r["op"], r["case"], e)
		}
		if e := covError(&got, &want); e > 1e-12 {
			t.Errorf("%s %s: covariance differs by %g", r["op"], r["case"], e)
		}
	}
	t.Logf("checked %v", count)
}

func TestLieOracle(t *testing.T) {
	for _, r := range readCSV(t, "covariance/lie.csv") {
		x := Twist{
			Vec3{r.num(t, "rho0"), r.num(t, "rho1"), r.num(t, "rho2")},
			Vec3{r.num(t, "phi0"), r.num(t, "phi1"), r.num(t, "phi2")},
		}
		want := r.pose(t, "p_")
		if e := poseError(Exp(x), want); e > 1e-10 {
			t.Errorf("case %s: Exp differs by %g", r["case"], e)
		}
		got := Log(want)
		for i, g := range []float64{got.Rho.X, got.Rho.Y, got.Rho.Z, got.Phi.X, got.Phi.Y, got.Phi.Z} {
			if d := math.Abs(g - r.num(t, "log"+strconv.Itoa(i))); !(d <= 1e-10) {
				t.Errorf("case %s: Log[%d] differs by %g", r["case"], i, d)
			}
		}
		for j := range 6 {
			col := want.Adjoint(basisTwist(j))
			for i, g := range []float64{col.Rho.X, col.Rho.Y, col.Rho.Z, col.Phi.X, col.Phi.Y, col.Phi.Z} {
				if d := math.Abs(g - r.num(t, "Ad"+strconv.Itoa(6*i+j))); !(d <= 1e-10) {
					t.Errorf("case %s: Ad[%d][%d] differs by %g", r["case"], i, j, d)
				}
			}
		}
	}
}
