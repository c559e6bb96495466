package recording

import (
	"database/sql"
	"time"
)

// orderer is a Reader that puts messages in the order of their log times.
type orderer interface {
	goneBack() time.Duration
}

// GoneBack returns how far the log times go back at most, from one message to a later one,
// in the files that r has opened, as far as it has put them in order. It is complete after
// io.EOF.
func GoneBack(r Reader) time.Duration {
	if a, ok := r.(orderer); ok {
		return a.goneBack()
	}
	return 0
}

func (r *chunkReader) goneBack() time.Duration { return r.back }

// goneBack asks the database, which is read in the order of time.
func (s *sqliteFile) goneBack() time.Duration {
	var back sql.NullInt64
	if len(s.loss) > 0 || s.db.QueryRow("SELECT max(latest - timestamp) FROM (SELECT timestamp, max(timestamp) OVER (ORDER BY id) AS latest FROM messages)").Scan(&back) != nil {
		return 0
	}
	return time.Duration(back.Int64)
}

func (s *singly) goneBack() time.Duration  { return GoneBack(s.Reader) }
func (u unpacked) goneBack() time.Duration { return GoneBack(u.Reader) }
func (l lossy) goneBack() time.Duration    { return GoneBack(l.Reader) }

func (f *folder) goneBack() time.Duration {
	if f.current != nil {
		return max(f.back, GoneBack(f.current))
	}
	return f.back
}
