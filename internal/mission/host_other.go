//go:build !linux

package mission

import "github.com/seed-301d4374/engram"

func newHosts(*Mission) (homes, error) {
	return nil, engram.Errorf(engram.Unsupported, "", "network namespaces are of Linux")
}
