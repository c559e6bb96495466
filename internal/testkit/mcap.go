package testkit

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
)

// Messages calls f with each message of an MCAP file, as the MCAP library reads them: by their times.
func Messages(t testing.TB, path string, f func(*mcap.Schema, *mcap.Channel, *mcap.Message)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := mcap.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Messages()
	if err != nil {
		t.Fatal(err)
	}
	for {
		schema, channel, m, err := it.NextInto(nil)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(schema, channel, m)
	}
}

// MessagesAsTheyLie calls f with each message of an MCAP file, in the order of the file.
func MessagesAsTheyLie(t testing.TB, path string, f func(*mcap.Message)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lexer, err := mcap.NewLexer(file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		token, data, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) || token == mcap.TokenDataEnd {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if token != mcap.TokenMessage {
			continue
		}
		m, err := mcap.ParseMessage(data)
		if err != nil {
			t.Fatal(err)
		}
		f(m)
	}
}
