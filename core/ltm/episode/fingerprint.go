package episode

import (
	"encoding/binary"
	"os"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// Fingerprint tells the file of a sealed episode from all others that were ever sealed, also
// from what it was before something was forgotten of it: by its size and the checksums that
// its end has of all that is before.
type Fingerprint struct {
	Bytes   int64  `json:"bytes"`
	Data    uint32 `json:"data_crc"`
	Summary uint32 `json:"summary_crc"`
}

// FingerprintOf reads the end of a sealed episode, less than 100 bytes. NotFound if there is
// no such file, Corrupt if it does not end as an episode does. Damage elsewhere is not seen.
func FingerprintOf(path string, o Options) (Fingerprint, error) {
	o.setDefaults()
	f, err := o.FS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return Fingerprint{}, fileError(path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Fingerprint{}, fileError(path, err)
	}
	t := &fileTail{f: f, size: st.Size(), from: st.Size()}
	start, _, footer, err := t.footer()
	if err != nil {
		return Fingerprint{}, engram.Errorf(engram.CodeOf(err), path, "%w", err)
	}
	const length = recordHead + 4
	b, err := t.read(start-length, length)
	if err != nil {
		return Fingerprint{}, engram.Errorf(engram.CodeOf(err), path, "%w", err)
	}
	op, content, _, ok := cutRecord(b)
	if !ok || op != mcap.OpDataEnd || len(content) != 4 {
		return Fingerprint{}, engram.Errorf(engram.Corrupt, path, "the data section does not end where the summary begins")
	}
	return Fingerprint{Bytes: t.size, Data: binary.LittleEndian.Uint32(content), Summary: summaryCRC(footer)}, nil
}
