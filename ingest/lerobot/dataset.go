// Package lerobot writes data sets of LeRobot, version 3.0: frames at a fixed rate as Parquet files,
// images as MP4 files, and what describes them. docs/lerobot.md has the layout.
//
// A [Writer] gets the frames of one episode after the other. It holds a row group of numbers and one
// image per camera in memory, however long a data set is. Where the frames come from, and how they
// were resampled, is not its matter.
//
// Source: https://huggingface.co/docs/lerobot/lerobot-dataset-v3
package lerobot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/parquetfile"
)

// Vector is a feature of numbers, such as observation.state.
type Vector struct {
	Name     string
	Elements []string // their names, in order
}

// Image is a feature of images, such as observation.images.front.
type Image struct {
	Name          string
	Width, Height int // pixels
}

// Config describes a data set.
type Config struct {
	FPS     int    // frames per second, the same for all features
	Robot   string // its type; may be empty
	Vectors []Vector
	Images  []Image
}

// Frame is what all features are at one time.
type Frame struct {
	Task    string      // what is being done, in words
	Vectors [][]float64 // of each vector its elements
	Images  [][]byte    // of each image its pixels: rows of red, green, blue, 8 bits each
}

// Bounds of files, in bytes, as LeRobot has them. A file that is larger when an episode ends is the last
// one's.
const (
	maxDataBytes  = 100 << 20
	maxVideoBytes = 200 << 20
	filesPerChunk = 1000
)

const (
	dataPath     = "data/chunk-%03d/file-%03d.parquet"
	videoPath    = "videos/%s/chunk-%03d/file-%03d.mp4"
	episodesPath = "meta/episodes/chunk-%03d/file-%03d.parquet"
)

// Writer writes a data set. It is used by one goroutine.
type Writer struct {
	c         Config
	dir, part string // part becomes dir at the end
	vectors   []parquetfile.Column
	data      *file
	dataFile  int
	videos    []*video
	episodes  *file
	tasks     []string
	total     *stats
	frames    int // in all episodes that have ended
	count     int // episodes that have ended

	// Of the episode at hand.
	length       int
	episodeTasks []string
	own          *stats
}

// Create begins a data set in a folder that is not there yet; until [Writer.Finish] it has another name.
// The error is AlreadyExists, Invalid for a configuration that cannot be, or Unavailable if ffmpeg is
// missing or the disk refuses.
func Create(ctx context.Context, dir string, c Config) (w *Writer, err error) {
	if c.FPS <= 0 || len(c.Vectors)+len(c.Images) == 0 {
		return nil, engram.Errorf(engram.Invalid, dir, "a data set needs a rate and features; it has %d frames per second and %d features", c.FPS, len(c.Vectors)+len(c.Images))
	}
	if _, err := os.Stat(dir); err == nil {
		return nil, engram.Errorf(engram.AlreadyExists, dir, "there is such a folder; give another name")
	}
	w = &Writer{c: c, dir: dir, part: dir + ".part", total: newStats(&c), own: newStats(&c)}
	if err := os.Mkdir(w.part, 0o777); err != nil {
		return nil, engram.Errorf(engram.Unavailable, w.part, "cannot be made; remove what an export left there: %w", err)
	}
	defer func() {
		if err != nil {
			w.Discard()
		}
	}()
	for _, v := range c.Vectors {
		w.vectors = append(w.vectors, parquetfile.Column{Name: v.Name, Kind: parquetfile.Float32, Lists: 1})
	}
	for _, i := range c.Images {
		v, err := newVideo(ctx, w.part, i, c.FPS)
		if err != nil {
			return nil, err
		}
		w.videos = append(w.videos, v)
	}
	if w.episodes, err = create(w.part, fmt.Sprintf(episodesPath, 0, 0), w.episodeColumns(), nil); err != nil {
		return nil, err
	}
	return w, nil
}

// file is a Parquet file on disk.
type file struct {
	*parquetfile.Writer
	f *os.File
}

func create(dir, name string, columns []parquetfile.Column, meta map[string]string) (*file, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "its folder cannot be made: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be written: %w", err)
	}
	w, err := parquetfile.New(f, columns, meta)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{w, f}, nil
}

func (f *file) close() error { return errors.Join(f.Close(), f.f.Close()) }

