package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/memories/vision"
)

// saveImages writes the images in the payloads to files: a single one to name itself,
// several to name with a number before its ending, in an order that sorts. Files that
// are there already are not overwritten. What is no image is left out with a note.
func saveImages(cmd *cobra.Command, items []shown, name string) error {
	s := imageSaver{cmd: cmd, name: name, ext: filepath.Ext(name)}
	if name == "-" {
		s.ext = ""
	}
	for _, it := range items {
		for i := range it.Instances {
			if it.index < 0 || i == it.index {
				s.total++
			}
		}
	}
	if err := s.free(); err != nil {
		return err
	}
	var others []error
	for _, it := range items {
		for i, inst := range it.Instances {
			if it.index >= 0 && i != it.index {
				continue
			}
			id := it.ID.Instance(i)
			info, err := vision.Describe(inst.Payload)
			image := savedImage{from: id.String()}
			if err == nil {
				image.info = fmt.Sprint(info)
				err = vision.Export(&image.content, inst.Payload, s.ext)
			}
			if err != nil {
				others = append(others, fmt.Errorf("%s: %w", id, err))
				continue
			}
			if err := s.add(&image); err != nil {
				return err
			}
		}
	}
	if s.n == 0 && len(others) > 0 {
		return others[0]
	}
	for _, err := range others {
		cmd.PrintErrf("engram: not saved: %s\n", oneLine(err.Error()))
	}
	return s.end()
}

type savedImage struct {
	content    bytes.Buffer
	info, from string
}

// imageSaver writes images to files.
type imageSaver struct {
	cmd       *cobra.Command
	name, ext string
	total     int // payloads, of which some may be no images
	n         int // images so far
	first     *savedImage
}

// file is the name of the n-th image of several.
func (s *imageSaver) file(n int) string {
	return fmt.Sprintf("%s-%0*d%s", strings.TrimSuffix(s.name, s.ext), len(strconv.Itoa(s.total)), n, s.ext)
}

// free checks, before anything is written, that no file is in the way.
func (s *imageSaver) free() error {
	if s.name == "-" {
		return nil
	}
	names := []string{s.name}
	if s.total > 1 {
		names = names[:0]
		for n := range s.total {
			names = append(names, s.file(n+1))
		}
	}
	for _, name := range names {
		if _, err := os.Lstat(name); err == nil {
			return inTheWay(name)
		}
	}
	return nil
}

func inTheWay(name string) error {
	return usagef("--save: %s is there already and is not overwritten; remove it, or give another name", name)
}

// add writes an image. The first waits for whether there are others: alone it has the
// name without a number.
func (s *imageSaver) add(image *savedImage) error {
	s.n++
	switch {
	case s.n == 1:
		s.first = image
		return nil
	case s.name == "-":
		return usagef("--save -: more than one image is selected; give a file name, or an ID of one")
	case s.n == 2:
		if err := s.write(s.file(1), s.first); err != nil {
			return err
		}
		s.first = nil
	}
	return s.write(s.file(s.n), image)
}

// end writes the image that was the only one.
func (s *imageSaver) end() error {
	switch {
	case s.first == nil:
		return nil
	case s.name == "-":
		_, err := s.cmd.OutOrStdout().Write(s.first.content.Bytes())
		return err
	}
	return s.write(s.name, s.first)
}

func (s *imageSaver) write(name string, image *savedImage) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return inTheWay(name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(image.content.Bytes())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.cmd.Printf("%s  %s, from %s\n", name, image.info, visible(image.from))
	return nil
}
