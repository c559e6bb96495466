package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// usage is a process's main memory in KiB. PSS counts a page that n processes share as a
// n-th of it in each, so that the sum over a tree is what the tree needs.
type usage struct{ pss, anonymous int }

func usageOf(pid int) (u usage, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "Pss:":
			u.pss = n
		case "Pss_Anon:":
			u.anonymous = n
		}
	}
	return u, nil
}

// report prints what all processes need.
func report(when string, tree []*process) {
	var sum, servers, clients usage
	var each []int
	for _, p := range append([]*process{{what: "this"}}, tree...) {
		pid := os.Getpid()
		if p.cmd != nil {
			pid = p.cmd.Process.Pid
		}
		u, err := usageOf(pid)
		if err != nil {
			fmt.Println("  ", p.what, err)
			continue
		}
		sum.add(u)
		switch {
		case p.what == "clients":
			clients.add(u)
		case p.cmd != nil:
			servers.add(u)
			each = append(each, u.pss)
		}
	}
	slices.Sort(each)
	fmt.Printf("%s: PSS of all %s, of the servers %s (private %s; the median %s, the largest %s), of the clients %s\n",
		when, mib(sum.pss), mib(servers.pss), mib(servers.anonymous), mib(each[len(each)/2]), mib(each[len(each)-1]), mib(clients.pss))
}

func (u *usage) add(o usage) {
	u.pss += o.pss
	u.anonymous += o.anonymous
}

func mib(kib int) string { return fmt.Sprintf("%.1f MiB", float64(kib)/1024) }