// Add adds a frame to the episode at hand. The errors are TypeMismatch for a number of values or a size of
// image other than the configuration's, OutOfRange for a number that is none, and Unavailable. What the
// frame holds is free afterwards.
func (w *Writer) Add(f Frame) error {
	if len(f.Vectors) != len(w.c.Vectors) || len(f.Images) != len(w.c.Images) {
		return engram.Errorf(engram.TypeMismatch, "", "a frame has %d vectors and %d images, the data set %d and %d", len(f.Vectors), len(f.Images), len(w.c.Vectors), len(w.c.Images))
	}
	for i, v := range w.c.Vectors {
		if len(f.Vectors[i]) != len(v.Elements) {
			return engram.Errorf(engram.TypeMismatch, v.Name, "has %d values in a frame and %d names", len(f.Vectors[i]), len(v.Elements))
		}
		for k, x := range f.Vectors[i] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return engram.Errorf(engram.OutOfRange, v.Name, "%s is %v, which nothing can be learned from", v.Elements[k], x)
			}
		}
	}
	for i, im := range w.c.Images {
		if len(f.Images[i]) != 3*im.Width*im.Height {
			return engram.Errorf(engram.TypeMismatch, im.Name, "an image has %d bytes, and %dx%d pixels have %d", len(f.Images[i]), im.Width, im.Height, 3*im.Width*im.Height)
		}
	}
	if w.data == nil {
		var err error
		if w.data, err = create(w.part, fmt.Sprintf(dataPath, w.dataFile/filesPerChunk, w.dataFile%filesPerChunk), w.dataColumns(), w.features()); err != nil {
			return err
		}
	}
	task := slices.Index(w.tasks, f.Task)
	if task < 0 {
		task, w.tasks = len(w.tasks), append(w.tasks, f.Task)
	}
	if !slices.Contains(w.episodeTasks, f.Task) {
		w.episodeTasks = append(w.episodeTasks, f.Task)
	}
	seconds := float64(w.length) / float64(w.c.FPS)
	row := make([]any, 0, len(w.vectors)+5)
	for i, v := range f.Vectors {
		narrow := make([]float32, len(v))
		for k, x := range v {
			narrow[k] = float32(x)
		}
		row = append(row, narrow)
		w.own.add(i, v)
	}
	indices := []int64{int64(w.length), int64(w.count), int64(w.frames + w.length), int64(task)}
	row = append(row, float32(seconds), indices[0], indices[1], indices[2], indices[3])
	if err := w.data.Add(row...); err != nil {
		return err
	}
	n := len(f.Vectors)
	w.own.add(n, []float64{seconds})
	for i, x := range indices {
		w.own.add(n+1+i, []float64{float64(x)})
	}
	for i, pixels := range f.Images {
		w.own.addImage(n+1+len(indices)+i, pixels, w.c.Images[i].Width)
		if err := w.videos[i].add(pixels); err != nil {
			return err
		}
	}
	w.length++
	return nil
}

// EndEpisode ends the episode at hand. Without frames it is Invalid.
func (w *Writer) EndEpisode() error {
	if w.length == 0 {
		return engram.Errorf(engram.Invalid, "", "an episode has no frames")
	}
	if err := w.data.EndGroup(); err != nil {
		return err
	}
	row := []any{
		int64(w.count), w.episodeTasks, int64(w.length), int64(w.dataFile / filesPerChunk), int64(w.dataFile % filesPerChunk),
		int64(w.frames), int64(w.frames + w.length), int64(0), int64(0),
	}
	for _, v := range w.videos {
		row = append(row, int64(v.number/filesPerChunk), int64(v.number%filesPerChunk),
			float64(v.frames-w.length)/float64(w.c.FPS), float64(v.frames)/float64(w.c.FPS))
	}
	for _, s := range w.own.features {
		row = append(row, s.row()...)
	}
	if err := w.episodes.Add(row...); err != nil {
		return err
	}
	w.total.merge(w.own)
	w.own = newStats(&w.c)
	w.frames, w.count, w.length, w.episodeTasks = w.frames+w.length, w.count+1, 0, nil
	if w.data.Size() > maxDataBytes {
		if err := w.data.close(); err != nil {
			return err
		}
		w.data, w.dataFile = nil, w.dataFile+1
	}
	for _, v := range w.videos {
		if err := v.endEpisode(); err != nil {
			return err
		}
	}
	return nil
}

// Summary tells what was written.
type Summary struct {
	Episodes, Frames int
	Tasks            []string
	Bytes            int64 // of all files
}

// Finish ends the data set and gives the folder its name. An episode at hand must have ended.
func (w *Writer) Finish() (s Summary, err error) {
	if w.length > 0 || w.count == 0 {
		return s, engram.Errorf(engram.Invalid, w.dir, "a data set ends after an episode, and has at least one")
	}
	if w.data != nil {
		err = w.data.close()
		w.data = nil
	}
	err = errors.Join(err, w.episodes.close())
	w.episodes = nil
	for _, v := range w.videos {
		err = errors.Join(err, v.close())
	}
	if err == nil {
		err = w.describe()
	}
	if err == nil {
		if renamed := os.Rename(w.part, w.dir); renamed != nil {
			err = engram.Errorf(engram.Unavailable, w.dir, "cannot get its name: %w", renamed)
		}
	}
	if err != nil {
		return s, err
	}
	s = Summary{Episodes: w.count, Frames: w.frames, Tasks: w.tasks}
	err = filepath.WalkDir(w.dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				s.Bytes += info.Size()
			}
		}
		return err
	})
	return s, err
}

// Discard removes what was written, and ends what writes it.
func (w *Writer) Discard() {
	for _, v := range w.videos {
		v.discard()
	}
	for _, f := range []*file{w.data, w.episodes} {
		if f != nil {
			_ = f.f.Close() // it is removed
		}
	}
	_ = os.RemoveAll(w.part)
}
