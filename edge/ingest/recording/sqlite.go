package recording

import (
	"database/sql"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
	"modernc.org/sqlite/vfs"

	"github.com/seed-301d4374/engram"
)

// sqliteFile is a rosbag2 database.
type sqliteFile struct {
	path     string
	size     int64
	db       *sql.DB
	files    *vfs.FS // of a database that was cut, else nil
	channels map[int64]*Channel
	rows     *sql.Rows
	// compressed says that messages are compressed one by one, by the metadata.
	compressed bool

	byID   bool  // after damage: in the order of row numbers
	lastID int64 // the last row read so
	maxID  int64
	// The last row delivered in the order of times.
	after   engram.Time
	afterID int64

	// The row that was scanned last; pending says that it is still to be delivered.
	id, topic, stamp int64
	data             sql.RawBytes
	pending          bool

	span      engram.Interval
	delivered uint64
	expected  uint64
	done      int64
	loss      []Loss
	ended     bool
}

func openSQLite(path string, size int64) (Reader, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, path, "cannot be opened: %w", err)
	}
	// Immutable: nothing is written beside the recording, not even a lock.
	dsn := (&url.URL{Scheme: "file", Path: abs, RawQuery: "mode=ro&immutable=1"}).String()
	s := &sqliteFile{path: path, size: size, channels: map[int64]*Channel{}}
	f, err := os.Open(path)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be opened: %w", err)
	}
	full := fullSize(f, size)
	f.Close()
	if full > size {
		s.loss = append(s.loss, Loss{File: path, Offset: size, Bytes: full - size, Beyond: true,
			Reason: "the database is shorter than its header says: it was cut"})
		if dsn, s.files, err = extend(abs, full); err != nil {
			return nil, engram.Errorf(engram.Corrupt, path, "is a database that was cut: %w", err)
		}
	}
	if s.db, err = sql.Open("sqlite", dsn); err != nil {
		return nil, engram.Errorf(engram.Corrupt, path, "cannot be opened as a database: %w", closeCut(s.files, err))
	}
	s.db.SetMaxOpenConns(1)
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepare reads the topics and their definitions and begins with the messages.
func (s *sqliteFile) prepare() error {
	definitions, err := s.definitions()
	if err != nil {
		s.loss = append(s.loss, Loss{File: s.path, Reason: "message definitions cannot be read, so messages may be kept as bytes: " + err.Error()})
	}
	rows, err := s.db.Query("SELECT id, name, type, serialization_format FROM topics ORDER BY id")
	if err != nil {
		if strings.Contains(err.Error(), "no such") {
			return engram.Errorf(engram.Invalid, s.path, "is a database, but not of rosbag2: %w", err)
		}
		return engram.Errorf(engram.Corrupt, s.path, "its list of topics cannot be read: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		c := &Channel{}
		if err := rows.Scan(&id, &c.Topic, &c.Type, &c.Encoding); err != nil {
			return engram.Errorf(engram.Corrupt, s.path, "its list of topics is damaged: %w", err)
		}
		if d, ok := definitions[c.Type]; ok {
			c.SchemaEncoding, c.Schema = d.encoding, []byte(d.text)
		}
		s.channels[id] = c
	}
	if err := rows.Err(); err != nil {
		return engram.Errorf(engram.Corrupt, s.path, "its list of topics cannot be read: %w", err)
	}
	s.readMetadata()
	if info, err := os.Stat(s.path + "-wal"); err == nil && info.Size() > 0 {
		s.loss = append(s.loss, Loss{File: s.path + "-wal", Bytes: info.Size(),
			Reason: "the database was not closed and its newest messages stand in the write-ahead log; copy both files and run `sqlite3 copy.db3 'PRAGMA wal_checkpoint'` to get them"})
	}
	if err := s.db.QueryRow("SELECT coalesce(max(id), 0) FROM messages").Scan(&s.maxID); err != nil {
		if strings.Contains(err.Error(), "no such") {
			return engram.Errorf(engram.Invalid, s.path, "is a database, but not of rosbag2: %w", err)
		}
		s.maxID = unknownID
	}
	s.readSpan()
	s.rows, err = s.db.Query("SELECT id, topic_id, timestamp, data FROM messages ORDER BY timestamp, id")
	if err != nil {
		s.recover(err)
	}
	return nil
}

// unknownID stands for the last row's number where the last rows are damaged.
const unknownID = math.MaxInt64 / 2

// readSpan finds the span of the messages' times, which is an index away.
func (s *sqliteFile) readSpan() {
	var first, last int64
	err := s.db.QueryRow("SELECT min(timestamp) FROM messages").Scan(&first)
	if err == nil {
		err = s.db.QueryRow("SELECT max(timestamp) FROM messages").Scan(&last)
	}
	if err == nil && last >= first && engram.Time(last) < engram.MaxTime {
		s.span = engram.Interval{Start: engram.Time(first), End: engram.Time(last).Add(1)}
	}
}

type definition struct{ encoding, text string }

// definitions reads the message definitions, which recordings have since Iron. With
// an error there may be some all the same.
func (s *sqliteFile) definitions() (map[string]definition, error) {
	out := map[string]definition{}
	rows, err := s.db.Query("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
	if err != nil {
		if strings.Contains(err.Error(), "no such table") {
			err = nil
		}
		return out, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var d definition
		if err := rows.Scan(&name, &d.encoding, &d.text); err != nil {
			return out, err
		}
		out[name] = d
	}
	return out, rows.Err()
}

// readMetadata takes from the metadata that newer recordings keep in the database
// how many messages there are and whether they are compressed.
func (s *sqliteFile) readMetadata() {
	var text string
	if s.db.QueryRow("SELECT metadata FROM metadata ORDER BY id DESC LIMIT 1").Scan(&text) != nil {
		return
	}
	if m, err := parseMetadata([]byte(text)); err == nil {
		s.expected, s.compressed = m.MessageCount, m.messagesCompressed()
	}
}

// Next implements Reader.
func (s *sqliteFile) Next() (Message, error) {
	for {
		if s.ended {
			return Message{}, io.EOF
		}
		m, id, err := s.row()
		switch {
		case err == io.EOF:
			s.finish()
		case err != nil:
			s.recover(err)
		case m.Channel == nil:
			s.lose(id, "a message belongs to a topic that is not listed", len(m.Data), m.LogTime)
		default:
			s.delivered++
			return m, nil
		}
	}
}

// row returns the message of the next row.
func (s *sqliteFile) row() (m Message, id int64, err error) {
	for {
		if s.pending {
			s.pending = false
		} else if err := s.scan(); err != nil {
			return m, 0, err
		}
		id, at := s.id, engram.Time(s.stamp)
		s.done += int64(len(s.data))
		if s.byID {
			s.lastID = id
			// Rows that were delivered before the damage was met come again.
			if s.delivered > 0 && (at < s.after || at == s.after && id <= s.afterID) {
				continue
			}
		} else {
			s.after, s.afterID = at, id
		}
		return Message{Channel: s.channels[s.topic], LogTime: at, PublishTime: at, Data: s.data}, id, nil
	}
}

// scan reads the next row. Rows that do not come in order are damage: a broken tree
// of pages may repeat itself for ever.
func (s *sqliteFile) scan() error {
	if s.rows == nil {
		return io.EOF
	}
	if !s.rows.Next() {
		if err := s.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	if err := s.rows.Scan(&s.id, &s.topic, &s.stamp, &s.data); err != nil {
		return err
	}
	at := engram.Time(s.stamp)
	if s.byID && s.id <= s.lastID || !s.byID && s.delivered > 0 && (at < s.after || at == s.after && s.id <= s.afterID) {
		return fmt.Errorf("rows are out of order")
	}
	if at == engram.MaxTime {
		return fmt.Errorf("a message's time is out of range")
	}
	return nil
}

// recover goes on after damage. The database library stops at the first damaged
// page, so the rows are read by their numbers from the next one that can be read.
func (s *sqliteFile) recover(cause error) {
	if !s.byID {
		s.byID, s.lastID = true, math.MinInt64
		s.loss = append(s.loss, Loss{File: s.path, Reason: "the database is damaged; the rest was read in the order of row numbers: " + cause.Error()})
		if s.restart(math.MinInt64 + 1) {
			return
		}
		s.lastID = 0
	}
	if s.maxID <= s.lastID {
		s.finish()
		return
	}
	// Step over the damage, in growing steps so that a huge hole costs few queries,
	// then back to the first row that can be read.
	gap := uint64(s.maxID - s.lastID)
	bad, good := uint64(0), uint64(1)
	for !s.restart(s.lastID + int64(good)) {
		if good == gap {
			l := Loss{File: s.path, Reason: fmt.Sprintf("rows from %d on of the messages cannot be read: %v", s.lastID+1, cause)}
			if s.maxID != unknownID {
				l.Messages = gap
			}
			s.loss = append(s.loss, l)
			s.finish()
			return
		}
		bad, good = good, min(2*good, gap)
	}
	for good-bad > 1 {
		if mid := bad + (good-bad)/2; s.restart(s.lastID + int64(mid)) {
			good = mid
		} else {
			bad = mid
		}
	}
	if s.restart(s.lastID + int64(good)) {
		s.loss = append(s.loss, Loss{File: s.path, Messages: uint64(s.id - 1 - s.lastID), Reason: fmt.Sprintf("the messages up to row %d cannot be read: %v", s.id-1, cause)})
	}
}

// restart begins to read rows from that number on; false if not even the first can
// be read.
func (s *sqliteFile) restart(from int64) bool {
	if s.rows != nil {
		s.rows.Close()
		s.rows = nil
	}
	rows, err := s.db.Query("SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id", from)
	if err != nil {
		return false
	}
	s.rows = rows
	s.pending = s.scan() == nil && s.id >= from
	return s.pending
}

func (s *sqliteFile) lose(id int64, reason string, n int, t engram.Time) {
	for i := range s.loss {
		if l := &s.loss[i]; l.Reason == reason {
			l.Messages++
			l.Bytes += int64(n)
			l.Span.Start, l.Span.End = min(l.Span.Start, t), max(l.Span.End, t.Add(1))
			return
		}
	}
	s.loss = append(s.loss, Loss{File: s.path, Offset: id, Bytes: int64(n), Messages: 1, HasSpan: true,
		Span: engram.Interval{Start: t, End: t.Add(1)}, Reason: reason})
}

func (s *sqliteFile) finish() {
	s.ended = true
	s.done = s.size
	if s.rows != nil {
		s.rows.Close()
		s.rows = nil
	}
	var told uint64
	for i := range s.loss {
		l := &s.loss[i]
		told += l.Messages
		if l.File == s.path && len(l.Topics) == 0 {
			l.Topics = topicsOf(s.channels)
		}
	}
	if s.expected > s.delivered+told {
		s.loss = append(s.loss, Loss{File: s.path, Messages: s.expected - s.delivered - told, Topics: topicsOf(s.channels),
			Reason: fmt.Sprintf("the metadata count %d messages, %d were read", s.expected, s.delivered)})
	}
}

// Span implements Reader.
func (s *sqliteFile) Span() engram.Interval { return s.span }

// Progress implements Reader.
func (s *sqliteFile) Progress() (done, total int64) { return min(s.done, s.size), s.size }

// Loss implements Reader.
func (s *sqliteFile) Loss() []Loss { return s.loss }

// Close implements Reader.
func (s *sqliteFile) Close() error {
	if s.rows != nil {
		s.rows.Close()
	}
	return closeCut(s.files, s.db.Close())
}
