// Command clients measures the client for Python beside that for Go, in the same run on the
// same machine: the age of data from a producer through a memory to a consumer, each a process
// of its own; joint states into a frame; the import of the package; its installation.
//
//	go run ./bench/clients            # from the module's root
//	go run ./bench/clients -install   # its installation from the registry, too
//
// It needs a python3 with numpy, grpcio and protobuf.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "age" {
		return age(context.Background(), os.Args[2:])
	}
	install := flag.Bool("install", false, "measure the installation, which fetches from the registry, too")
	flag.Parse()
	dir, err := os.MkdirTemp("", "engram-bench-clients")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "engram")
	build := exec.Command("go", "build", "-o", binary, "./cmd/engram")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("engram cannot be built; run this from the module's root: %w", err)
	}
	python, err := interpreter()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	measure := exec.Command(python, "bench/clients/measure.py", binary, dir, self)
	if *install {
		measure.Args = append(measure.Args, "install")
	}
	measure.Stdout, measure.Stderr = os.Stdout, os.Stderr
	measure.Env = append(os.Environ(), "PYTHONPATH=clients/python/src")
	return measure.Run()
}

func interpreter() (string, error) {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(python)
		if err == nil && exec.Command(path, "-c", "import numpy, grpc, google.protobuf").Run() == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no python3 imports numpy, grpc and google.protobuf (Debian: python3-numpy, python3-grpcio, python3-protobuf)")
}
