package lerobot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/parquetfile"
)

func (w *Writer) dataColumns() []parquetfile.Column {
	columns := append([]parquetfile.Column{}, w.vectors...)
	for i, name := range indexColumns {
		kind := parquetfile.Int64
		if i == 0 {
			kind = parquetfile.Float32
		}
		columns = append(columns, parquetfile.Column{Name: name, Kind: kind})
	}
	return columns
}

// features tells Hugging Face's library, which reads it from the file, how long the lists are.
func (w *Writer) features() map[string]string {
	value := func(kind string) map[string]any { return map[string]any{"dtype": kind, "_type": "Value"} }
	all := map[string]any{}
	for _, v := range w.c.Vectors {
		all[v.Name] = map[string]any{"feature": value("float32"), "length": len(v.Elements), "_type": "List"}
	}
	for i, name := range indexColumns {
		all[name] = value("int64")
		if i == 0 {
			all[name] = value("float32")
		}
	}
	text, _ := json.Marshal(map[string]any{"info": map[string]any{"features": all}}) // texts and numbers only
	return map[string]string{"huggingface": string(text)}
}

func (w *Writer) episodeColumns() []parquetfile.Column {
	columns := []parquetfile.Column{{Name: "episode_index", Kind: parquetfile.Int64}, {Name: "tasks", Kind: parquetfile.String, Lists: 1}}
	for _, name := range []string{"length", "data/chunk_index", "data/file_index", "dataset_from_index", "dataset_to_index", "meta/episodes/chunk_index", "meta/episodes/file_index"} {
		columns = append(columns, parquetfile.Column{Name: name, Kind: parquetfile.Int64})
	}
	for _, i := range w.c.Images {
		of := "videos/" + i.Name + "/"
		columns = append(columns, parquetfile.Column{Name: of + "chunk_index", Kind: parquetfile.Int64}, parquetfile.Column{Name: of + "file_index", Kind: parquetfile.Int64},
			parquetfile.Column{Name: of + "from_timestamp", Kind: parquetfile.Float64}, parquetfile.Column{Name: of + "to_timestamp", Kind: parquetfile.Float64})
	}
	for _, f := range w.own.features {
		lists := 1
		if f.image {
			lists = 3
		}
		for _, stat := range statNames {
			columns = append(columns, parquetfile.Column{Name: "stats/" + f.name + "/" + stat, Kind: parquetfile.Float64, Lists: lists})
		}
		columns = append(columns, parquetfile.Column{Name: "stats/" + f.name + "/count", Kind: parquetfile.Int64, Lists: 1})
	}
	return columns
}

// describe writes meta/info.json, meta/stats.json and meta/tasks.parquet.
func (w *Writer) describe() error {
	features := map[string]any{}
	for _, v := range w.c.Vectors {
		features[v.Name] = map[string]any{"dtype": "float32", "shape": []int{len(v.Elements)}, "names": v.Elements}
	}
	for i, name := range indexColumns {
		kind := "int64"
		if i == 0 {
			kind = "float32"
		}
		features[name] = map[string]any{"dtype": kind, "shape": []int{1}, "names": nil}
	}
	for i, im := range w.c.Images {
		features[im.Name] = map[string]any{
			"dtype": "video", "shape": []int{im.Height, im.Width, 3}, "names": []string{"height", "width", "channels"},
			"info": map[string]any{
				"video.height": im.Height, "video.width": im.Width, "video.codec": "h264", "video.pix_fmt": w.videos[i].pixels(),
				"video.is_depth_map": false, "video.fps": w.c.FPS, "video.channels": 3, "has_audio": false,
			},
		}
	}
	info := map[string]any{
		"codebase_version": "v3.0", "robot_type": nil, "total_episodes": w.count, "total_frames": w.frames, "total_tasks": len(w.tasks),
		"chunks_size": filesPerChunk, "data_files_size_in_mb": maxDataBytes >> 20, "video_files_size_in_mb": maxVideoBytes >> 20,
		"fps": w.c.FPS, "splits": map[string]string{"train": fmt.Sprintf("0:%d", w.count)},
		"data_path":  "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
		"video_path": nil, "features": features,
	}
	if w.c.Robot != "" {
		info["robot_type"] = w.c.Robot
	}
	if len(w.c.Images) > 0 {
		info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
	}
	all := map[string]any{}
	for _, f := range w.total.features {
		one := map[string]any{"count": []int64{int64(f.frames)}}
		for i, v := range f.values() {
			one[statNames[i]] = f.shaped(v)
		}
		all[f.name] = one
	}
	return errors.Join(w.writeJSON("meta/info.json", info), w.writeJSON("meta/stats.json", all), w.writeTasks())
}

func (w *Writer) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		return engram.Errorf(engram.Internal, name, "cannot be encoded: %w", err)
	}
	if err := os.WriteFile(filepath.Join(w.part, filepath.FromSlash(name)), append(text, '\n'), 0o666); err != nil {
		return engram.Errorf(engram.Unavailable, name, "cannot be written: %w", err)
	}
	return nil
}

// pandasIndex tells pandas that the tasks' texts are the table's index, which LeRobot looks them up by.
const pandasIndex = `{"index_columns": ["task"], "column_indexes": [{"name": null, "field_name": null, "pandas_type": "unicode", "numpy_type": "object", "metadata": {"encoding": "UTF-8"}}], ` +
	`"columns": [{"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64", "metadata": null}, ` +
	`{"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object", "metadata": null}], "creator": {"library": "engram", "version": "1"}, "pandas_version": "2.2.0"}`

func (w *Writer) writeTasks() error {
	f, err := create(w.part, "meta/tasks.parquet", []parquetfile.Column{{Name: "task_index", Kind: parquetfile.Int64}, {Name: "task"}}, map[string]string{"pandas": pandasIndex})
	if err != nil {
		return err
	}
	for i, t := range w.tasks {
		err = errors.Join(err, f.Add(int64(i), t))
	}
	return errors.Join(err, f.close())
}
