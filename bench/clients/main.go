// Command clients measures the client for Python beside ZeroC Ice for Python, and that for C++ beside
// that for Go, in the same run on the same machine: the age of data from a producer through a memory to
// a consumer, each a process of its own, and the age from process to process with Ice; joint states
// into a frame; and the import of the package.
//
//	go run ./bench/clients           # from the module's root
//
// It needs Debian's python3-numpy, python3-grpcio and python3-protobuf; python3-zeroc-ice for the peer,
// and g++, cmake, libgrpc++-dev, libprotobuf-dev and protobuf-compiler for C++, without which their rows are
// left out.
package main

import (
	"context"
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
	measure := exec.Command(python, "bench/clients/measure.py", binary, dir, self, buildCPP(dir))
	measure.Stdout, measure.Stderr = os.Stdout, os.Stderr
	measure.Env = append(os.Environ(), "PYTHONPATH=clients/python/src")
	return measure.Run()
}

// buildCPP builds the roles of the client for C++, and returns their program; "" where that cannot be.
func buildCPP(dir string) string {
	build := filepath.Join(dir, "cpp")
	for _, args := range [][]string{{"-S", "bench/clients/cpp", "-B", build, "-DCMAKE_BUILD_TYPE=Release"}, {"--build", build, "--parallel", "2"}} {
		if out, err := exec.Command("cmake", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "clients: without C++: %v\n%.500s\n", err, out)
			return ""
		}
	}
	return filepath.Join(build, "age")
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
